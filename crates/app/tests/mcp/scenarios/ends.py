"""When something breaks or ends."""

import contextlib
import json
import os
import signal
import subprocess

import anyio
from mcp import MCPError

from scenario import alone, expect, has, milliseconds, until

@alone()
async def browser_that_was_killed_is_replaced(start, site):
    async with start() as server, server.client() as agent:
        await agent.open(site.page("<p>Before</p>"))
        for tool, arguments in (
            ("browser_snapshot", {}), ("browser_click", {"ref": "text=Before"}), ("browser_tabs", {"action": "list"}),
        ):
            await server.kill_browser()

            async def is_told():
                reply = await agent.call(tool, **arguments)
                return reply.is_error or "note" in reply.text

            # What is known from before may be given once more until word of the death is there.
            await until(f"{tool} tells of it", is_told, seconds=3)
            await agent.open(site.page("<p>After</p>"))
            (await agent.look()).line("After")
        await server.kill_browser()
        reply = await agent.open(site.page("<p>Once more</p>"))
        has(reply, "note")
        (await agent.look()).line("Once more")


@alone()
async def new_tab_of_a_new_browser_tells_of_it(start, site):
    async with start() as server, server.client() as agent:
        await agent.open(site.page("<p>Before</p>"))
        await server.kill_browser()
        reply = await agent.call("browser_tabs", action="new")
        expect(reply.is_error or "note" in reply.text, "it tells that the other pages are gone", reply)


@alone()
async def page_that_crashed_is_told_of_and_can_be_left(start, site):
    async with start() as server, server.client() as agent:
        await agent.open(site.page("<p>Before</p>"))
        for pid in server.renderers():
            os.kill(pid, signal.SIGKILL)

        async def is_told():
            return (await agent.call("browser_snapshot", find="x")).is_error

        await until("it is told", is_told)
        await agent.open(site.page("<p>After</p>"))
        (await agent.look()).line("After")


@alone()
async def wait_for_a_time_ends_with_its_page(start, site):
    async with start() as server, server.client() as agent:
        for end in ("browser", "page", "tab"):
            await agent.open(site.page("<p>Before</p>"))
            replies = []

            async def wait():
                replies.append(await agent.call("browser_wait_for", time=30))

            async with anyio.create_task_group() as group:
                group.start_soon(wait)
                await anyio.sleep(0)
                if end == "browser":
                    await server.kill_browser()
                elif end == "page":
                    for pid in server.renderers():
                        os.kill(pid, signal.SIGKILL)
                else:
                    await agent.call("browser_tabs", action="close")
            expect(replies[0].is_error, f"the wait ended with the {end}", replies[0])


@alone()
async def daemon_that_was_killed_is_replaced(start, site):
    async with start() as server, server.client() as agent:
        await agent.open(site.page("<p>Before</p>"))
        browsers, daemons = server.browsers(), server.daemons()
        expect(len(daemons) == 1, f"one daemon runs: {daemons}")
        os.kill(daemons[0], signal.SIGKILL)
        await until("its browser is gone too", lambda: not set(browsers) & set(server.processes()))
        reply = await agent.call("browser_snapshot")
        expect(reply.is_error or "note" in reply.text, "it is told", reply)
        await agent.open(site.page("<p>After</p>"))
        (await agent.look()).line("After")


@alone()
async def cancelled_call_leaves_the_server_usable(start, site):
    async with start() as server, server.client() as agent:
        page = site.live("<title>.</title><button onclick='document.title += 1'>Go</button>")
        await agent.open(page)
        ref = (await agent.look()).ref("Go")
        with anyio.move_on_after(0.5) as scope:
            await agent.call("browser_wait_for", text="never")
        expect(scope.cancelled_caught, "it was cancelled")
        took, reply = await milliseconds(agent.well("browser_click", ref=ref))
        expect(took < 5000, f"it took {took:.0f} ms")
        has(reply, "browser_wait_for was cancelled")
        try:
            reply = await agent.call("browser_wait_for", text="never", read_timeout=0.5)
        except MCPError:
            pass
        else:
            expect(False, "it was answered", reply)
        await agent.well("browser_click", ref=ref)
        expect(await page.do("document.title") == ".11", "both clicks were done, once each")


