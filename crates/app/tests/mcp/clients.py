"""The server, its clients and its processes."""

import contextlib
import dataclasses
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from scenario import expect, wait_until

@dataclasses.dataclass
class Reply:
    """The reply to a tool call."""

    text: str
    structured: dict
    is_error: bool
    images: list

    @property
    def fence(self):
        return re.search(r"<page-([0-9a-f]{8})>\n(.*)\n</page-\1>", self.text, re.DOTALL)

    @property
    def page_text(self):
        """The text inside the fence: page content."""
        return self.fence.group(2) if self.fence else ""

    @property
    def server_text(self):
        """The text outside the fence: the server's own."""
        return self.text.replace(self.fence.group(0), "") if self.fence else self.text

    @property
    def page(self):
        found = re.match(r"\[page (t\d+)\]", self.text)
        return found and found.group(1)

    @property
    def tree(self):
        """The accessibility tree lines."""
        return [line for line in self.page_text.splitlines() if re.match(r" *- ", line)]

    @property
    def more(self):
        """The continuation id of a truncated reply."""
        found = re.search(r'more: "(\w+)"', self.server_text)
        return found and found.group(1)

    def line(self, words):
        found = [line for line in self.page_text.splitlines() if words in line]
        expect(found, f"`{words}` is not in the reply", self)
        return found[0]

    def ref(self, words):
        """The ref on the line with these words."""
        found = re.search(r"\[ref=([^\]\s]+)", self.line(words))
        expect(found, f"no ref for `{words}`", self)
        return found.group(1)


@dataclasses.dataclass
class Agent:
    """An MCP client with shorthands for the scenarios."""

    client: Client
    server: "Server"

    async def call(self, tool, **arguments):
        timeout = arguments.pop("read_timeout", None)
        result = await self.client.call_tool(tool, arguments, read_timeout_seconds=timeout)
        texts = [part.text for part in result.content if part.type == "text"]
        images = [part for part in result.content if part.type == "image"]
        return Reply("\n".join(texts), result.structured_content or {}, bool(result.is_error), images)

    async def call_ok(self, tool, **arguments):
        """Calls a tool that must succeed."""
        reply = await self.call(tool, **arguments)
        expect(not reply.is_error, f"{tool} failed", reply)
        return reply

    async def call_error(self, tool, **arguments):
        """Calls a tool that must return an error."""
        reply = await self.call(tool, **arguments)
        expect(reply.is_error, f"{tool} did not fail", reply)
        return reply

    async def open(self, page):
        return await self.call_ok("browser_navigate", url=getattr(page, "url", page))

    async def snapshot(self, **arguments):
        return await self.call_ok("browser_snapshot", **arguments)

    async def tabs(self):
        return (await self.call_ok("browser_tabs", action="list")).structured["tabs"]


class Server:
    """Starts the program: once over HTTP, once per client over stdio."""

    def __init__(self, program, transport, *options):
        self.program = program
        self.transport = transport
        self.folder = Path(tempfile.mkdtemp(prefix="agbrowse-mcp-"))
        self.files = self.folder / "files"
        self.options = ["mcp", "--caps", "all", "--output-dir", str(self.files), *options]
        self.environment = {**os.environ, "AGBROWSE_RUNTIME_DIR": str(self.folder)}
        self.environment.pop("AGBROWSE_MCP_TOKEN", None)
        self.errors = self.folder / "stderr"
        self.process = None
        self.url = self.token = None

    def spawn(self, *options, **pipes):
        """Starts the program directly, without a client library."""
        with open(self.errors, "a") as errors:
            self.process = subprocess.Popen(
                [self.program, *self.options, *options],
                env=self.environment, cwd=self.folder, stderr=errors, **pipes,
            )
        return self.process

    async def listen(self):
        self.spawn("--http", "0", stdin=subprocess.DEVNULL)
        printed = await wait_until("the server prints its address", lambda: re.search(
            r"serving MCP at (http://\S+/mcp).*\ntoken: (\w+)", self.errors.read_text(), re.DOTALL))
        self.url, self.token = printed.groups()

    @contextlib.asynccontextmanager
    async def client(self, mode="legacy", **options):
        if self.transport == "http":
            headers = {"Authorization": f"Bearer {self.token}"}
            timeout = httpx2.Timeout(30, read=300)
            async with httpx2.AsyncClient(headers=headers, timeout=timeout) as web:
                transport = streamable_http_client(self.url, http_client=web)
                async with Client(transport, mode=mode, **options) as client:
                    yield Agent(client, self)
            return
        parameters = StdioServerParameters(
            command=self.program, args=self.options, env=self.environment, cwd=self.folder)
        with open(self.errors, "a") as errors:
            async with Client(stdio_client(parameters, errors), mode=mode, **options) as client:
                yield Agent(client, self)

    def process_tree(self):
        """Process ids mapped to parent and command line: processes with its folder in their environment, and their
        descendants."""
        variable = f"AGBROWSE_RUNTIME_DIR={self.folder}".encode()
        parents, known = {}, set()
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                pid = int(entry.name)
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                if state == "Z":
                    continue
                parents[pid] = int(parent)
                if variable in (entry / "environ").read_bytes().split(b"\0"):
                    known.add(pid)
        while grown := {pid for pid, parent in parents.items() if parent in known} - known:
            known |= grown
        return {pid: (parents[pid], command_line(pid)) for pid in known}

    def processes(self):
        """Process ids mapped to command lines."""
        return {pid: line for pid, (_, line) in self.process_tree().items()}

    def processes_matching(self, *words):
        """Process ids whose command line contains all of these words."""
        return [pid for pid, line in self.processes().items() if all(word in line for word in words)]

    def browsers(self):
        """Browser main processes. A freshly forked child still has the command line of its parent."""
        candidates = {pid: parent for pid, (parent, line) in self.process_tree().items()
                 if "--remote-debugging-pipe" in line and "--type=" not in line}
        return [pid for pid, parent in candidates.items() if parent not in candidates]

    async def kill_browser(self):
        browsers = self.browsers()
        expect(len(browsers) == 1, f"exactly one browser is running: {browsers}")
        os.kill(browsers[0], signal.SIGKILL)
        await wait_until("the browser process is gone", lambda: browsers[0] not in self.processes())

    def renderers(self):
        return self.processes_matching("--type=renderer")

    def daemons(self):
        return self.processes_matching(" daemon run ")

    async def wait_gone(self):
        await wait_until("all processes have exited", lambda: not self.processes())

    async def stop(self):
        """Terminates the remaining processes."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
        for number in (signal.SIGTERM, signal.SIGKILL):
            for pid in self.daemons() if number == signal.SIGTERM else self.processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            with contextlib.suppress(AssertionError):
                await self.wait_gone()
                break
        if self.process:
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def command_line(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ")
    return ""
