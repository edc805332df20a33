"""Browser contexts, storage state, proxies, and several clients of one browser."""

import json
import re
from pathlib import Path

import anyio

from pages import SUBMIT, FakeProxy
from scenario import MODERN, expect, has, isolated, lacks, wait_until

# ---------------------------------------------------------------------------------------------------------------
# Contexts.


COOKIES = """<p id=p></p><button onclick="document.cookie = 'who=me'; show()">Set</button>
    <script>show = () => p.textContent = 'cookies: ' + document.cookie + '.'; show()</script>"""


@isolated()
async def context_refs_have_context_prefix(start, site):
    async with start() as server, server.client() as agent:
        page = site.scripted("<title>.</title>" + SUBMIT)
        plain = await agent.call_ok("browser_navigate", url=site.page(SUBMIT))
        snapshot = await agent.call_ok("browser_navigate", url=page.url, context="clean")
        expect(snapshot.page != plain.page, "the context has its own page", snapshot)
        snapshot = await agent.snapshot(context="clean")
        ref = snapshot.ref("Submit")
        expect(re.fullmatch(r"clean:e[1-9]\d*", ref), "the ref has the prefix of its context", snapshot)
        done = await agent.call_ok("browser_click", ref=ref)
        expect(await page.run("document.title") == ".1", "the ref resolves", done)
        await agent.call_ok("browser_click", ref=ref, context="clean")
        expect(await page.run("document.title") == ".11", "the ref resolves with its context argument", done)
        has(await agent.call_error("browser_click", ref=ref, context="other"), "clean")
        await page.run("x.textContent = 'Loading...'; 1")
        has(await agent.call_error("browser_click", ref=ref), "Was: button 'Submit', Now: button 'Loading...'")


@isolated()
async def each_context_keeps_its_current_page(start, site):
    async with start() as server, server.client() as agent:
        first = (await agent.open(site.page("<h1>Usual words</h1>"))).page
        second = (await agent.call_ok("browser_navigate", url=site.page("<h1>Clean words</h1>"), context="clean")).page
        third = (await agent.call_ok("browser_navigate", url=site.page("<h1>Other words</h1>"), context="other")).page
        for context, page in (("clean", second), ("other", third), ("default", first)):
            snapshot = await agent.snapshot(context=context)
            expect(snapshot.page == page, f"{context} is still on {page}", snapshot)


@isolated()
async def contexts_have_separate_cookies(start, site):
    async with start() as server, server.client() as agent:
        url = site.page(COOKIES)
        first = (await agent.open(url)).page
        await agent.call_ok("browser_click", ref="text=Set")
        (await agent.snapshot()).line("cookies: who=me.")
        (await agent.call_ok("browser_navigate", url=url, context="clean")).line("cookies: .")
        (await agent.call_ok("browser_navigate", url=url, page=first)).line("cookies: who=me.")


@isolated()
async def default_context_always_exists(start, site):
    async with start() as server, server.client() as agent:
        url = site.page(COOKIES)
        await agent.open(url)
        await agent.call_ok("browser_click", ref="text=Set")
        snapshot = await agent.call_ok("browser_navigate", url=url, context="default")
        snapshot.line("cookies: who=me.")
        expect(":" not in snapshot.ref("Set"), "its refs have no prefix", snapshot)


@isolated()
async def contexts_are_created_switched_and_closed(start, site):
    async with start() as server, server.client() as agent:
        url = site.page(COOKIES)
        first = (await agent.open(url)).page
        await agent.call_ok("browser_click", ref="text=Set")
        await agent.call_ok("browser_context_create", name="clean")
        (await agent.open(url)).line("cookies: .")
        has(await agent.call_error("browser_context_create", name="clean"), "clean")
        listed = await agent.call_ok("browser_context_list")
        expect(listed.structured["totalCount"] == 2, "both are listed", listed)
        expect(listed.structured["activeContext"] == "clean", "the new context is active", listed)
        switched = await agent.call_ok("browser_context_switch", name="default")
        expect(switched.page == first, "the default context is on its page", switched)
        (await agent.snapshot()).line("cookies: who=me.")
        await agent.call_ok("browser_context_close", name="clean")
        expect((await agent.call_ok("browser_context_list")).structured["totalCount"] == 1, "it is closed")
        has(await agent.call_error("browser_context_switch", name="clean"), "default")
        await agent.call_error("browser_context_close", name="default")