@alone()
async def call_on_a_page_that_hangs_can_be_cancelled(start, site):
    async with start() as server, server.client() as agent:
        await agent.open(site.page("<button onclick='for (;;);'>Hang</button>"))
        with anyio.move_on_after(1):
            await agent.call("browser_click", ref="text=Hang")
        with anyio.move_on_after(1):
            await agent.call("browser_evaluate", function="() => 1")
        took, reply = await milliseconds(agent.well("browser_tabs", action="list"))
        expect(took < 3000, f"it took {took:.0f} ms", reply)
        await agent.well("browser_tabs", action="new")
        await agent.open(site.page("<p>Elsewhere</p>"))
        (await agent.look()).line("Elsewhere")


@alone()
async def long_call_reports_progress(start, site):
    async with start() as server, server.client() as agent:
        heard = []

        async def hear(progress, total, message):
            heard.append((progress, message))

        await agent.open("about:blank")
        await agent.client.call_tool("browser_wait_for", {"time": 1.7}, progress_callback=hear)
        expect(len(heard) >= 2 and heard == sorted(heard), f"it is told more than once: {heard}")


def talk(process, *messages):
    """Speaks to a server over its pipes, with nobody's help. Gives the last answer."""
    answer = None
    for number, (method, parameters) in enumerate(messages, 1):
        note = method.startswith("notifications/")
        message = {"jsonrpc": "2.0", "method": method, "params": parameters, **({} if note else {"id": number})}
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        while not note:
            line = process.stdout.readline()
            expect(line, "it has ended")
            answer = json.loads(line)
            if answer.get("id") == number:
                break
    return answer


CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "plain", "version": "1"}}
HELLO = (("initialize", CLIENT), ("notifications/initialized", {}))


def tool_call(tool, **arguments):
    return "tools/call", {"name": tool, "arguments": arguments}


@alone("stdio")
async def nothing_is_left_when_the_client_goes(start, site):
    for way in ("closes", "kills"):
        async with start() as server:
            process = server.spawn(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            call = tool_call("browser_navigate", url=site.page("<p>Words"))
            answer = await anyio.to_thread.run_sync(lambda: talk(process, *HELLO, call))
            expect("Words" in json.dumps(answer), "it works", json.dumps(answer))
            expect(server.browsers() and server.daemons(), "a browser and a daemon run")
            if way == "closes":
                process.stdin.close()
            else:
                process.kill()
            await until(f"it has ended when the client {way}", lambda: process.poll() is not None)
            expect(way == "kills" or process.returncode == 0, f"it ended with {process.returncode}")
            await server.gone()


@alone("stdio")
async def nothing_is_left_when_the_client_goes_in_the_middle_of_a_call(start, site):
    async with start() as server:
        process = server.spawn(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        call = tool_call("browser_navigate", url="about:blank")
        await anyio.to_thread.run_sync(lambda: talk(process, *HELLO, call))
        method, parameters = tool_call("browser_wait_for", time=50)
        message = {"jsonrpc": "2.0", "id": 9, "method": method, "params": parameters}
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.close()
        await until("it has ended", lambda: process.poll() is not None)
        await server.gone()


@alone("http")
async def nothing_is_left_when_the_server_ends(start, site):
    for end in (signal.SIGTERM, signal.SIGKILL):
        async with start() as server:
            is_up = False
            # The client notices that it is cut off.
            with contextlib.suppress(Exception):
                async with server.client() as agent:
                    await agent.open(site.page("<p>Words"))
                    is_up = server.browsers() and server.daemons()
                    server.process.send_signal(end)
                    await until("it has ended", lambda: server.process.poll() is not None)
            expect(is_up, "a browser and a daemon run")
            expect(server.process.poll() is not None, f"it has ended on {end.name}")
            await server.gone()
