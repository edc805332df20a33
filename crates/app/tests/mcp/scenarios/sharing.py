"""Contexts, and several clients at one browser."""

import json
import re
from pathlib import Path

import anyio

from pages import SUBMIT, Toll
from scenario import MODERN, alone, expect, has, lacks, until

# ---------------------------------------------------------------------------------------------------------------
# Contexts.


COOKIES = """<p id=p></p><button onclick="document.cookie = 'who=me'; tell()">Set</button>
    <script>tell = () => p.textContent = 'cookies: ' + document.cookie + '.'; tell()</script>"""


@alone()
async def refs_of_a_context_have_its_name(start, site):
    async with start() as server, server.client() as agent:
        page = site.live("<title>.</title>" + SUBMIT)
        plain = await agent.well("browser_navigate", url=site.page(SUBMIT))
        shown = await agent.well("browser_navigate", url=page.url, context="clean")
        expect(shown.page != plain.page, "it has a page of its own", shown)
        shown = await agent.look(context="clean")
        ref = shown.ref("Submit")
        expect(re.fullmatch(r"clean:e[1-9]\d*", ref), "the ref has the name of its context", shown)
        done = await agent.well("browser_click", ref=ref)
        expect(await page.do("document.title") == ".1", "it is used", done)
        await agent.well("browser_click", ref=ref, context="clean")
        expect(await page.do("document.title") == ".11", "with its context too", done)
        has(await agent.badly("browser_click", ref=ref, context="other"), "clean")
        await page.do("x.textContent = 'Loading...'; 1")
        has(await agent.badly("browser_click", ref=ref), "Was: button 'Submit', Now: button 'Loading...'")


@alone()
async def each_context_keeps_its_page(start, site):
    async with start() as server, server.client() as agent:
        first = (await agent.open(site.page("<h1>Usual words</h1>"))).page
        second = (await agent.well("browser_navigate", url=site.page("<h1>Clean words</h1>"), context="clean")).page
        third = (await agent.well("browser_navigate", url=site.page("<h1>Other words</h1>"), context="other")).page
        for context, page in (("clean", second), ("other", third), ("default", first)):
            shown = await agent.look(context=context)
            expect(shown.page == page, f"{context} is where it was, on {page}", shown)


@alone()
async def cookies_of_contexts_are_apart(start, site):
    async with start() as server, server.client() as agent:
        url = site.page(COOKIES)
        first = (await agent.open(url)).page
        await agent.well("browser_click", ref="text=Set")
        (await agent.look()).line("cookies: who=me.")
        (await agent.well("browser_navigate", url=url, context="clean")).line("cookies: .")
        (await agent.well("browser_navigate", url=url, page=first)).line("cookies: who=me.")


@alone()
async def default_is_the_context_that_is_always_there(start, site):
    async with start() as server, server.client() as agent:
        url = site.page(COOKIES)
        await agent.open(url)
        await agent.well("browser_click", ref="text=Set")
        shown = await agent.well("browser_navigate", url=url, context="default")
        shown.line("cookies: who=me.")
        expect(":" not in shown.ref("Set"), "its refs have no name before them", shown)


@alone()
async def contexts_are_made_used_and_closed(start, site):
    async with start() as server, server.client() as agent:
        url = site.page(COOKIES)
        first = (await agent.open(url)).page
        await agent.well("browser_click", ref="text=Set")
        await agent.well("browser_context_create", name="clean")
        (await agent.open(url)).line("cookies: .")
        has(await agent.badly("browser_context_create", name="clean"), "clean")
        listed = await agent.well("browser_context_list")
        expect(listed.facts["totalCount"] == 2 and listed.facts["activeContext"] == "clean", "both are listed", listed)
        expect((await agent.well("browser_context_switch", name="default")).page == first, "it is back")
        (await agent.look()).line("cookies: who=me.")
        await agent.well("browser_context_close", name="clean")
        expect((await agent.well("browser_context_list")).facts["totalCount"] == 1, "it is closed")
        has(await agent.badly("browser_context_switch", name="clean"), "default")
        await agent.badly("browser_context_close", name="default")


KEEPS = """<p id=p></p><button onclick="document.cookie = 'who=hunter2'; localStorage.token = 'hunter2'; tell()">Keep
    </button><script>tell = () => p.textContent = `keeps: ${document.cookie} ${localStorage.token}.`; tell()</script>"""
KEPT = "keeps: who=hunter2 hunter2."


