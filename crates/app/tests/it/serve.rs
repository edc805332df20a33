//! The HTTP API, as seen by clients: replies and errors beside those of the command line, admission, cancellation, files,
//! the OpenAPI description, and every `curl` line of its document.

use crate::mcp::page;
use crate::sandbox::{Home, has_browser, wait_until};
use base64::Engine;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);

const TOKEN: &str = "token-of-the-tests";

/// A running server.
struct Server {
    child: Child,
    address: String,
}

/// A response.
#[derive(Debug)]
struct HttpReply {
    status: u16,
    headers: String,
    text: String,
}

impl HttpReply {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{self:?}"))
    }

    /// The error of an error envelope.
    fn error(&self) -> Value {
        let envelope = self.json();
        assert_eq!(envelope["ok"], false, "{envelope}");
        assert_eq!(envelope["status"], "error", "{envelope}");
        assert!(self.headers.contains("content-type: application/json\r\n"), "{self:?}");
        envelope["error"].clone()
    }

    fn code(&self) -> (u16, String) {
        (self.status, self.error()["errorCode"].as_str().unwrap().to_owned())
    }
}

impl Server {
    fn start(home: &Home, args: &[&str]) -> Self {
        Self::start_with(home, args, &[])
    }

    /// Starts a server with these variables.
    fn start_with(home: &Home, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = home.command(["serve", "--port", "0"].iter().chain(args));
        command.env("AGBROWSE_SERVE_TOKEN", TOKEN).envs(variables.iter().copied());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let line = BufReader::new(child.stderr.take().unwrap()).lines().next().unwrap().unwrap();
        let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
        Self { child, address }
    }

    /// Sends a request as it is; returns the connection.
    fn send(&self, request: &str, headers: &[(&str, &str)], body: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let mut text = format!("{request} HTTP/1.1\r\nConnection: close\r\n");
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        // A server that refuses early may close before it has read everything.
        _ = stream.write_all(text.as_bytes()).and_then(|()| stream.write_all(body));
        stream
    }

    fn exchange(&self, request: &str, headers: &[(&str, &str)], body: &[u8]) -> HttpReply {
        let mut bytes = Vec::new();
        let mut stream = self.send(request, headers, body);
        // The rest of a refused body may reset the connection.
        _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8(bytes).unwrap();
        let (head, text) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text:?}"));
        let status = head[9..12].parse().unwrap();
        HttpReply { status, headers: format!("{}\r\n", head.to_lowercase()), text: text.to_owned() }
    }

    /// The headers of an admitted request.
    fn headers(&self) -> [(&str, &str); 3] {
        [
            ("Host", &self.address),
            ("Authorization", "Bearer token-of-the-tests"),
            ("Content-Type", "application/json"),
        ]
    }

    fn get(&self, path: &str) -> HttpReply {
        self.exchange(&format!("GET {path}"), &self.headers(), b"")
    }

    fn post(&self, body: impl AsRef<[u8]>) -> HttpReply {
        self.exchange("POST /api/command", &self.headers(), body.as_ref())
    }

    /// Starts a command; the connection gets its reply.
    fn begin(&self, command: &Value) -> TcpStream {
        self.send("POST /api/command", &self.headers(), command.to_string().as_bytes())
    }

    /// Runs a command that has to succeed; returns its envelope.
    fn run(&self, command: &Value) -> Value {
        let reply = self.post(command.to_string());
        assert_eq!(reply.status, 200, "{command}: {}", reply.text);
        reply.json()
    }

    /// Runs a command that has to fail; returns its response.
    fn fail(&self, command: &Value) -> HttpReply {
        let reply = self.post(command.to_string());
        assert_ne!(reply.status, 200, "{command}: {}", reply.text);
        reply
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

const SHOP: &str = "<title>Shop</title><h1>Tea</h1><label>Name <input id=name></label>
    <label>Colour <select id=colour><option>Red<option>Blue</select></label>
    <label><input type=checkbox id=gift>Gift</label>
    <button id=count onclick='this.textContent = \"Counted\"'>Count</button><button disabled>Closed</button>
    <p id=out>Nothing</p><div style='height:3000px'></div>
    <script>console.log('hello'); name_ = document.getElementById('name');
    name_.oninput = () => out.textContent = name_.value</script>";

/// A reply without what differs from run to run: the session, clocks, processes.
fn stable(mut envelope: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(map) => {
                for name in ["session", "document", "snapshotId", "dispatchedMs", "ms", "waitedMs"]
                {
                    map.remove(name);
                }
                map.values_mut().for_each(strip);
            }
            Value::Array(all) => all.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut envelope);
    envelope
}