STORAGE_PAGE = """<p id=p></p><button onclick="document.cookie = 'who=hunter2'; localStorage.token = 'hunter2'; show()">
    Keep</button><script>show = () => p.textContent = `keeps: ${document.cookie} ${localStorage.token}.`; show()</script>"""
STORAGE_TEXT = "keeps: who=hunter2 hunter2."


@isolated()
async def storage_state_is_copied_between_contexts(start, site):
    async with start() as server, server.client() as agent:
        here, cross_site = site.page(STORAGE_PAGE), site.page(STORAGE_PAGE, site.cross_site)
        await agent.call_ok("browser_context_create", name="first")
        await agent.open(here)
        await agent.call_ok("browser_click", ref="text=Keep")
        await agent.call_ok("browser_tabs", action="new")
        await agent.open(cross_site)
        await agent.call_ok("browser_click", ref="text=Keep")
        saved = await agent.call_ok("browser_context_save_storage", path="/elsewhere/auth.json")
        lacks(saved, "hunter2")
        expect("hunter2" not in json.dumps(saved.structured), "no value is revealed", saved)
        counts = [saved.structured[name] for name in ("cookies", "origins", "entries")]
        expect(counts == [2, 2, 2], "entries are counted", saved)
        file = Path(saved.structured["path"])
        expect(file == (server.files / "auth.json").resolve(), "the file is in the output directory", saved)
        expect(file.stat().st_mode & 0o777 == 0o600, "the file is readable by its owner only", oct(file.stat().st_mode))
        state = json.loads(file.read_text())
        expect(set(state) == {"cookies", "origins"}, "the file has the storage state format", file.read_text())
        cookie = state["cookies"][0]
        expect(set(cookie) == {"name", "value", "domain", "path", "expires", "httpOnly", "secure", "sameSite"}
               and cookie["expires"] == -1, "cookies have the storage state format", json.dumps(cookie))

        before = await agent.tabs()
        sources = {"named": "auth.json", "whole": str(file), "object": state, "text": json.dumps(state)}
        for name, value in sources.items():
            made = await agent.call_ok("browser_context_create", name=name, storageState=value)
            lacks(made, "hunter2")
            for url in (here, cross_site):
                (await agent.open(url)).line(STORAGE_TEXT)
        expect(len(await agent.tabs()) == len(before) + 4, "each context has one page", json.dumps(await agent.tabs()))
        (await agent.call_ok("browser_navigate", url=here, context="plain")).line("keeps: undefined.")

        saved = await agent.call_ok("browser_context_save_storage", path="other", name="plain")
        expect(saved.structured["cookies"] == 0, "another context can be named", saved)
        expect(saved.structured["path"].endswith("/other.json"), "the extension is added", saved)
        has(await agent.call_error("browser_context_save_storage", path="x", name="nobody"), "nobody", "plain")


