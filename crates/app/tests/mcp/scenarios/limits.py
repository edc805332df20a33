"""Limits and options."""

import re

import httpx2
from mcp import MCPError
from mcp.types import ElicitResult

from scenario import alone, expect, has

async def follow(agent, reply):
    """A reply with all that was cut from it."""
    replies = [reply]
    while replies[-1].more:
        expect(len(replies) < 200, "it has an end")
        replies.append(await agent.look(more=replies[-1].more))
    return replies


@alone()
async def long_page_is_cut_and_the_rest_can_be_had(start, site):
    async with start("--max-tokens", "500") as server, server.client() as agent:
        await agent.open(site.page("".join(f"<h2>Head {n}.</h2><button>Button {n}.</button>" for n in range(150))))
        replies = await follow(agent, await agent.look())
        for reply in replies:
            expect(len(reply.text) < 500 * 5, f"a reply has {len(reply.text)} characters", reply)
        expect(len(replies) > 1 and "cut" in replies[0].ours, "it says that something was cut", replies[0])
        whole = "\n".join(reply.theirs for reply in replies)
        missing = [n for n in range(150) if f'"Button {n}."' not in whole]
        expect(not missing, f"{len(missing)} of 150 buttons are in no part of it, from {missing[:1]} on", replies[-1])
        found = await agent.look(find="Button 140.")
        await agent.well("browser_click", ref=found.ref("Button 140."))


@alone()
async def long_answer_is_cut_and_the_rest_can_be_had(start, site):
    async with start("--max-tokens", "500") as server, server.client() as agent:
        await agent.open(site.page("<p>."))
        for joint, line_end in ((" ", ""), ("\\n", "\n")):
            function = f"() => Array.from({{length: 1500}}, (_, n) => 'word' + n).join('{joint}')"
            replies = await follow(agent, await agent.well("browser_evaluate", function=function))
            expect(len(replies) > 1, "it is cut", replies[0])
            whole = re.findall(r"word(\d+)", "".join(reply.theirs + line_end for reply in replies))
            expect([int(n) for n in whole] == list(range(1500)), f"all {len(whole)} words are there, in order")
        has(await agent.badly("browser_snapshot", more="ffffffff"), "ffffffff")


@alone()
async def person_is_asked_about_a_delicate_tool(start, site):
    answers = []

    async def person(_, question):
        expect("browser_evaluate" in question.message, "the question names the tool", question.message)
        return answers.pop(0)

    async with start("--ask", "browser_evaluate") as server:
        async with server.client(elicitation_callback=person) as agent:
            await agent.open(site.page("<p>."))
            answers.append(ElicitResult(action="accept", content={"allow": True}))
            has(await agent.well("browser_evaluate", function="() => 6 * 7"), "42")
            refusal = ElicitResult(action="accept", content={"allow": False})
            for no in (refusal, ElicitResult(action="decline"), ElicitResult(action="cancel")):
                answers.append(no)
                await agent.badly("browser_evaluate", function="() => document.title = 'done'")
            expect(not answers, "each was asked")
            await agent.look()
        async with server.client() as mute:
            await mute.badly("browser_evaluate", function="() => 1")


@alone("stdio")
async def cache_is_told_of_in_the_log(start, site):
    async with start() as server:
        server.environment["AGBROWSE_LOG"] = "debug"
        async with server.client() as agent:
            await agent.open(site.page("<p>Words"))
            await agent.look(budget=5000)
            await agent.look(budget=5000)
            log = "\n".join(file.read_text(errors="replace") for file in server.folder.rglob("*.log"))
            for words in ("capture_snapshot", "hit", "miss"):
                expect(words in log, f"`{words}` is in the log")


@alone("stdio")
async def tools_that_are_not_offered_are_refused(start, site):
    async with start() as server:
        at = server.options.index("--caps")
        del server.options[at:at + 2]
        async with server.client() as agent:
            names = [tool.name for tool in (await agent.client.list_tools()).tools]
            is_usual = "browser_click" in names and "browser_evaluate" not in names
            expect(is_usual, "only the usual ones are offered", " ".join(names))
            try:
                reply = await agent.call("browser_evaluate", function="() => 1")
            except MCPError as error:
                expect("--caps" in error.message, "it says how to get it", error.message)
            else:
                expect(False, "it was answered", reply)


@alone("http")
async def nobody_comes_in_without_the_token(start, site):
    async with start() as server, httpx2.AsyncClient() as web:
        ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        right = {"Authorization": f"Bearer {server.token}", "Accept": "application/json, text/event-stream"}
        for headers, status in (
            ({}, 401), ({"Authorization": "Bearer wrong"}, 403), ({"Authorization": f"Bearer {server.token}x"}, 403),
            ({**right, "Origin": "https://evil.example"}, 403), ({**right, "Host": "evil.example"}, 403),
        ):
            for method in ("POST", "GET", "DELETE"):
                answer = await web.request(method, server.url, json=ask if method == "POST" else None, headers=headers)
                got = answer.status_code
                expect(got == status, f"{method} with {list(headers)} gets {got}, not {status}")