#[test]
fn replies_equal_those_of_the_command_line() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    // The same commands in two fresh sessions.
    let server = Server::start(&home, &["--session", "http"]);
    let url = page(SHOP);
    let other = page("<title>Other</title>Other");
    let commands: &[(&[&str], Value)] = &[
        (&["open", &url], json!({ "verb": "open", "url": url })),
        (&["snapshot"], json!({ "verb": "snapshot" })),
        (
            &["snapshot", "--refs-only", "--nodes"],
            json!({ "verb": "snapshot", "refsOnly": true, "nodes": true }),
        ),
        (&["find", "Count"], json!({ "verb": "find", "text": "Count" })),
        (
            &["get", "value", "label=Colour"],
            json!({ "verb": "get", "what": "value", "target": "label=Colour" }),
        ),
        (
            &["can", "click", "text=Closed"],
            json!({ "verb": "can", "action": "click", "target": "text=Closed" }),
        ),
        (
            &["fill", "label=Name", "Ada"],
            json!({ "verb": "fill", "target": "label=Name", "value": "Ada" }),
        ),
        (
            &["select", "label=Colour", "Blue"],
            json!({ "verb": "select", "target": "label=Colour", "options": ["Blue"] }),
        ),
        (&["check", "label=Gift"], json!({ "verb": "check", "target": "label=Gift" })),
        (&["click", "text=Count"], json!({ "verb": "click", "target": "text=Count" })),
        (&["wait", "--text", "Counted"], json!({ "verb": "wait", "text": "Counted" })),
        (&["press", "Tab"], json!({ "verb": "press", "keys": ["Tab"] })),
        (&["scroll", "--to", "bottom"], json!({ "verb": "scroll", "to": "bottom" })),
        (
            &["eval", "({ a: [1, document.title] })"],
            json!({ "verb": "eval", "script": "({ a: [1, document.title] })" }),
        ),
        (&["console"], json!({ "verb": "console" })),
        (
            &[
                "batch",
                r#"{"verb":"eval","script":"1"}"#,
                r#"{"verb":"get","what":"text","target":"css=#out"}"#,
            ],
            json!({ "verb": "batch", "commands": [{ "verb": "eval", "script": "1" }, { "verb": "get", "what": "text", "target": "css=#out" }] }),
        ),
        (&["resize", "900", "700"], json!({ "verb": "resize", "width": 900, "height": 700 })),
        (&["screenshot", "a.webp"], json!({ "verb": "screenshot", "path": "a.webp" })),
        (
            &["storage", "save", "a.json"],
            json!({ "verb": "storage", "action": "save", "path": "a.json" }),
        ),
        (
            &["storage", "load", "a.json"],
            json!({ "verb": "storage", "action": "load", "path": "a.json" }),
        ),
        (&["tab", "new", &other], json!({ "verb": "tab", "action": "new", "url": other })),
        (&["tabs"], json!({ "verb": "tabs" })),
        (
            &["eval", "document.title", "--tab", "t1"],
            json!({ "verb": "eval", "script": "document.title", "tab": "t1" }),
        ),
        (&["tab", "close", "t2"], json!({ "verb": "tab", "action": "close", "id": "t2" })),
        (
            &["tab", "new", "--context", "ada"],
            json!({ "verb": "tab", "action": "new", "context": "ada" }),
        ),
        (&["close", "--context", "ada"], json!({ "verb": "close", "context": "ada" })),
        (&["reload", "--timeout", "20s"], json!({ "verb": "reload", "timeoutMs": 20000 })),
        (&["close"], json!({ "verb": "close" })),
    ];
    for (args, command) in commands {
        let ours = home.json(["--session", "line"].iter().chain(*args));
        let envelope = server.run(command);
        assert_eq!(envelope["session"], "http");
        assert_eq!(stable(envelope), stable(ours), "{args:?}");
    }
}