@isolated()
async def invalid_storage_state_creates_no_context(start, site):
    async with start() as server, server.client() as agent:
        cookie = {"name": "a", "value": "hunter2", "domain": "127.0.0.1", "path": "/"}
        server.files.mkdir()
        (server.files / "broken.json").write_text('{"cookies": [{"name": "hunter2"')
        (server.files / "huge.json").write_text(" " * 32_000_001)
        for value, words in (
            ("broken.json", ["broken.json", "EOF"]),
            ("huge.json", ["32 MB"]),
            ("missing.json", ["missing.json"]),
            (["hunter2"], ["object"]),
            ({"cookies": []}, ["origins"]),
            ({"cookies": [{**cookie, "secure": "hunter2"}], "origins": []}, ["boolean"]),
            ({"cookies": [{**cookie, "path": "hunter2"}], "origins": []}, ["cookie 1"]),
            ({"cookies": [cookie, {**cookie, "name": "__Secure-a"}], "origins": []}, ["rejects"]),
            ({"cookies": [], "origins": [{"origin": "file:///hunter2", "localStorage": []}]}, ["origin 1"]),
        ):
            reply = await agent.call_error("browser_context_create", name="new", storageState=value)
            has(reply, *words)
            lacks(reply, "hunter2")
            listed = await agent.call_ok("browser_context_list")
            expect(listed.structured["totalCount"] == 1, "no context is left", listed)


async def proxy_is_back(agent, context, path):
    reply = await agent.call("browser_navigate", url="http://shop.invalid" + path, context=context)
    return not reply.is_error and reply.line("Text of the proxy")


@isolated()
async def context_uses_its_proxy(start, site):
    async with start() as server, server.client() as agent:
        proxy, auth_proxy = FakeProxy(), FakeProxy("me:hunter2")
        direct = site.page("<p>Words of the page")
        await agent.call_ok("browser_context_create", name="free", proxy={"server": proxy.url})
        (await agent.open("http://shop.invalid/free")).line("Text of the proxy")
        (await agent.open(direct)).line("Text of the proxy")
        login = {"server": auth_proxy.url, "username": "me", "password": "hunter2"}
        made = await agent.call_ok("browser_context_create", name="paid", proxy=login)
        lacks(made, "hunter2")
        (await agent.open("http://shop.invalid/paid")).line("Text of the proxy")
        await agent.call_ok("browser_context_create", name="wrong", proxy={**login, "password": "wrong-one"})
        lacks(await agent.call("browser_navigate", url="http://shop.invalid/wrong"), "Text of the proxy", "wrong-one")
        attempts = [path for path in auth_proxy.requests if "/wrong" in path]
        expect(len(attempts) < 10, "authentication is not retried forever", str(attempts))
        (await agent.call_ok("browser_navigate", url=direct, context="default")).line("Words of the page")
        await agent.call_error("browser_navigate", url="http://shop.invalid/default", context="default")
        requests = proxy.requests + auth_proxy.requests
        expect(not any("/default" in path for path in requests), "other contexts bypass the proxy", str(requests))

        listed = await agent.call_ok("browser_context_list")
        lacks(listed, "hunter2")
        proxies = {row["name"]: row["proxy"] for row in listed.structured["contexts"]}
        expect(proxies["default"] is None, "the default context has no proxy", json.dumps(proxies))
        for name, expected, has_auth in (("free", proxy, False), ("paid", auth_proxy, True)):
            expect(proxies[name] == {"server": expected.url, "hasAuth": has_auth}, f"{name}: {proxies}")
        # A restarted browser keeps the proxy of a context.
        await server.kill_browser()
        for name, path in (("free", "/again"), ("paid", "/again-paid")):
            await wait_until("the proxy is used again", lambda: proxy_is_back(agent, name, path))
        for odd in ({"server": "ftp://a"}, {"server": "http://me:hunter2@a"}, {"username": "hunter2"},
                    {**login, "bypass": "*"}, {"server": "socks5://a", "username": "hunter2"}, 7):
            lacks(await agent.call_error("browser_context_create", name="odd", proxy=odd), "hunter2")


# ---------------------------------------------------------------------------------------------------------------
# Several clients.