@alone()
async def storage_goes_from_one_context_to_another(start, site):
    async with start() as server, server.client() as agent:
        here, abroad = site.page(KEEPS), site.page(KEEPS, site.abroad)
        await agent.well("browser_context_create", name="first")
        await agent.open(here)
        await agent.well("browser_click", ref="text=Keep")
        await agent.well("browser_tabs", action="new")
        await agent.open(abroad)
        await agent.well("browser_click", ref="text=Keep")
        saved = await agent.well("browser_context_save_storage", path="/elsewhere/auth.json")
        lacks(saved, "hunter2")
        expect("hunter2" not in json.dumps(saved.facts), "no value is told", saved)
        counts = [saved.facts[name] for name in ("cookies", "origins", "entries")]
        expect(counts == [2, 2, 2], "it is counted", saved)
        file = Path(saved.facts["path"])
        expect(file == (server.files / "auth.json").resolve(), "it is in the folder for files", saved)
        expect(file.stat().st_mode & 0o777 == 0o600, "it is its owner's alone", oct(file.stat().st_mode))
        state = json.loads(file.read_text())
        expect(set(state) == {"cookies", "origins"}, "it has the form that is known", file.read_text())
        cookie = state["cookies"][0]
        expect(set(cookie) == {"name", "value", "domain", "path", "expires", "httpOnly", "secure", "sameSite"}
               and cookie["expires"] == -1, "so have its cookies", json.dumps(cookie))

        before = await agent.tabs()
        ways = {"named": "auth.json", "whole": str(file), "object": state, "text": json.dumps(state)}
        for name, given in ways.items():
            made = await agent.well("browser_context_create", name=name, storageState=given)
            lacks(made, "hunter2")
            for url in (here, abroad):
                (await agent.open(url)).line(KEPT)
        expect(len(await agent.tabs()) == len(before) + 4, "each has one page", json.dumps(await agent.tabs()))
        (await agent.well("browser_navigate", url=here, context="plain")).line("keeps: undefined.")

        saved = await agent.well("browser_context_save_storage", path="other", name="plain")
        expect(saved.facts["cookies"] == 0, "another can be named", saved)
        expect(saved.facts["path"].endswith("/other.json"), "its file gets an ending", saved)
        has(await agent.badly("browser_context_save_storage", path="x", name="nobody"), "nobody", "plain")


@alone()
async def storage_that_is_wrong_makes_no_context(start, site):
    async with start() as server, server.client() as agent:
        cookie = {"name": "a", "value": "hunter2", "domain": "127.0.0.1", "path": "/"}
        server.files.mkdir()
        (server.files / "broken.json").write_text('{"cookies": [{"name": "hunter2"')
        (server.files / "huge.json").write_text(" " * 32_000_001)
        for given, words in (
            ("broken.json", ["broken.json", "EOF"]),
            ("huge.json", ["32 MB"]),
            ("missing.json", ["missing.json"]),
            (["hunter2"], ["object"]),
            ({"cookies": []}, ["origins"]),
            ({"cookies": [{**cookie, "secure": "hunter2"}], "origins": []}, ["boolean"]),
            ({"cookies": [{**cookie, "path": "hunter2"}], "origins": []}, ["cookie 1"]),
            ({"cookies": [cookie, {**cookie, "name": "__Secure-a"}], "origins": []}, ["refuses"]),
            ({"cookies": [], "origins": [{"origin": "file:///hunter2", "localStorage": []}]}, ["origin 1"]),
        ):
            reply = await agent.badly("browser_context_create", name="new", storageState=given)
            has(reply, *words)
            lacks(reply, "hunter2")
            listed = await agent.well("browser_context_list")
            expect(listed.facts["totalCount"] == 1, "no context is left", listed)


async def came_back(agent, context, path):
    reply = await agent.call("browser_navigate", url="http://shop.invalid" + path, context=context)
    return not reply.is_error and reply.line("Words of the toll")


@alone()
async def context_goes_through_its_proxy(start, site):
    async with start() as server, server.client() as agent:
        toll, closed = Toll(), Toll("me:hunter2")
        straight = site.page("<p>Words of the page")
        await agent.well("browser_context_create", name="free", proxy={"server": toll.url})
        (await agent.open("http://shop.invalid/free")).line("Words of the toll")
        (await agent.open(straight)).line("Words of the toll")
        login = {"server": closed.url, "username": "me", "password": "hunter2"}
        made = await agent.well("browser_context_create", name="paid", proxy=login)
        lacks(made, "hunter2")
        (await agent.open("http://shop.invalid/paid")).line("Words of the toll")
        await agent.well("browser_context_create", name="wrong", proxy={**login, "password": "wrong-one"})
        lacks(await agent.call("browser_navigate", url="http://shop.invalid/wrong"), "Words of the toll", "wrong-one")
        expect(sum("/wrong" in path for path in closed.asked) < 10, "it is not tried for ever", str(closed.asked))
        (await agent.well("browser_navigate", url=straight, context="default")).line("Words of the page")
        await agent.badly("browser_navigate", url="http://shop.invalid/default", context="default")
        asked = toll.asked + closed.asked
        expect(not any("/default" in path for path in asked), "others go their own way", str(asked))

        listed = await agent.well("browser_context_list")
        lacks(listed, "hunter2")
        proxies = {row["name"]: row["proxy"] for row in listed.facts["contexts"]}
        expect(proxies["free"] == {"server": toll.url, "hasAuth": False}, "it is listed", json.dumps(proxies))
        expect(proxies["paid"] == {"server": closed.url, "hasAuth": True}, "so is this", json.dumps(proxies))
        expect(proxies["default"] is None, "the default one has none", json.dumps(proxies))
        # A browser that takes the place of another does not leave it out.
        await server.kill_browser()
        for name, path in (("free", "/again"), ("paid", "/again-paid")):
            await until("it is there", lambda: came_back(agent, name, path))
        for odd in ({"server": "ftp://a"}, {"server": "http://me:hunter2@a"}, {"username": "hunter2"},
                    {**login, "bypass": "*"}, {"server": "socks5://a", "username": "hunter2"}, 7):
            lacks(await agent.badly("browser_context_create", name="odd", proxy=odd), "hunter2")