#[test]
fn errors_equal_those_of_the_command_line() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let server = Server::start(&home, &["--session", "work"]);
    // Before the session exists.
    let missing = server.fail(&json!({ "verb": "snapshot" }));
    assert_eq!(missing.code(), (404, "session.not-found".into()));
    assert_eq!(missing.error(), home.error(["--session", "work", "snapshot"]));

    let url = page("<title>Shop</title><button disabled>Closed</button><button>Two</button><button>Two</button>
        <button id=gone onclick='this.remove()'>Go</button>");
    server.run(&json!({ "verb": "open", "url": url }));
    let seen = server.run(&json!({ "verb": "snapshot" }));
    let seen = seen["result"]["text"].as_str().unwrap();
    let line =
        seen.lines().find(|line| line.contains("\"Go\"")).unwrap_or_else(|| panic!("{seen}"));
    let go = format!("@{}", line.split("[ref=@").nth(1).unwrap().split([']', ' ']).next().unwrap());
    server.run(&json!({ "verb": "click", "target": go }));
    let commands: &[(&[&str], Value, u16)] = &[
        (
            &["click", "text=Closed", "--no-wait"],
            json!({ "verb": "click", "target": "text=Closed", "noWait": true }),
            422,
        ),
        (&["click", "@e99"], json!({ "verb": "click", "target": "@e99" }), 404),
        (&["click", &go], json!({ "verb": "click", "target": go }), 409),
        (
            &["click", "text=Absent", "--no-wait"],
            json!({ "verb": "click", "target": "text=Absent", "noWait": true }),
            404,
        ),
        (
            &["click", "text=Two", "--no-wait"],
            json!({ "verb": "click", "target": "text=Two", "noWait": true }),
            409,
        ),
        (&["eval", "1", "--tab", "t9"], json!({ "verb": "eval", "script": "1", "tab": "t9" }), 404),
        (
            &["eval", "throw new Error('no')"],
            json!({ "verb": "eval", "script": "throw new Error('no')" }),
            422,
        ),
        (
            &["open", "http://127.0.0.1:9/"],
            json!({ "verb": "open", "url": "http://127.0.0.1:9/" }),
            502,
        ),
        (&["dialog", "accept"], json!({ "verb": "dialog", "answer": "accept" }), 409),
        (&["snapshot", "--root", "css=.no"], json!({ "verb": "snapshot", "root": "css=.no" }), 404),
        (&["open", "./no-such.html"], json!({ "verb": "open", "url": "./no-such.html" }), 422),
        (
            &["fill", "text=Two", "--secret", "NO_SUCH_SECRET"],
            json!({ "verb": "fill", "target": "text=Two", "secret": "NO_SUCH_SECRET" }),
            404,
        ),
        (&["screenshot", "x.gif"], json!({ "verb": "screenshot", "path": "x.gif" }), 400),
        (
            &["screenshot", "no/such/folder.png"],
            json!({ "verb": "screenshot", "path": "no/such/folder.png" }),
            500,
        ),
    ];
    for (args, command, status) in commands {
        let ours = home.error(["--session", "work"].iter().chain(*args));
        let reply = server.fail(command);
        assert_eq!(reply.status, *status, "{args:?}: {}", reply.text);
        let error = reply.error();
        for key in [
            "name",
            "errorCode",
            "stage",
            "message",
            "retryHint",
            "mutationAllowed",
            "selectorsTried",
        ] {
            assert_eq!(error[key], ours[key], "{args:?} {key}");
        }
        let keys =
            |error: &Value| -> Vec<String> { error.as_object().unwrap().keys().cloned().collect() };
        assert_eq!(keys(&error), keys(&ours), "{args:?}");
        let facts = |error: &Value| {
            error["evidence"].as_object().map(|it| it.keys().cloned().collect::<Vec<_>>())
        };
        assert_eq!(facts(&error), facts(&ours), "{args:?}");
    }
    let late = server.fail(&json!({ "verb": "wait", "text": "never", "timeoutMs": 100 }));
    let (status, code) = late.code();
    // On a loaded machine the page may not be looked at in time.
    assert!(status == 504 && ["wait.timeout", "page.unresponsive"].contains(&&*code), "{late:?}");
}

