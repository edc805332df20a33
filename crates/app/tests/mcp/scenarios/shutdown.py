"""Crashes, cancellation, disconnects and shutdown."""

import contextlib
import json
import os
import signal
import subprocess

import anyio
from mcp import MCPError

from scenario import expect, has, isolated, timed, wait_until

@isolated()
async def killed_browser_is_replaced(start, site):
    async with start() as server, server.client() as agent:
        await agent.open(site.page("<p>Before</p>"))
        for tool, arguments in (
            ("browser_snapshot", {}), ("browser_click", {"ref": "text=Before"}), ("browser_tabs", {"action": "list"}),
        ):
            await server.kill_browser()

            async def is_reported():
                reply = await agent.call(tool, **arguments)
                return reply.is_error or "note" in reply.text

            # A cached result may still be returned until the server learns of the exit.
            await wait_until(f"{tool} reports the loss", is_reported, seconds=3)
            await agent.open(site.page("<p>After</p>"))
            (await agent.snapshot()).line("After")
        await server.kill_browser()
        reply = await agent.open(site.page("<p>Once more</p>"))
        has(reply, "note")
        (await agent.snapshot()).line("Once more")


@isolated()
async def new_tab_after_browser_loss_reports_the_loss(start, site):
    async with start() as server, server.client() as agent:
        await agent.open(site.page("<p>Before</p>"))
        await server.kill_browser()
        reply = await agent.call("browser_tabs", action="new")
        expect(reply.is_error or "note" in reply.text, "the loss of the other pages is reported", reply)


@isolated()
async def crashed_page_is_reported_and_can_be_left(start, site):
    async with start() as server, server.client() as agent:
        await agent.open(site.page("<p>Before</p>"))
        for pid in server.renderers():
            os.kill(pid, signal.SIGKILL)

        async def is_reported():
            return (await agent.call("browser_snapshot", find="x")).is_error

        await wait_until("the crash is reported", is_reported)
        await agent.open(site.page("<p>After</p>"))
        (await agent.snapshot()).line("After")


@isolated()
async def wait_for_time_ends_when_its_page_is_gone(start, site):
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


@isolated()
async def killed_daemon_is_replaced(start, site):
    async with start() as server, server.client() as agent:
        await agent.open(site.page("<p>Before</p>"))
        browsers, daemons = server.browsers(), server.daemons()
        expect(len(daemons) == 1, f"exactly one daemon is running: {daemons}")
        os.kill(daemons[0], signal.SIGKILL)
        await wait_until("its browser is gone too", lambda: not set(browsers) & set(server.processes()))
        reply = await agent.call("browser_snapshot")
        expect(reply.is_error or "note" in reply.text, "the loss is reported", reply)
        await agent.open(site.page("<p>After</p>"))
        (await agent.snapshot()).line("After")


@isolated()
async def cancelled_call_leaves_the_server_usable(start, site):
    async with start() as server, server.client() as agent:
        page = site.scripted("<title>.</title><button onclick='document.title += 1'>Go</button>")
        await agent.open(page)
        ref = (await agent.snapshot()).ref("Go")
        with anyio.move_on_after(0.5) as scope:
            await agent.call("browser_wait_for", text="never")
        expect(scope.cancelled_caught, "it was cancelled")
        took, reply = await timed(agent.call_ok("browser_click", ref=ref))
        expect(took < 5000, f"it took {took:.0f} ms")
        has(reply, "browser_wait_for was cancelled")
        try:
            reply = await agent.call("browser_wait_for", text="never", read_timeout=0.5)
        except MCPError:
            pass
        else:
            expect(False, "it was answered", reply)
        await agent.call_ok("browser_click", ref=ref)
        expect(await page.run("document.title") == ".11", "both clicks were done exactly once")


@isolated()
async def call_on_hung_page_can_be_cancelled(start, site):
    async with start() as server, server.client() as agent:
        await agent.open(site.page("<button onclick='for (;;);'>Hang</button>"))
        with anyio.move_on_after(1):
            await agent.call("browser_click", ref="text=Hang")
        with anyio.move_on_after(1):
            await agent.call("browser_evaluate", function="() => 1")
        took, reply = await timed(agent.call_ok("browser_tabs", action="list"))
        expect(took < 3000, f"it took {took:.0f} ms", reply)
        await agent.call_ok("browser_tabs", action="new")
        await agent.open(site.page("<p>Elsewhere</p>"))
        (await agent.snapshot()).line("Elsewhere")


@isolated()
async def long_call_reports_progress(start, site):
    async with start() as server, server.client() as agent:
        reports = []

        async def on_progress(progress, total, message):
            reports.append((progress, message))

        await agent.open("about:blank")
        await agent.client.call_tool("browser_wait_for", {"time": 1.7}, progress_callback=on_progress)
        expect(len(reports) >= 2 and reports == sorted(reports), f"progress is reported repeatedly: {reports}")


def exchange(process, *messages):
    """Exchanges JSON-RPC messages over the pipes of a server and returns the last response."""
    answer = None
    for number, (method, parameters) in enumerate(messages, 1):
        is_notification = method.startswith("notifications/")
        message = {"jsonrpc": "2.0", "method": method, "params": parameters}
        if not is_notification:
            message["id"] = number
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        while not is_notification:
            line = process.stdout.readline()
            expect(line, "the server closed its output")
            answer = json.loads(line)
            if answer.get("id") == number:
                break
    return answer


INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "plain", "version": "1"}}
HANDSHAKE = (("initialize", INITIALIZE), ("notifications/initialized", {}))


def tool_call(tool, **arguments):
    return "tools/call", {"name": tool, "arguments": arguments}


@isolated("stdio")
async def client_disconnect_ends_all_processes(start, site):
    for way in ("closes", "kills"):
        async with start() as server:
            process = server.spawn(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            call = tool_call("browser_navigate", url=site.page("<p>Words"))
            answer = await anyio.to_thread.run_sync(lambda: exchange(process, *HANDSHAKE, call))
            expect("Words" in json.dumps(answer), "the call succeeded", json.dumps(answer))
            expect(server.browsers() and server.daemons(), "a browser and a daemon are running")
            if way == "closes":
                process.stdin.close()
            else:
                process.kill()
            await wait_until(f"the server exits when the client {way}", lambda: process.poll() is not None)
            expect(way == "kills" or process.returncode == 0, f"exit status {process.returncode}")
            await server.wait_gone()


@isolated("stdio")
async def client_disconnect_during_call_ends_all_processes(start, site):
    async with start() as server:
        process = server.spawn(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        call = tool_call("browser_navigate", url="about:blank")
        await anyio.to_thread.run_sync(lambda: exchange(process, *HANDSHAKE, call))
        method, parameters = tool_call("browser_wait_for", time=50)
        message = {"jsonrpc": "2.0", "id": 9, "method": method, "params": parameters}
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.close()
        await wait_until("the server has exited", lambda: process.poll() is not None)
        await server.wait_gone()


@isolated("http")
async def server_signal_ends_all_processes(start, site):
    for end in (signal.SIGTERM, signal.SIGKILL):
        async with start() as server:
            is_up = False
            # The client fails when the connection is cut.
            with contextlib.suppress(Exception):
                async with server.client() as agent:
                    await agent.open(site.page("<p>Words"))
                    is_up = server.browsers() and server.daemons()
                    server.process.send_signal(end)
                    await wait_until("the server has exited", lambda: server.process.poll() is not None)
            expect(is_up, "a browser and a daemon are running")
            expect(server.process.poll() is not None, f"the server exits on {end.name}")
            await server.wait_gone()