# ---------------------------------------------------------------------------------------------------------------
# Several clients.


@alone()
async def clients_of_a_session_have_pages_of_their_own(start, site):
    async with start("--session", "both") as server, server.client() as one, server.client() as two:
        first = (await one.open(site.page("<p>Words of one</p>"))).page
        shown = await two.look()
        expect(shown.page != first, "the second has a page of its own", shown)
        second = (await two.open(site.page("<p>Words of two</p>"))).page
        expect(second == shown.page, "it stays there")
        (await one.look()).line("Words of one")
        await one.well("browser_tabs", action="new")
        await one.open(site.page("<p>More of one</p>"))
        (await two.look()).line("Words of two")
        await two.well("browser_tabs", action="close")
        (await one.look()).line("More of one")
        # Who has closed its last page gets a new one, not another client's.
        shown = await two.look()
        expect(shown.tree == ["- document"], "the page is empty", shown)


@alone()
async def switching_contexts_leads_to_no_page_of_another_client(start, site):
    async with start("--session", "both") as server, server.client() as one, server.client() as two:
        await one.well("browser_navigate", url=site.page("<p>Words of one</p>"), context="clean")
        await two.well("browser_context_switch", name="clean")
        lacks(await two.look(), "Words of one")


@alone()
async def pages_of_a_client_that_left_are_closed(start, site):
    async with start("--session", "both") as server, server.client() as stays:
        await stays.open(site.page("<title>Stays</title>"))
        async with server.client() as leaves:
            left = (await leaves.open(site.page("<title>Leaves</title>"))).page

        async def is_closed():
            return left not in [tab["page"] for tab in await stays.tabs()]

        await until("its page is closed", is_closed)


@alone("http")
async def clients_over_http_have_pages_of_their_own(start, site):
    async with start() as server, server.client() as one, server.client() as two:
        await one.open(site.page("<p>Words of one</p>"))
        await two.open(site.page("<p>Words of two</p>"))
        (await one.look()).line("Words of one")
        (await two.look()).line("Words of two")


@alone("http")
async def client_without_a_session_says_which_page(start, site):
    async with start() as server, server.client(mode=MODERN) as agent:
        page = (await agent.open(site.page("<button>One</button>"))).page
        shown = await agent.look(page=page)
        await agent.well("browser_click", ref=shown.ref("One"), page=page)
        has(await agent.badly("browser_snapshot"), "page")
        has(await agent.badly("browser_close"), "page")
        await agent.well("browser_close", page=page)
        expect(not await agent.tabs(), "the page is closed")


@alone()
async def waiting_for_a_text_does_not_hold_up_what_brings_it(start, site):
    page = site.page("<button onclick=\"setTimeout(() => o.textContent = 'Done', 50)\">Start</button><p id=o></p>")
    async with start() as server, server.client() as agent:
        start_ref = (await agent.open(page)).ref("Start")
        under_way = anyio.Event()

        async def hear(*_):
            under_way.set()

        async def wait():
            reply = await agent.client.call_tool("browser_wait_for", {"text": "Done"}, progress_callback=hear)
            expect(not reply.is_error, f"it was waited in vain: {reply}")

        async with anyio.create_task_group() as both:
            both.start_soon(wait)
            await under_way.wait()
            has(await agent.well("browser_click", ref=start_ref), "click button")


@alone("http")
async def pages_of_nobody_are_closed_when_nobody_uses_them(start, site):
    async with start("--idle-timeout", "2s") as server, server.client(mode=MODERN) as agent:
        await agent.open(site.page("<p>Left</p>"))
        await until("it is closed", lambda: server.browsers() and not server.renderers())


@alone("stdio")
async def newest_protocol_works(start, site):
    async with start() as server, server.client(mode="auto") as agent:
        expect(agent.client.protocol_version >= "2025-11-25", f"it speaks {agent.client.protocol_version}")
        await agent.open(site.page("<button>One</button>"))
        await agent.well("browser_click", ref=(await agent.look()).ref("One"))