@isolated()
async def clients_of_one_session_have_separate_pages(start, site):
    async with start("--session", "both") as server, server.client() as one, server.client() as two:
        first = (await one.open(site.page("<p>Words of one</p>"))).page
        snapshot = await two.snapshot()
        expect(snapshot.page != first, "the second client has its own page", snapshot)
        second = (await two.open(site.page("<p>Words of two</p>"))).page
        expect(second == snapshot.page, "the second client stays on its page")
        (await one.snapshot()).line("Words of one")
        await one.call_ok("browser_tabs", action="new")
        await one.open(site.page("<p>More of one</p>"))
        (await two.snapshot()).line("Words of two")
        await two.call_ok("browser_tabs", action="close")
        (await one.snapshot()).line("More of one")
        # A client that closed its last page gets a new one, not another client's.
        snapshot = await two.snapshot()
        expect(snapshot.tree == ["- document"], "the page is empty", snapshot)


@isolated()
async def context_switch_does_not_expose_other_clients_page(start, site):
    async with start("--session", "both") as server, server.client() as one, server.client() as two:
        await one.call_ok("browser_navigate", url=site.page("<p>Words of one</p>"), context="clean")
        await two.call_ok("browser_context_switch", name="clean")
        lacks(await two.snapshot(), "Words of one")


@isolated()
async def pages_of_disconnected_client_are_closed(start, site):
    async with start("--session", "both") as server, server.client() as staying:
        await staying.open(site.page("<title>Stays</title>"))
        async with server.client() as leaving:
            closed = (await leaving.open(site.page("<title>Leaves</title>"))).page

        async def is_closed():
            return closed not in [tab["page"] for tab in await staying.tabs()]

        await wait_until("its page is closed", is_closed)


@isolated("http")
async def http_clients_have_separate_pages(start, site):
    async with start() as server, server.client() as one, server.client() as two:
        await one.open(site.page("<p>Words of one</p>"))
        await two.open(site.page("<p>Words of two</p>"))
        (await one.snapshot()).line("Words of one")
        (await two.snapshot()).line("Words of two")


@isolated("http")
async def sessionless_client_must_name_page(start, site):
    async with start() as server, server.client(mode=MODERN) as agent:
        page = (await agent.open(site.page("<button>One</button>"))).page
        snapshot = await agent.snapshot(page=page)
        await agent.call_ok("browser_click", ref=snapshot.ref("One"), page=page)
        has(await agent.call_error("browser_snapshot"), "page")
        has(await agent.call_error("browser_close"), "page")
        await agent.call_ok("browser_close", page=page)
        expect(not await agent.tabs(), "the page is closed")


@isolated()
async def wait_for_text_does_not_block_other_calls(start, site):
    page = site.page("<button onclick=\"setTimeout(() => o.textContent = 'Done', 50)\">Start</button><p id=o></p>")
    async with start() as server, server.client() as agent:
        start_ref = (await agent.open(page)).ref("Start")
        started = anyio.Event()

        async def on_progress(*_):
            started.set()

        async def wait():
            reply = await agent.client.call_tool("browser_wait_for", {"text": "Done"}, progress_callback=on_progress)
            expect(not reply.is_error, f"the wait failed: {reply}")

        async with anyio.create_task_group() as both:
            both.start_soon(wait)
            await started.wait()
            has(await agent.call_ok("browser_click", ref=start_ref), "click button")


@isolated("http")
async def unowned_pages_are_closed_when_idle(start, site):
    async with start("--idle-timeout", "2s") as server, server.client(mode=MODERN) as agent:
        await agent.open(site.page("<p>Left</p>"))
        await wait_until("the page is closed", lambda: server.browsers() and not server.renderers())


@isolated("stdio")
async def newest_protocol_version_is_supported(start, site):
    async with start() as server, server.client(mode="auto") as agent:
        version = agent.client.protocol_version
        expect(version >= "2025-11-25", f"the protocol version is {version}")
        await agent.open(site.page("<button>One</button>"))
        await agent.call_ok("browser_click", ref=(await agent.snapshot()).ref("One"))