#[test]
fn malformed_requests_are_refused_with_the_field_or_position() {
    let home = Home::new();
    let server = Server::start(&home, &[]);
    for (body, part) in [
        ("", "the body is not JSON"),
        ("{\"verb\":\"tabs\",}", "at line 1 column 16"),
        ("[]", "the body is not a JSON object"),
        (r#"{"url":"about:blank"}"#, "`verb`: missing"),
        (r#"{"verb":"snapsht"}"#, "did you mean `snapshot`?"),
        (r#"{"verb":"click"}"#, "missing field `target`"),
        (r#"{"verb":"click","target":"@e1","nowait":true}"#, "did you mean `noWait`?"),
        (r#"{"verb":"click","target":"@e1","noWait":1}"#, "`noWait`: invalid type"),
        (r#"{"verb":"eval","script":"-"}"#, "standard input"),
        (r#"{"verb":"storage","action":"save"}"#, "name a file in `path`"),
        (r#"{"verb":"storage","action":"save","path":"-"}"#, "name a file"),
        (r#"{"verb":"tabs","timeoutMs":0}"#, "`timeoutMs`: expected milliseconds"),
        (r#"{"verb":"tabs","context":"../x"}"#, "`context`: expected up to 40"),
    ] {
        let reply = server.post(body);
        assert_eq!(reply.code(), (400, "command.invalid".into()), "{body}: {}", reply.text);
        let error = reply.error();
        assert!(error["message"].as_str().unwrap().contains(part), "{body}: {error}");
    }
    let position = server.post("{\n \"verb\": }").error();
    assert_eq!(
        (&position["evidence"]["line"], &position["evidence"]["column"]),
        (&json!(2), &json!(10))
    );
    let deep = "[".repeat(100_000);
    assert_eq!(server.post(deep).status, 400);
    assert_eq!(server.post(b"\xff\xfe").status, 400);

    assert_eq!(server.get("/api/commands").code(), (404, "command.invalid".into()));
    assert_eq!(server.get("/").code().0, 404);
    let reply = server.get("/api/command");
    assert_eq!(reply.code(), (405, "command.invalid".into()));
    assert!(reply.headers.contains("allow: post\r\n"), "{reply:?}");
    assert_eq!(server.exchange("DELETE /healthz", &server.headers(), b"").code().0, 405);
    let [host, token, _] = server.headers();
    for media_type in
        [None, Some("text/plain"), Some("application/x-www-form-urlencoded"), Some("")]
    {
        let media_type = media_type.map(|it| ("Content-Type", it));
        let headers: Vec<_> = [host, token].into_iter().chain(media_type).collect();
        let reply = server.exchange("POST /api/command", &headers, br#"{"verb":"tabs"}"#);
        assert_eq!(reply.code().0, 415, "{media_type:?}");
    }
    let headers = [host, token, ("Content-Type", "Application/JSON; charset=utf-8")];
    let reply = server.exchange("POST /api/command", &headers, br#"{"verb":"sessions"}"#);
    assert_eq!(reply.code().0, 400, "a command of the program is no verb");
    let large = vec![b' '; (16 << 20) + 1];
    assert_eq!(server.post(large).code(), (413, "daemon.frame-too-large".into()));
}

#[test]
fn token_host_and_origin_are_required() {
    let home = Home::new();
    let mut server = Server::start(&home, &["--allow-origin", "https://good.example"]);
    let address = server.address.clone();
    let host = ("Host", &*address);
    let token = ("Authorization", "Bearer token-of-the-tests");
    let openapi = |headers: &[(&str, &str)]| server.exchange("GET /api/openapi.json", headers, b"");
    assert_eq!(openapi(&[host, token]).status, 200);
    let missing = openapi(&[host]);
    assert_eq!(missing.code(), (401, "access.denied".into()));
    assert!(missing.headers.contains("www-authenticate: bearer\r\n"), "{missing:?}");
    assert_eq!(openapi(&[host, ("Authorization", "Bearer other")]).code().0, 403);
    assert_eq!(openapi(&[("Host", "evil.example"), token]).code().0, 403);
    assert_eq!(openapi(&[host, token, ("Origin", "https://evil.example")]).code().0, 403);
    let good = openapi(&[host, token, ("Origin", "https://good.example")]);
    assert!(
        good.headers.contains("access-control-allow-origin: https://good.example\r\n"),
        "{good:?}"
    );
    // Unknown paths tell a stranger nothing.
    assert_eq!(server.exchange("GET /secret", &[host], b"").status, 401);

    let health = |headers: &[(&str, &str)]| server.exchange("GET /healthz", headers, b"");
    let alive = json!({ "ok": true, "version": env!("CARGO_PKG_VERSION"), "session": "default" });
    assert_eq!(health(&[host]).json(), alive);
    assert_eq!(health(&[("Host", "evil.example")]).code(), (403, "access.denied".into()));
    assert_eq!(health(&[host, ("Origin", "https://evil.example")]).status, 403);
    assert_eq!(server.exchange("HEAD /healthz", &[host], b"").status, 200);
    assert_eq!(server.exchange("POST /healthz", &[host], b"").status, 401);
    assert_eq!(home.ok(["sessions"]), "no sessions", "a health check starts nothing");
    server.child.kill().unwrap();

    let mut command = home.command(["serve", "0"]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.starts_with("serving commands at http://127.0.0.1:"), "{first}");
    let second = lines.next().unwrap().unwrap();
    assert!(second.strip_prefix("token: ").is_some_and(|it| it.len() > 30), "{second}");
    child.kill().unwrap();
    child.wait().unwrap();
    for wrong in [
        &["serve", "0.0.0.0:0"][..],
        &["serve", "--bind", "0.0.0.0"],
        &["serve", "here"],
        &["serve", "0", "--port", "0"],
        &["serve", "--port", "66000"],
    ] {
        let done = home.run(wrong);
        assert_eq!(done.code(), 2, "{wrong:?}: {}", done.err());
    }
}

#[test]
fn client_that_disconnects_cancels_its_command() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let server = Server::start(&home, &[]);
    server.run(
        &json!({ "verb": "open", "url": page("<button onclick='document.title = 1'>Go</button>") }),
    );
    let is_busy = || server.run(&json!({ "verb": "tabs" }))["result"]["tabs"][0]["busy"] == true;
    for end in [Shutdown::Both, Shutdown::Write] {
        let waiting =
            server.begin(&json!({ "verb": "wait", "text": "never", "timeoutMs": 600_000 }));
        wait_until("the command has its turn", LIMIT, is_busy);
        waiting.shutdown(end).unwrap();
        wait_until("the command is cancelled", LIMIT, || !is_busy());
        drop(waiting);
        let clicked = server.run(&json!({ "verb": "click", "target": "text=Go" }));
        assert_eq!(clicked["verb"], "click", "{clicked}");
    }
    // A script that never ends is terminated.
    let looping =
        server.begin(&json!({ "verb": "eval", "script": "for (;;);", "timeoutMs": 600_000 }));
    wait_until("the script runs", LIMIT, is_busy);
    drop(looping);
    wait_until("the script is terminated", LIMIT, || !is_busy());
    assert_eq!(server.run(&json!({ "verb": "eval", "script": "6 * 7" }))["result"]["value"], 42);
}

#[test]
fn dialog_is_answered_while_other_commands_wait() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let server = Server::start(&home, &[]);
    server.run(&json!({ "verb": "open", "url": page("<title>Ask</title>") }));
    server.run(&json!({ "verb": "tab", "action": "new" }));
    let elsewhere = json!({ "verb": "wait", "text": "never", "tab": "t2", "timeoutMs": 600_000 });
    let _waiting: Vec<TcpStream> = (0..8).map(|_| server.begin(&elsewhere)).collect();
    // The dialog opens under a command that has the turn on its tab.
    let later = "setTimeout(() => { document.title = prompt('Name?') }, 700); 1";
    server.run(&json!({ "verb": "eval", "script": later, "tab": "t1" }));
    let mut here =
        server.begin(&json!({ "verb": "wait", "fn": "document.title === 'Ada'", "tab": "t1" }));
    let answer = json!({ "verb": "dialog", "answer": "accept", "text": "Ada", "tab": "t1" });
    let mut answered = Value::Null;
    wait_until("the dialog is open", LIMIT, || {
        let reply = server.post(answer.to_string());
        answered = reply.json();
        reply.status == 200
    });
    assert_eq!(answered["result"]["accepted"], true, "{answered}");
    let mut text = String::new();
    here.read_to_string(&mut text).unwrap();
    // The command learns of the dialog, unless the answer was faster.
    assert!(text.starts_with("HTTP/1.1 200") || text.contains("page.dialog-open"), "{text}");
    let title = server.run(&json!({ "verb": "eval", "script": "document.title", "tab": "t1" }));
    assert_eq!(title["result"]["value"], "Ada");
}

#[test]
fn twenty_clients_get_their_own_replies() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let server = &Server::start(&home, &[]);
    server.run(&json!({ "verb": "open", "url": "about:blank" }));
    std::thread::scope(|scope| {
        for number in 0..20 {
            scope.spawn(move || {
                let url = page(&format!("<title>Page {number}</title>"));
                let opened = server.run(&json!({ "verb": "tab", "action": "new", "url": url, "timeoutMs": 120_000 }));
                let tab = &opened["result"]["id"];
                for round in 0..5 {
                    let script = format!("document.title + ' {round}'");
                    let reply = server.run(&json!({ "verb": "eval", "script": script, "tab": tab, "timeoutMs": 120_000 }));
                    assert_eq!(reply["result"]["value"], format!("Page {number} {round}"));
                    assert_eq!(reply["tab"], *tab);
                }
            });
        }
    });
    let tabs = server.run(&json!({ "verb": "tabs" }));
    assert_eq!(tabs["result"]["tabs"].as_array().unwrap().len(), 21);
}

#[test]
fn file_is_inline_unless_a_path_is_named() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let server = Server::start(&home, &[]);
    server.run(&json!({ "verb": "open", "url": page("<h1>Picture</h1>") }));
    let files = || -> Vec<String> {
        let entries = std::fs::read_dir(home.path("project")).unwrap();
        entries.map(|it| it.unwrap().file_name().to_string_lossy().into_owned()).collect()
    };
    for (command, media_type, magic) in [
        (json!({ "verb": "screenshot" }), "image/png", &b"\x89PNG"[..]),
        (json!({ "verb": "screenshot", "path": "-" }), "image/png", b"\x89PNG"),
        (json!({ "verb": "screenshot", "format": "webp" }), "image/webp", b"RIFF"),
        (
            json!({ "verb": "screenshot", "format": "jpeg", "target": "text=Picture" }),
            "image/jpeg",
            b"\xff\xd8",
        ),
        (json!({ "verb": "pdf" }), "application/pdf", b"%PDF"),
    ] {
        let envelope = server.run(&command);
        assert_eq!(envelope["file"]["mediaType"], media_type, "{command}");
        let data = envelope["file"]["base64"].as_str().unwrap();
        let data = base64::engine::general_purpose::STANDARD.decode(data).unwrap();
        assert!(data.starts_with(magic), "{command}");
        assert_eq!(envelope["result"]["bytes"], data.len(), "{command}");
        assert!(envelope["result"].get("path").is_none(), "{envelope}");
    }
    assert_eq!(files(), Vec::<String>::new());
    let saved = server.run(&json!({ "verb": "screenshot", "path": "shot.png" }));
    assert!(saved.get("file").is_none() && saved["result"]["path"] == "shot.png", "{saved}");
    assert!(std::fs::read(home.path("project/shot.png")).unwrap().starts_with(b"\x89PNG"));
    // Other replies have no file.
    assert!(server.run(&json!({ "verb": "tabs" })).get("file").is_none());
}

#[test]
fn secret_of_the_server_is_typed_and_masked() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let server = Server::start_with(&home, &[], &[("SHOP_PASSWORD", "pa55-phrase-xyz")]);
    server.run(&json!({ "verb": "open", "url": page(SHOP) }));
    let filled =
        server.run(&json!({ "verb": "fill", "target": "label=Name", "secret": "SHOP_PASSWORD" }));
    let echoed = server.run(&json!({ "verb": "get", "what": "text", "target": "css=#out" }));
    let seen = server.run(&json!({ "verb": "snapshot" }));
    let thrown =
        server.fail(&json!({ "verb": "eval", "script": "throw new Error(out.textContent)" }));
    for reply in [filled, echoed, seen, thrown.json()] {
        assert!(!reply.to_string().contains("pa55-phrase-xyz"), "{reply}");
    }
    let length = server.run(&json!({ "verb": "eval", "script": "out.textContent.length" }));
    assert_eq!(length["result"]["value"], 15, "{length}");
}

#[test]
fn server_stops_on_signal_and_cancels_commands() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let mut server = Server::start(&home, &[]);
    server.run(&json!({ "verb": "open", "url": page("<title>Stays</title>") }));
    let _waiting = server.begin(&json!({ "verb": "wait", "text": "never", "timeoutMs": 600_000 }));
    let is_busy = || home.json(["tabs"])["result"]["tabs"][0]["busy"] == true;
    wait_until("the command has its turn", LIMIT, is_busy);
    Command::new("kill").args(["-TERM", &server.child.id().to_string()]).status().unwrap();
    let mut status = None;
    wait_until("the server stops", LIMIT, || {
        status = server.child.try_wait().unwrap();
        status.is_some()
    });
    assert!(status.unwrap().success(), "{status:?}");
    wait_until("the command is cancelled", LIMIT, || !is_busy());
    // The session outlives the server.
    assert_eq!(home.ok(["eval", "document.title"]), "Stays");
}

/// The Python interpreter with the validator that `./dev test` installs.
fn python() -> Option<PathBuf> {
    let python = std::env::var_os("AGBROWSE_MCP_PYTHON").map(PathBuf::from);
    let has_validator = |python: &PathBuf| {
        let import = Command::new(python).args(["-c", "import openapi_spec_validator"]).output();
        import.is_ok_and(|done| done.status.success())
    };
    let found = python.filter(has_validator);
    if found.is_none() {
        println!(
            "skipped: `./dev test` gets the validator and says where it is (AGBROWSE_MCP_PYTHON)"
        );
    }
    found
}

#[test]
fn openapi_description_is_valid_and_describes_the_replies() {
    let home = Home::new();
    let server = Server::start(&home, &[]);
    let document = server.get("/api/openapi.json").json();
    let verbs = document["components"]["schemas"]["Command"]["discriminator"]["mapping"].clone();
    let verbs: Vec<&str> = verbs.as_object().unwrap().keys().map(String::as_str).collect();
    let mut names = browser::Command::NAMES.to_vec();
    names.sort_unstable();
    assert_eq!(verbs, names);
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let request = format!("{} {path}", method.to_uppercase());
            let reply = server.exchange(&request, &server.headers(), b"{}");
            assert!(![404, 405].contains(&reply.status), "{request}: {reply:?}");
        }
    }
    let Some(python) = python() else { return };
    let mut values = Vec::new();
    let mut check = |schema: &str, value: &Value, valid: bool| {
        values.push(json!({ "schema": schema, "value": value, "valid": valid }));
    };
    check("Health", &server.get("/healthz").json(), true);
    for wrong in [
        json!({ "verb": "clik" }),
        json!({ "verb": "click" }),
        json!({ "verb": "tabs", "all": true }),
        json!({ "verb": "tab", "action": "switch", "url": "x" }),
        json!({ "verb": "tabs", "timeoutMs": 0 }),
        json!({ "verb": "click", "target": "@e1", "noWait": 1 }),
    ] {
        check("Command", &wrong, false);
        check("ErrorEnvelope", &server.fail(&wrong).json(), true);
    }
    check("ErrorEnvelope", &server.get("/none").json(), true);
    if has_browser() {
        for command in [
            json!({ "verb": "open", "url": page(SHOP), "timeoutMs": 60_000 }),
            json!({ "verb": "snapshot" }),
            json!({ "verb": "snapshot", "nodes": true, "boxes": true }),
            json!({ "verb": "snapshot", "delta": true }),
            json!({ "verb": "find", "text": "Count" }),
            json!({ "verb": "get", "what": "box", "target": "text=Count" }),
            json!({ "verb": "can", "action": "click", "target": "text=Closed" }),
            json!({ "verb": "fill", "target": "label=Name", "value": "Ada" }),
            json!({ "verb": "fill-form", "fields": [{ "target": "label=Name", "value": "Bob" }] }),
            json!({ "verb": "click", "target": "text=Count", "modifiers": ["control"] }),
            json!({ "verb": "wait", "text": "Counted" }),
            json!({ "verb": "eval", "script": "[1, { a: null }]", "context": null }),
            json!({ "verb": "eval", "script": "NaN" }),
            json!({ "verb": "console" }),
            json!({ "verb": "requests" }),
            json!({ "verb": "batch", "commands": [{ "verb": "tabs" }, { "verb": "eval", "script": "1" }] }),
            json!({ "verb": "screenshot" }),
            json!({ "verb": "storage", "action": "save", "path": "state.json" }),
            json!({ "verb": "storage", "action": "load", "state": { "cookies": [], "origins": [], "other": 1 } }),
            json!({ "verb": "tab", "action": "new", "url": "about:blank" }),
            json!({ "verb": "tabs", "tab": null }),
            json!({ "verb": "status" }),
            json!({ "verb": "close" }),
        ] {
            check("Command", &command, true);
            check("ReplyEnvelope", &server.run(&command), true);
        }
        for command in [
            json!({ "verb": "click", "target": "@e1" }),
            json!({ "verb": "open", "url": "http://127.0.0.1:9/" }),
            json!({ "verb": "eval", "script": "throw 1" }),
        ] {
            check("Command", &command, true);
            check("ErrorEnvelope", &server.fail(&command).json(), true);
        }
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/openapi/check.py");
    let mut checker = Command::new(python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let input = json!({ "document": document, "values": values }).to_string();
    checker.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let done = checker.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
}

/// The blocks of a document in this language.
fn blocks<'d>(document: &'d str, language: &str) -> Vec<&'d str> {
    let opening = format!("\n```{language}\n");
    let parts = document.split(&*opening).skip(1);
    parts.map(|part| part.split("\n```").next().unwrap()).collect()
}

/// Whether a text is as expected, where `…` stands for anything.
fn is_like(text: &str, expected: &str) -> bool {
    let parts: Vec<&str> = expected.split('…').map(str::trim).collect();
    let [first, .., last] = &*parts else { return text == expected };
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    for part in &parts[1..] {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    text.ends_with(last)
}

#[test]
fn every_curl_line_of_the_document_does_what_it_says() {
    if !has_browser() {
        return;
    }
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/serve.md");
    let document = std::fs::read_to_string(document).unwrap();
    let home = Home::new();
    std::fs::write(home.path("project/form.html"), blocks(&document, "html")[0]).unwrap();
    let server = Server::start(&home, &[]);
    let mut seen = 0;
    for example in blocks(&document, "console").iter().flat_map(|block| block.split("\n\n")) {
        let (line, expected) = example.split_once('\n').unwrap();
        let line = line.strip_prefix("$ ").unwrap_or_else(|| panic!("{line}"));
        assert!(line.starts_with("curl "), "{line}");
        let done = Command::new("sh")
            .args(["-c", &line.replace("127.0.0.1:8932", &server.address)])
            .env("AUTH", format!("Authorization: Bearer {TOKEN}"))
            .current_dir(home.path("project"))
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&done.stdout);
        assert!(is_like(text.trim_end(), expected.trim_end()), "{line}\n{expected}\n{text}");
        seen += 1;
    }
    assert_eq!(seen, document.matches("\n$ curl ").count());
    assert!(seen > 10, "{seen}");
    assert!(home.path("project/form.pdf").exists());
}

#[test]
fn expected_text_has_gaps() {
    assert!(is_like("{\"a\":1,\"b\":2}", "{…\"b\":2}"));
    assert!(is_like("abc", "abc") && is_like("abc", "a…") && is_like("abc", "…"));
    assert!(!is_like("abc", "a…d") && !is_like("abc", "b…") && !is_like("abcd", "abc"));
}
