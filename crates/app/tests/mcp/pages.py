"""What is shown to the server that is tested."""

import base64
import contextlib
import dataclasses
import http.server
import itertools
import json
import queue
import threading

import anyio

from scenario import PATIENCE

# A page with this in it does what the scenario tells it, behind the back of the server that is tested. With what came
# of it, it asks for more: so a scenario goes on when the page waits again, with no request under way but that one.
HAND = """<script>(async () => {
  const stop = new AbortController(), here = '/hand' + location.pathname;
  addEventListener('pagehide', () => stop.abort());
  for (let out = '';;) {
    const told = await fetch(here, {method: 'POST', body: out, signal: stop.signal});
    out = '';
    if (told.status !== 200) continue;
    const script = await told.text();
    try { out = (0, eval)(script); } catch (error) { out = String(error); }
    out = JSON.stringify(out ?? null);
  }
})().catch(() => {})</script>"""

SUBMIT = "<form onsubmit='return false'><button id=x onclick='document.title += 1'>Submit</button></form>"


class Site:
    """Pages of two origins, each page at an address of its own."""

    def __init__(self):
        self.pages = {}
        self.told = {}
        self.numbers = itertools.count(1)
        self.ports = [self.serve(), self.serve()]
        self.home = f"http://127.0.0.1:{self.ports[0]}"
        # Another origin of the same site shares a process with it, another site does not.
        self.sibling = f"http://127.0.0.1:{self.ports[1]}"
        self.abroad = f"http://localhost:{self.ports[1]}"

    def serve(self):
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                page = site.pages.get(self.path.partition("?")[0])
                self.answer(*(200, page) if page is not None else (404, "<title>Not here</title><p>Not here"))

            def do_POST(self):
                orders, results = site.told[self.path.removeprefix("/hand")]
                if body := self.rfile.read(int(self.headers["Content-Length"])):
                    results.put(json.loads(body))
                try:
                    self.answer(200, orders.get(timeout=10))
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
        """The address of a page."""
        return (origin or self.home) + self.add(source)

    def live(self, source):
        """A page that does what it is told."""
        path = self.add("<!doctype html>" + source + HAND)
        self.told[path] = (queue.Queue(), queue.Queue())
        return LivePage(self.home + path, *self.told[path])


class Toll:
    """A proxy that answers every request itself, once somebody signs in who may."""

    def __init__(self, login=None):
        self.asked = asked = []
        key = login and "Basic " + base64.b64encode(login.encode()).decode()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                is_in = key is None or self.headers.get("Proxy-Authorization") == key
                body = b"<title>Toll</title><p>Words of the toll" if is_in else b""
                self.send_response(200 if is_in else 407)
                self.send_header("Proxy-Authenticate", 'Basic realm="toll"')
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
class LivePage:
    url: str
    orders: queue.Queue
    results: queue.Queue

    async def do(self, script):
        """Runs a script in the page, and gives what it is worth."""
        self.orders.put(script)
        return await self.result()

    async def result(self):
        return await anyio.to_thread.run_sync(lambda: self.results.get(timeout=PATIENCE))
