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

from scenario import expect, until

@dataclasses.dataclass
class Reply:
    """What a call is answered with."""

    text: str
    facts: dict
    is_error: bool
    images: list

    @property
    def fence(self):
        return re.search(r"<page-([0-9a-f]{8})>\n(.*)\n</page-\1>", self.text, re.DOTALL)

    @property
    def theirs(self):
        """What stands between the fence: words of the page."""
        return self.fence.group(2) if self.fence else ""

    @property
    def ours(self):
        """What stands outside of it: words of the server."""
        return self.text.replace(self.fence.group(0), "") if self.fence else self.text

    @property
    def page(self):
        found = re.match(r"\[page (t\d+)\]", self.text)
        return found and found.group(1)

    @property
    def tree(self):
        """The lines that show the page."""
        return [line for line in self.theirs.splitlines() if re.match(r" *- ", line)]

    @property
    def more(self):
        """The id of what was cut from it."""
        found = re.search(r'more: "(\w+)"', self.ours)
        return found and found.group(1)

    def line(self, words):
        found = [line for line in self.theirs.splitlines() if words in line]
        expect(found, f"`{words}` is shown nowhere", self)
        return found[0]

    def ref(self, words):
        """The ref on the line with these words."""
        found = re.search(r"\[ref=([^\]\s]+)", self.line(words))
        expect(found, f"no ref for `{words}`", self)
        return found.group(1)


@dataclasses.dataclass
class Agent:
    """A client, as scenarios use it."""

    client: Client
    server: "Server"

    async def call(self, tool, **arguments):
        timeout = arguments.pop("read_timeout", None)
        result = await self.client.call_tool(tool, arguments, read_timeout_seconds=timeout)
        texts = [part.text for part in result.content if part.type == "text"]
        images = [part for part in result.content if part.type == "image"]
        return Reply("\n".join(texts), result.structured_content or {}, bool(result.is_error), images)

    async def well(self, tool, **arguments):
        """Makes a call that must not fail."""
        reply = await self.call(tool, **arguments)
        expect(not reply.is_error, f"{tool} failed", reply)
        return reply

    async def badly(self, tool, **arguments):
        """Makes a call that must fail."""
        reply = await self.call(tool, **arguments)
        expect(reply.is_error, f"{tool} did not fail", reply)
        return reply

    async def open(self, page):
        return await self.well("browser_navigate", url=getattr(page, "url", page))

    async def look(self, **arguments):
        return await self.well("browser_snapshot", **arguments)

    async def tabs(self):
        return (await self.well("browser_tabs", action="list")).facts["tabs"]


class Server:
    """A way to start the program. Over HTTP it is started once, else for each client."""

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
        """Starts the program without any client's help."""
        with open(self.errors, "a") as errors:
            self.process = subprocess.Popen(
                [self.program, *self.options, *options],
                env=self.environment, cwd=self.folder, stderr=errors, **pipes,
            )
        return self.process

    async def listen(self):
        self.spawn("--http", "0", stdin=subprocess.DEVNULL)
        said = await until("it says where it serves", lambda: re.search(
            r"serving MCP at (http://\S+/mcp).*\ntoken: (\w+)", self.errors.read_text(), re.DOTALL))
        self.url, self.token = said.groups()

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

    def family(self):
        """The processes that run for it, each with its parent and its command line: those that know its folder, and
        what they started."""
        mark = f"AGBROWSE_RUNTIME_DIR={self.folder}".encode()
        parents, known = {}, set()
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                pid = int(entry.name)
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                if state == "Z":
                    continue
                parents[pid] = int(parent)
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    known.add(pid)
        while grown := {pid for pid, parent in parents.items() if parent in known} - known:
            known |= grown
        return {pid: (parents[pid], command_line(pid)) for pid in known}

    def processes(self):
        """Those processes with their command lines."""
        return {pid: line for pid, (_, line) in self.family().items()}

    def kind(self, *words):
        """Those of its processes whose command line has all of these words."""
        return [pid for pid, line in self.processes().items() if all(word in line for word in words)]

    def browsers(self):
        """The main processes of its browsers. A child that has just been forked has the same command line."""
        alike = {pid: parent for pid, (parent, line) in self.family().items()
                 if "--remote-debugging-pipe" in line and "--type=" not in line}
        return [pid for pid, parent in alike.items() if parent not in alike]

    async def kill_browser(self):
        browsers = self.browsers()
        expect(len(browsers) == 1, f"one browser runs: {browsers}")
        os.kill(browsers[0], signal.SIGKILL)
        await until("it is dead", lambda: browsers[0] not in self.processes())

    def renderers(self):
        return self.kind("--type=renderer")

    def daemons(self):
        return self.kind(" daemon run ")

    async def gone(self):
        await until("none of its processes is left", lambda: not self.processes())

    async def end(self):
        """Ends what still runs."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
        for end in (signal.SIGTERM, signal.SIGKILL):
            for pid in self.daemons() if end == signal.SIGTERM else self.processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, end)
            with contextlib.suppress(AssertionError):
                await self.gone()
                break
        if self.process:
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def command_line(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ")
    return ""
