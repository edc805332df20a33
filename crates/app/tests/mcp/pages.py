"""Pages and servers for the scenarios."""

import base64
import contextlib
import dataclasses
import http.server
import itertools
import json
import queue
import threading

import anyio

from scenario import TIMEOUT_SECONDS

# Lets a scenario run scripts in the page without the tested server. The page polls for a script and sends the result
# with its next poll: a scenario continues when the page is polling again and has no other request in flight.
REMOTE_CONTROL = """<script>(async () => {
  const stop = new AbortController(), address = '/control' + location.pathname;
  addEventListener('pagehide', () => stop.abort());
  for (let out = '';;) {
    const response = await fetch(address, {method: 'POST', body: out, signal: stop.signal});
    out = '';
    if (response.status !== 200) continue;
    const script = await response.text();
    try { out = (0, eval)(script); } catch (error) { out = String(error); }
    out = JSON.stringify(out ?? null);
  }
})().catch(() => {})</script>"""

SUBMIT = "<form onsubmit='return false'><button id=x onclick='document.title += 1'>Submit</button></form>"


class Site:
    """Serves pages from two origins, each page at its own address."""

    def __init__(self):
        self.pages = {}
        self.channels = {}
        self.numbers = itertools.count(1)
        self.ports = [self.serve(), self.serve()]
        self.origin = f"http://127.0.0.1:{self.ports[0]}"
        # A same-site origin shares the renderer process, a cross-site one does not.
        self.same_site = f"http://127.0.0.1:{self.ports[1]}"
        self.cross_site = f"http://localhost:{self.ports[1]}"

    def serve(self):
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                page = site.pages.get(self.path.partition("?")[0])
                self.answer(*(200, page) if page is not None else (404, "<title>Not here</title><p>Not here"))

            def do_POST(self):
                scripts, results = site.channels[self.path.removeprefix("/control")]
                if body := self.rfile.read(int(self.headers["Content-Length"])):
                    results.put(json.loads(body))
                try:
                    self.answer(200, scripts.get(timeout=10))
                except queue.Empty:
                    self.answer(204, "")

            def answer(self, status, text):
                body = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server.server_port

    def add(self, source):
        path = f"/{next(self.numbers)}"
        self.pages[path] = source
        return path

    def page(self, source, origin=None):
        """Adds a page and returns its address."""
        return (origin or self.origin) + self.add(source)

    def scripted(self, source):
        """Adds a page that runs scripts sent by the scenario."""
        path = self.add("<!doctype html>" + source + REMOTE_CONTROL)
        self.channels[path] = (queue.Queue(), queue.Queue())
        return ScriptedPage(self.origin + path, *self.channels[path])


class FakeProxy:
    """A proxy that answers every request itself, after authentication if it has a login."""

    def __init__(self, login=None):
        self.requests = requests = []
        key = login and "Basic " + base64.b64encode(login.encode()).decode()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                requests.append(self.path)
                is_allowed = key is None or self.headers.get("Proxy-Authorization") == key
                body = b"<title>Proxy</title><p>Text of the proxy" if is_allowed else b""
                self.send_response(200 if is_allowed else 407)
                self.send_header("Proxy-Authenticate", 'Basic realm="proxy"')
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{server.server_port}"


@dataclasses.dataclass
class ScriptedPage:
    url: str
    scripts: queue.Queue
    results: queue.Queue

    async def run(self, script):
        """Runs a script in the page and returns its value."""
        self.scripts.put(script)
        return await self.result()

    async def result(self):
        return await anyio.to_thread.run_sync(lambda: self.results.get(timeout=TIMEOUT_SECONDS))
