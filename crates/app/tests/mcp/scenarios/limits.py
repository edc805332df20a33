"""Truncation, approval, capabilities, logging and authentication."""

import re

import httpx2
from mcp import MCPError
from mcp.types import ElicitResult

from scenario import expect, has, isolated

async def collect_continuations(agent, reply):
    """A truncated reply followed by all its continuations."""
    replies = [reply]
    while replies[-1].more:
        expect(len(replies) < 200, "the continuations end")
        replies.append(await agent.snapshot(more=replies[-1].more))
    return replies


@isolated()
async def truncated_snapshot_can_be_continued(start, site):
    async with start("--max-tokens", "500") as server, server.client() as agent:
        await agent.open(site.page("".join(f"<h2>Head {n}.</h2><button>Button {n}.</button>" for n in range(150))))
        replies = await collect_continuations(agent, await agent.snapshot())
        for reply in replies:
            expect(len(reply.text) < 500 * 5, f"a reply has {len(reply.text)} characters", reply)
        expect(len(replies) > 1 and "cut" in replies[0].server_text, "the truncation is reported", replies[0])
        whole = "\n".join(reply.page_text for reply in replies)
        missing = [n for n in range(150) if f'"Button {n}."' not in whole]
        expect(not missing, f"{len(missing)} of 150 buttons are missing, from {missing[:1]} on", replies[-1])
        found = await agent.snapshot(find="Button 140.")
        await agent.call_ok("browser_click", ref=found.ref("Button 140."))


@isolated()
async def truncated_reply_can_be_continued(start, site):
    async with start("--max-tokens", "500") as server, server.client() as agent:
        await agent.open(site.page("<p>."))
        for joint, line_end in ((" ", ""), ("\\n", "\n")):
            function = f"() => Array.from({{length: 1500}}, (_, n) => 'word' + n).join('{joint}')"
            replies = await collect_continuations(agent, await agent.call_ok("browser_evaluate", function=function))
            expect(len(replies) > 1, "it is cut", replies[0])
            whole = re.findall(r"word(\d+)", "".join(reply.page_text + line_end for reply in replies))
            expect([int(n) for n in whole] == list(range(1500)), f"all {len(whole)} words are there, in order")
        has(await agent.call_error("browser_snapshot", more="ffffffff"), "ffffffff")


@isolated()
async def sensitive_tool_requires_user_approval(start, site):
    answers = []

    async def approve(_, question):
        expect("browser_evaluate" in question.message, "the question names the tool", question.message)
        return answers.pop(0)

    async with start("--ask", "browser_evaluate") as server:
        async with server.client(elicitation_callback=approve) as agent:
            await agent.open(site.page("<p>."))
            answers.append(ElicitResult(action="accept", content={"allow": True}))
            has(await agent.call_ok("browser_evaluate", function="() => 6 * 7"), "42")
            refusal = ElicitResult(action="accept", content={"allow": False})
            for no in (refusal, ElicitResult(action="decline"), ElicitResult(action="cancel")):
                answers.append(no)
                await agent.call_error("browser_evaluate", function="() => document.title = 'done'")
            expect(not answers, "each call required approval")
            await agent.snapshot()
        async with server.client() as silent:
            await silent.call_error("browser_evaluate", function="() => 1")


@isolated("stdio")
async def cache_hits_and_misses_are_logged(start, site):
    async with start() as server:
        server.environment["AGBROWSE_LOG"] = "debug"
        async with server.client() as agent:
            await agent.open(site.page("<p>Words"))
            await agent.snapshot(budget=5000)
            await agent.snapshot(budget=5000)
            log = "\n".join(file.read_text(errors="replace") for file in server.folder.rglob("*.log"))
            for words in ("capture_snapshot", "hit", "miss"):
                expect(words in log, f"`{words}` is in the log")


@isolated("stdio")
async def tools_outside_enabled_capabilities_are_refused(start, site):
    async with start() as server:
        at = server.options.index("--caps")
        del server.options[at:at + 2]
        async with server.client() as agent:
            names = [tool.name for tool in (await agent.client.list_tools()).tools]
            is_default = "browser_click" in names and "browser_evaluate" not in names
            expect(is_default, "only the default tools are listed", " ".join(names))
            try:
                reply = await agent.call("browser_evaluate", function="() => 1")
            except MCPError as error:
                expect("--caps" in error.message, "the option to enable it is named", error.message)
            else:
                expect(False, "the call succeeded", reply)


@isolated("http")
async def http_requests_without_token_are_refused(start, site):
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
