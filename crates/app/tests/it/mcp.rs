//! The MCP server, as seen by clients. `tests/mcp/drive.py` runs every scenario of the specification with a
//! third-party client; here are protocol revisions, invalid input, limits and cost.

use crate::fidelity::runtime;
use crate::sandbox::{Home, has_browser};
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ElicitRequestParams,
    ElicitResult, ElicitationAction, ElicitationCapability, Implementation, ProtocolVersion,
};
use rmcp::service::{RequestContext, RunningService};
use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient, ServiceExt,
};
use rustix::event::{PollFd, PollFlags};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(60);

/// A client that exchanges raw lines, valid or not.
pub(crate) struct RawClient {
    child: Child,
    input: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
    last: u64,
    aside: Vec<Value>,
}

impl RawClient {
    pub(crate) fn start(home: &Home, args: &[&str]) -> Self {
        let mut command = home.command(["mcp"].iter().chain(args));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, input, lines, last: 0, aside: Vec::new() }
    }

    /// Starts a client and initializes the session.
    pub(crate) fn initialized(home: &Home, args: &[&str]) -> Self {
        let mut raw = Self::start(home, args);
        raw.initialize();
        raw
    }

    pub(crate) fn initialize(&mut self) {
        self.initialize_with(&json!({}));
    }

    /// Initializes the session with these client capabilities.
    pub(crate) fn initialize_with(&mut self, capabilities: &Value) {
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": { "name": "raw", "version": "1" } });
        let answer = self.request("initialize", &hello);
        assert_eq!(answer["result"]["serverInfo"]["name"], "agbrowse", "{answer}");
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> bool {
        let Some(input) = &mut self.input else { return false };
        input.write_all(bytes).and_then(|()| input.flush()).is_ok()
    }

    pub(crate) fn send(&mut self, message: &Value) {
        assert!(self.write(format!("{message}\n").as_bytes()), "the server has exited");
    }

    pub(crate) fn send_request(&mut self, method: &str, params: &Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    pub(crate) fn start_call(&mut self, tool: &str, arguments: &Value) -> u64 {
        self.send_request("tools/call", &json!({ "name": tool, "arguments": arguments }))
    }

    pub(crate) fn response(&mut self, id: u64) -> Value {
        let is_it = |message: &Value| message["id"] == id && message.get("method").is_none();
        if let Some(at) = self.aside.iter().position(is_it) {
            return self.aside.remove(at);
        }
        let until = Instant::now() + LIMIT;
        loop {
            let line = self.lines.recv_timeout(until.saturating_duration_since(Instant::now()));
            let message: Value = serde_json::from_str(&line.expect("a response in time")).unwrap();
            if is_it(&message) {
                return message;
            }
            self.aside.push(message);
        }
    }

    /// The next server request of this method, or the response to a call if that comes first.
    pub(crate) fn request_or_response(&mut self, method: &str, id: u64) -> Value {
        let until = Instant::now() + LIMIT;
        loop {
            let line = self.lines.recv_timeout(until.saturating_duration_since(Instant::now()));
            let message: Value = serde_json::from_str(&line.expect("a message in time")).unwrap();
            let is_answer = message["id"] == id && message.get("method").is_none();
            if message["method"] == method || is_answer {
                return message;
            }
            self.aside.push(message);
        }
    }

    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send_request(method, params);
        self.response(id)
    }

    /// Calls a tool; returns the text of its reply and whether it is an error.
    pub(crate) fn call_tool(&mut self, tool: &str, arguments: &Value) -> (String, bool) {
        let id = self.start_call(tool, arguments);
        reply_text(&self.response(id))
    }

    fn memory_kb(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }

    /// Closes the input and waits until the server has exited.
    pub(crate) fn close(mut self) {
        self.input = None;
        let until = Instant::now() + LIMIT;
        while self.child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < until, "the server outlives its client");
            std::thread::yield_now();
        }
    }
}

impl Drop for RawClient {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

pub(crate) fn reply_text(answer: &Value) -> (String, bool) {
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
    (text.to_owned(), result["isError"] == true)
}

/// The `data:` URL of a page with this markup.
pub(crate) fn page(html: &str) -> String {
    let html: String = html.bytes().map(|byte| format!("%{byte:02x}")).collect();
    format!("data:text/html,{html}")
}

const COUNTER: &str = "<title>Counter</title><h1 id=n>0</h1><button onclick='n.textContent = +n.textContent + 1'>Count</button>";

/// The ref in the line with this text.
pub(crate) fn ref_of(text: &str, what: &str) -> String {
    let line = text.lines().find(|line| line.contains(what) && line.contains("[ref="));
    let line = line.unwrap_or_else(|| panic!("no {what:?} in {text}"));
    line.split("[ref=").nth(1).unwrap().split(']').next().unwrap().to_owned()
}

#[test]
fn tool_list_is_short() {
    let home = Home::new();
    for (caps, most) in [(&[][..], 1500), (&["--caps", "all"], 4000)] {
        let mut raw = RawClient::initialized(&home, caps);
        let answer = raw.request("tools/list", &json!({}));
        let text = answer["result"].to_string();
        let tokens = tiktoken_rs::o200k_base().unwrap().encode_ordinary(&text).len();
        println!("{} tools, {tokens} tokens", answer["result"]["tools"].as_array().unwrap().len());
        assert!(tokens <= most, "{tokens} tokens: {text}");
        raw.close();
    }
}

#[test]
fn rmcp_clients_of_three_protocol_revisions_are_served() {
    if !has_browser() {
        return;
    }
    let ways = [
        (ClientLifecycleMode::Initialize, ProtocolVersion::V_2024_11_05),
        (ClientLifecycleMode::Initialize, ProtocolVersion::V_2025_06_18),
        (
            ClientLifecycleMode::Discover {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            },
            ProtocolVersion::V_2026_07_28,
        ),
    ];
    let home = Home::new();
    runtime().block_on(async {
        for (lifecycle, version) in ways {
            let person = Approver { version: version.clone(), ..Approver::default() };
            let (client, mut child) = serve(&home, &[], person, lifecycle).await;
            let tools = client.list_all_tools().await.unwrap();
            assert!(tools.iter().any(|tool| tool.name == "browser_can"), "{version}");
            let there = call(&client, "browser_navigate", json!({ "url": page(COUNTER) })).await;
            assert!(text_of(&there).contains("arrived"), "{version}: {}", text_of(&there));
            let count = ref_of(&text_of(&there), "\"Count\"");
            let clicked = call(&client, "browser_click", json!({ "ref": count })).await;
            let text = text_of(&clicked);
            assert!(text.contains("changed") && text.contains("\"1\""), "{version}: {text}");
            assert_eq!(clicked.structured_content.as_ref().unwrap()["effect"], "changed");
            client.cancel().await.unwrap();
            child.wait().await.unwrap();
        }
    });
}

/// A client handler with a fixed answer to elicitation requests.
#[derive(Clone, Default)]
struct Approver {
    version: ProtocolVersion,
    /// The answer; `None` for a client without elicitation.
    says: Option<bool>,
    asked: Arc<AtomicUsize>,
}

impl ClientHandler for Approver {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = self.says.map(|_| ElicitationCapability::default());
        let mut info = ClientConfig::new(capabilities, Implementation::new("person", "1"));
        info.protocol_version = self.version.clone();
        info
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, .. } = request else {
            panic!("not a form");
        };
        assert!(message.contains("browser_press_key"), "{message}");
        self.asked.fetch_add(1, Ordering::Relaxed);
        let mut answer = ElicitResult::new(ElicitationAction::Accept);
        answer.content = Some(json!({ "allow": self.says }));
        Ok(answer)
    }
}

type Client = RunningService<RoleClient, Approver>;

async fn serve(
    home: &Home,
    args: &[&str],
    person: Approver,
    lifecycle: ClientLifecycleMode,
) -> (Client, tokio::process::Child) {
    let mut command = tokio::process::Command::from(home.command(["mcp"].iter().chain(args)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let pipes = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let client = match lifecycle {
        ClientLifecycleMode::Initialize => person.serve(pipes).await.unwrap(),
        other => person.serve_with_lifecycle(pipes, other).await.unwrap(),
    };
    (client, child)
}

async fn call(client: &Client, tool: &'static str, arguments: Value) -> CallToolResult {
    let arguments = arguments.as_object().unwrap().clone();
    client.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await.unwrap()
}

fn text_of(result: &CallToolResult) -> String {
    result.content[0].as_text().unwrap().text.clone()
}

#[test]
fn sensitive_tools_require_user_approval() {
    if !has_browser() {
        return;
    }
    let old = || (ClientLifecycleMode::Initialize, ProtocolVersion::V_2025_06_18);
    let new = || {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        (ClientLifecycleMode::Discover { preferred_versions }, ProtocolVersion::V_2026_07_28)
    };
    let home = Home::new();
    runtime().block_on(async {
        for way in [old, new] {
            for (says, expected) in [
                (Some(true), "press"),
                (Some(false), "error ask.declined"),
                (None, "error ask.unavailable"),
            ] {
                let (lifecycle, version) = way();
                let person = Approver { version: version.clone(), says, ..Approver::default() };
                let asked = person.asked.clone();
                let args = ["--ask", "browser_press_key"];
                let (client, mut child) = serve(&home, &args, person, lifecycle).await;
                let pressed = call(&client, "browser_press_key", json!({ "key": "a" })).await;
                let text = text_of(&pressed);
                assert!(text.contains(expected), "{version} {says:?}: {text}");
                assert_eq!(asked.load(Ordering::Relaxed), usize::from(says.is_some()), "{version}");
                // Other tools need no approval.
                call(&client, "browser_tabs", json!({ "action": "list" })).await;
                assert_eq!(asked.load(Ordering::Relaxed), usize::from(says.is_some()));
                client.cancel().await.unwrap();
                child.wait().await.unwrap();
            }
        }
    });
}

#[test]
fn cancelled_call_stops_at_once_and_is_reported() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let mut raw = RawClient::initialized(&home, &[]);
    raw.call_tool("browser_navigate", &json!({ "url": page(COUNTER) }));
    for (tool, arguments) in [
        ("browser_wait_for", json!({ "time": 50 })),
        ("browser_wait_for", json!({ "text": "never there" })),
    ] {
        let id = raw.start_call(tool, &arguments);
        // The call has started: the server answers other requests meanwhile.
        raw.request("ping", &json!({}));
        let began = Instant::now();
        raw.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
        let (text, is_error) = raw.call_tool("browser_snapshot", &json!({}));
        let took = began.elapsed();
        assert!(!is_error && text.contains("browser_wait_for was cancelled before"), "{text}");
        // The target is 100 ms; the limit leaves room for a loaded machine.
        assert!(took < Duration::from_millis(1000), "{took:?}");
        let (text, _) = raw.call_tool("browser_snapshot", &json!({}));
        assert!(!text.contains("cancelled"), "reported twice: {text}");
    }
    raw.close();
}

#[test]
fn progress_is_sent_when_requested() {
    let home = Home::new();
    let mut raw = RawClient::initialized(&home, &[]);
    let params = json!({ "name": "browser_wait_for", "arguments": { "time": 1.3 }, "_meta": { "progressToken": "p" } });
    raw.request("tools/call", &params);
    let reports = raw.aside.iter().filter(|it| it["method"] == "notifications/progress");
    let seconds: Vec<f64> = reports.map(|it| it["params"]["progress"].as_f64().unwrap()).collect();
    assert!(!seconds.is_empty() && seconds.is_sorted(), "{:?}", raw.aside);
    raw.close();
}

#[test]
fn hundred_concurrent_calls_get_their_own_replies() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let mut raw = RawClient::initialized(&home, &["--caps", "script"]);
    raw.call_tool("browser_navigate", &json!({ "url": page(COUNTER) }));
    let asked: Vec<(u64, u64)> = (0..100)
        .map(|n| {
            let function = format!(
                "async () => {{ await new Promise(r => setTimeout(r, {})); return 'it is {n}!' }}",
                n * 7 % 13
            );
            (n, raw.start_call("browser_evaluate", &json!({ "function": function })))
        })
        .collect();
    for (n, id) in asked {
        let (text, is_error) = reply_text(&raw.response(id));
        assert!(!is_error && text.contains(&format!("it is {n}!")), "{n}: {text}");
    }
    raw.close();
}

#[test]
fn client_disconnect_during_call_leaves_nothing() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let mut raw = RawClient::initialized(&home, &[]);
    raw.call_tool("browser_navigate", &json!({ "url": page(COUNTER) }));
    let session = format!("mcp-{}", raw.child.id());
    let browser = home.json(["--session", &session, "status"])["result"]["browser"]["pid"].clone();
    let browser = u32::try_from(browser.as_u64().unwrap()).unwrap();
    raw.start_call("browser_wait_for", &json!({ "time": 50 }));
    raw.child.kill().unwrap();
    let until = Instant::now() + LIMIT;
    while home.socket(&session).exists() || PathBuf::from(format!("/proc/{browser}")).exists() {
        assert!(Instant::now() < until, "the daemon or its browser outlives the server");
        std::thread::yield_now();
    }
    // Its files are removed last.
    let folder = home.socket(&session).parent().unwrap().to_owned();
    let is_left = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.unwrap().file_name().to_string_lossy().starts_with(&session)
    };
    while std::fs::read_dir(&folder).unwrap().any(is_left) {
        assert!(Instant::now() < until, "files are left in {}", folder.display());
        std::thread::yield_now();
    }
}

#[test]
fn dead_browser_is_replaced_with_note() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let mut raw = RawClient::initialized(&home, &[]);
    raw.call_tool("browser_navigate", &json!({ "url": page(COUNTER) }));
    let session = format!("mcp-{}", raw.child.id());
    let kill = |home: &Home| {
        let browser =
            home.json(["--session", &session, "status"])["result"]["browser"]["pid"].clone();
        Command::new("kill").args(["-9", &browser.to_string()]).status().unwrap();
        // A cached snapshot may be returned until the exit is noticed.
        let until = Instant::now() + LIMIT;
        while !home.json(["--session", &session, "status"])["result"]["browser"].is_null() {
            assert!(Instant::now() < until, "the end of the browser is not noticed");
        }
    };
    kill(&home);
    let (text, is_error) = raw.call_tool("browser_snapshot", &json!({}));
    assert!(
        is_error && text.contains("browser.lost") && text.contains("a new browser was started"),
        "{text}"
    );
    let (text, is_error) = raw.call_tool("browser_snapshot", &json!({}));
    assert!(!is_error && text.contains("no accessible content"), "{text}");
    kill(&home);
    let (text, is_error) = raw.call_tool("browser_navigate", &json!({ "url": page(COUNTER) }));
    assert!(!is_error && text.contains("arrived") && text.contains("note (restarted)"), "{text}");
    raw.close();
}

const FORM: &str = "<title>Form</title><label>Name <input></label><button onclick='document.title=1'>Send</button>\
    <select multiple aria-label=Many><option>One<option>Two</select>";

#[test]
fn malformed_and_hostile_calls_do_no_harm() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let mut raw = RawClient::initialized(&home, &["--caps", "script,network"]);
    let (seen, _) = raw.call_tool("browser_navigate", &json!({ "url": page(FORM) }));
    let (name, send) = (ref_of(&seen, "\"Name\""), ref_of(&seen, "\"Send\""));
    // Refs as models write them, and as they appear in a snapshot.
    for spelled in
        [format!("@{name}"), format!("[ref={name}]"), format!("- textbox \"Name\" [ref={name}]")]
    {
        let (text, _) = raw.call_tool("browser_hover", &json!({ "ref": spelled }));
        assert!(text.contains(&format!("hover textbox {name}:")), "{spelled}: {text}");
    }
    // Elements without options are refused, and the options of other elements are unchanged.
    for wrong in [&name, &send] {
        let (text, is_error) =
            raw.call_tool("browser_select_option", &json!({ "ref": wrong, "values": ["Two"] }));
        assert!(is_error && text.contains("act.no-option"), "{text}");
    }
    let chosen = json!({ "function": "() => document.title + document.querySelector('select').selectedOptions.length" });
    let (text, _) = raw.call_tool("browser_evaluate", &chosen);
    assert!(text.contains("Form0"), "{text}");
    // The reply names the action.
    let fields =
        json!({ "fields": [{ "ref": name, "value": "Ann" }, { "ref": "e999999", "value": "x" }] });
    let (text, is_error) = raw.call_tool("browser_fill_form", &fields);
    assert!(is_error && text.contains("the first 1 were done, the rest not"), "{text}");
    // A URL is not a script.
    let (text, is_error) =
        raw.call_tool("browser_navigate", &json!({ "url": "JavaScript:document.title='ran'" }));
    assert!(is_error && text.contains("command.invalid"), "{text}");
    let (text, _) =
        raw.call_tool("browser_evaluate", &json!({ "function": "() => document.title // now" }));
    assert!(text.contains("Form"), "{text}");
    // Environment variables are only available with the prefix of secrets.
    let (text, is_error) = raw.call_tool("browser_type", &json!({ "ref": name, "secret": "HOME" }));
    assert!(is_error && text.contains("AGBROWSE_SECRET_HOME"), "{text}");
    // An unknown context is refused.
    let (text, is_error) = raw.call_tool("browser_snapshot", &json!({ "context": "clena" }));
    assert!(is_error && text.contains("no context `clena`"), "{text}");
    // Console lines of a level and more severe ones.
    raw.call_tool(
        "browser_evaluate",
        &json!({ "function": "() => { console.log('logged'); console.warn('warned') }" }),
    );
    for (level, expected) in
        [("info", (true, true)), ("warning", (false, true)), ("error", (false, false))]
    {
        let (text, _) = raw.call_tool("browser_console_messages", &json!({ "level": level }));
        assert_eq!((text.contains("logged"), text.contains("warned")), expected, "{level}: {text}");
    }
    // A port without a listener.
    let ask = "() => fetch('http://127.0.0.1:9/asked').catch(() => 1)";
    raw.call_tool("browser_evaluate", &json!({ "function": ask }));
    let (text, _) = raw.call_tool("browser_network_requests", &json!({}));
    assert!(text.contains("/asked"), "{text}");
    raw.close();
}

#[test]
fn invalid_message_error_has_its_id() {
    let home = Home::new();
    let mut raw = RawClient::start(&home, &[]);
    // Messages before the first request are ignored.
    raw.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }));
    raw.send(&json!({ "jsonrpc": "2.0", "id": 7, "result": {} }));
    raw.initialize();
    for (wrong, code) in [
        (json!({ "jsonrpc": "2.0", "id": 100, "method": "tools/call", "params": "x" }), -32602),
        (
            json!({ "jsonrpc": "2.0", "id": 100, "method": "tools/call", "params": { "name": 5 } }),
            -32602,
        ),
        (json!({ "jsonrpc": "2.0", "id": 100, "method": "no/such" }), -32601),
        (json!({ "jsonrpc": "2.0", "id": 100, "method": 5 }), -32600),
    ] {
        raw.send(&wrong);
        assert_eq!(raw.response(100)["error"]["code"], code, "{wrong}");
    }
    // Arguments given as JSON text are accepted; two messages in one line are two.
    let find = json!({ "jsonrpc": "2.0", "id": 101, "method": "tools/call", "params": { "name": "browser_wait_for", "arguments": "{\"time\": 0.01}" } });
    raw.send(&json!([find, { "jsonrpc": "2.0", "id": 102, "method": "ping" }]));
    assert!(reply_text(&raw.response(101)).0.contains("waited"), "{:?}", raw.aside);
    assert!(raw.response(102)["result"].is_object());
    raw.close();
}

#[test]
fn client_that_does_not_read_gets_backpressure() {
    let home = Home::new();
    let mut command = home.command(["mcp"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    rustix::io::ioctl_fionbio(&input, true).unwrap();
    let ask = |id: u64| {
        format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list", "params": {} }))
    };
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "raw", "version": "1" } } });
    input.write_all(format!("{hello}\n").as_bytes()).unwrap();
    // A tool list has some kilobytes: a server that buffers this many would use some hundred megabytes.
    let until = Instant::now() + LIMIT;
    let second = rustix::event::Timespec { tv_sec: 1, tv_nsec: 0 };
    let mut sent = 0;
    while sent < 60_000 {
        if input.write(ask(sent + 1).as_bytes()).is_ok() {
            sent += 1;
        } else {
            let mut room = [PollFd::new(&input, PollFlags::OUT)];
            if rustix::event::poll(&mut room, Some(&second)).unwrap() == 0 {
                break;
            }
        }
        assert!(Instant::now() < until, "{sent} were taken in");
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kb: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kb < 64 << 10, "{kb} kB after {sent} requests");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn server_stops_on_signal_with_connected_client() {
    let home = Home::new();
    let mut raw = RawClient::initialized(&home, &[]);
    raw.request("ping", &json!({}));
    Command::new("kill").args(["-TERM", &raw.child.id().to_string()]).status().unwrap();
    let until = Instant::now() + LIMIT;
    while raw.child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < until, "the server does not stop");
        std::thread::yield_now();
    }
}

/// Seeded pseudo-random numbers.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// A message that is invalid in one of many ways, or valid by accident.
fn random_message(dice: &mut Dice) -> Vec<u8> {
    let method = [
        "tools/call",
        "tools/list",
        "initialize",
        "ping",
        "resources/read",
        "x",
        "",
        "notifications/cancelled",
        "logging/setLevel",
    ][dice.roll(9) as usize];
    let value = |dice: &mut Dice| match dice.roll(12) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(-1),
        3 => json!(1.5e300),
        4 => json!("\u{0}\u{202e}\u{fffd}"),
        5 => json!([]),
        6 => json!({}),
        7 => json!("browser_tabs"),
        8 => json!({ "name": "browser_tabs", "arguments": { "action": "list" } }),
        9 => json!({ "name": "browser_wait_for", "arguments": { "time": "soon" } }),
        10 => json!({ "name": "browser_handle_dialog", "arguments": [1] }),
        _ => json!(u64::MAX),
    };
    let mut message = match dice.roll(8) {
        0 => json!({ "jsonrpc": "2.0", "method": method, "params": value(dice) }),
        1 => json!({ "jsonrpc": value(dice), "id": value(dice), "method": method }),
        2 => json!({ "id": dice.roll(5), "method": value(dice), "params": value(dice) }),
        3 => json!([{ "jsonrpc": "2.0", "id": 1, "method": "ping" }, value(dice)]),
        4 => json!({ "jsonrpc": "2.0", "id": dice.roll(50), "result": value(dice) }),
        5 => json!({ "jsonrpc": "2.0", "id": dice.roll(50), "error": value(dice) }),
        _ => json!({ "jsonrpc": "2.0", "id": 1_000_000 + dice.roll(1000), "method": method, "params": value(dice) }),
    }
    .to_string()
    .into_bytes();
    match dice.roll(10) {
        0 => message.truncate(dice.roll(message.len() as u64 + 1) as usize),
        1 => {
            let at = dice.roll(message.len() as u64) as usize;
            message[at] = dice.roll(256) as u8;
        }
        2 => message = vec![b'['; 1 + dice.roll(5000) as usize],
        3 => message = (0..dice.roll(200)).map(|_| dice.roll(256) as u8).collect(),
        4 => message.extend(vec![b' '; dice.roll(100_000) as usize]),
        _ => {}
    }
    message.push(b'\n');
    message
}

/// Connections to the daemon that the server keeps.
const MOST_IDLE: usize = 4;

#[test]
fn torture_server_survives_protocol_violations() {
    let seed = match std::env::var("AGBROWSE_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => u64::from(std::process::id()),
    };
    let count = if std::env::var_os("AGBROWSE_SOAK").is_some() { 10_000 } else { 1_000 };
    println!("{count} messages, seed {seed}");
    let home = Home::new();
    let mut raw = RawClient::initialized(&home, &[]);
    let mut dice = Dice(seed);
    // Random messages have their own range of ids.
    raw.last = 1 << 40;
    // A first round, so that lasting allocations are made before memory is measured.
    for _ in 0..200 {
        assert!(raw.write(&random_message(&mut dice)), "the server has exited");
    }
    raw.request("ping", &json!({}));
    let (memory, descriptors) = (raw.memory_kb(), raw.descriptors());
    for n in 0..count {
        assert!(
            raw.write(&random_message(&mut dice)),
            "the server ended at message {n}, seed {seed}"
        );
        if n % 500 == 0 {
            raw.request("ping", &json!({}));
            raw.aside.clear();
        }
    }
    let tools = raw.request("tools/list", &json!({}));
    assert!(tools["result"]["tools"].as_array().is_some_and(|all| all.len() == 13), "{tools}");
    let (text, is_error) = raw.call_tool("browser_wait_for", &json!({ "time": 0 }));
    assert!(!is_error, "{text}");
    // Pending calls have some descriptors open, and so have the connections that are kept for the next calls.
    let until = Instant::now() + LIMIT;
    while raw.descriptors() > descriptors + 2 + MOST_IDLE {
        assert!(Instant::now() < until, "{} descriptors are left open", raw.descriptors());
        std::thread::yield_now();
    }
    let grown = raw.memory_kb().saturating_sub(memory);
    println!("{memory} kB before, {grown} kB more after; {} descriptors", raw.descriptors());
    assert!(grown < 4_000, "{grown} kB more than before");
    raw.close();
}

#[test]
fn half_closed_pipes_end_server() {
    let home = Home::new();
    // No message was sent.
    RawClient::start(&home, &[]).close();
    // In the middle of a message.
    let mut raw = RawClient::initialized(&home, &[]);
    assert!(raw.write(b"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"pi"));
    raw.close();
    // The client no longer reads.
    let mut command = home.command(["mcp"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    _ = input.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    drop(input);
    let until = Instant::now() + LIMIT;
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < until, "the server outlives its client");
        std::thread::yield_now();
    }
}

/// Starts a server over HTTP; returns its process, address and token.
pub(crate) fn http(home: &Home, args: &[&str]) -> (Child, String, String) {
    let mut command = home.command(["mcp", "--http", "0"].iter().chain(args));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut text = BufReader::new(child.stderr.take().unwrap()).lines();
    let address = text.next().unwrap().unwrap();
    let address = address.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    let token = text.next().unwrap().unwrap();
    let token = token.strip_prefix("token: ").unwrap().to_owned();
    (child, address, token)
}

/// The status of the response to a request.
fn status(address: &str, headers: &[(&str, &str)]) -> String {
    send(address, "POST", headers)[9..12].to_owned()
}

/// The headers of the response to `initialize`.
fn send(address: &str, method: &str, headers: &[(&str, &str)]) -> String {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "raw", "version": "1" } } });
    send_body(address, method, headers, &body)
}

/// The headers of the response to a request.
fn send_body(address: &str, method: &str, headers: &[(&str, &str)], body: &Value) -> String {
    let body = body.to_string();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let mut request = format!(
        "{method} /mcp HTTP/1.1\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n",
    );
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    stream.write_all(request.as_bytes()).unwrap();
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    let lines = lines.take_while(|line| !line.is_empty());
    lines.map(|line| line + "\r\n").collect()
}

#[test]
fn http_requires_token_host_and_origin() {
    let home = Home::new();
    let (mut child, address, token) = http(&home, &[]);
    let right = format!("Bearer {token}");
    let right = ("Authorization", right.as_str());
    let host = ("Host", address.as_str());
    assert_eq!(status(&address, &[host, right]), "200");
    assert_eq!(status(&address, &[host]), "401");
    assert_eq!(status(&address, &[host, ("Authorization", "Bearer wrong")]), "403");
    assert_eq!(status(&address, &[("Host", "evil.example"), right]), "403");
    assert_eq!(status(&address, &[host, right, ("Origin", "https://evil.example")]), "403");
    let local = ("Origin", "http://localhost:5173");
    assert_eq!(status(&address, &[host, right, local]), "200");
    // A CORS preflight has no token.
    let asks = ("Access-Control-Request-Method", "POST");
    let answer = send(&address, "OPTIONS", &[host, local, asks]);
    assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
    assert!(answer.contains("access-control-allow-origin: http://localhost:5173\r\n"), "{answer}");
    let answer = send(&address, "OPTIONS", &[host, ("Origin", "https://evil.example"), asks]);
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    assert!(!answer.contains("access-control-allow-origin"), "{answer}");
    child.kill().unwrap();
    child.wait().unwrap();
    for wrong in [
        &["mcp", "--http", "0.0.0.0:0"][..],
        &["mcp", "--http", "0", "--bind", "0.0.0.0"],
        &["mcp", "--http", "here"],
        &["mcp", "--ask", "browser_fly"],
    ] {
        let done = home.run(wrong);
        assert_eq!(done.code(), 2, "{wrong:?}: {}", done.err());
    }
}

#[test]
fn http_sessions_are_bounded_and_active_ones_survive() {
    let home = Home::new();
    let (mut child, address, token) = http(&home, &["--max-clients", "10"]);
    let bearer = format!("Bearer {token}");
    let headers = [("Host", &*address), ("Authorization", &*bearer)];
    let initialize = || {
        let answer = send(&address, "POST", &headers);
        let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        id.unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let post = |id: &str, body: Value| {
        let session = ("Mcp-Session-Id", id);
        let headers = [&headers[..], &[session]].concat();
        send_body(&address, "POST", &headers, &body)[9..12].to_owned()
    };
    let list = || json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {} });
    let begin = || {
        let id = initialize();
        post(&id, json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        assert_eq!(post(&id, list()), "200");
        id
    };
    let (active, idle) = (begin(), begin());
    let flood: Vec<String> = (0..200).map(|_| initialize()).collect();
    // Sessions without any request are evicted first.
    for id in [&active, &idle] {
        assert_eq!(post(id, list()), "200");
    }
    let alive = flood.iter().filter(|id| post(id, list()) != "404").count();
    assert_eq!(alive, 8, "ten, less the two that are in use");
    // The longest idle session is evicted next, and its client is told to initialize again.
    assert_eq!(post(&active, list()), "200");
    begin();
    assert_eq!(post(&idle, list()), "404");
    assert_eq!(post(&active, list()), "200");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn host_configurations_are_printed() {
    let home = Home::new();
    let program = env!("CARGO_BIN_EXE_agbrowse");
    for host in ["claude", "cursor"] {
        let snippet: Value = serde_json::from_str(&home.ok(["mcp", "config", host])).unwrap();
        assert_eq!(
            snippet["mcpServers"]["agbrowse"],
            json!({ "command": program, "args": ["mcp"] })
        );
    }
    let snippet: Value = serde_json::from_str(&home.ok(["mcp", "config", "vscode"])).unwrap();
    assert_eq!(snippet["servers"]["agbrowse"]["command"], program);
    let own = ["mcp", "--caps", "pdf,vision", "--max-tokens", "500", "config", "codex"];
    let snippet = home.ok(["--session", "work", "--viewport", "800x600"].iter().chain(&own));
    let snippet: toml::Table = snippet.parse().unwrap();
    let entry = &snippet["mcp_servers"]["agbrowse"];
    let args: Vec<&str> =
        entry["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
    assert_eq!(
        args.join(" "),
        "mcp --session work --viewport 800x600 --caps pdf,vision --max-tokens 500"
    );
}

#[test]
fn agent_guide_is_short_and_matches_build() {
    let guide = Home::new().ok(["skill"]);
    let tokens = tiktoken_rs::o200k_base().unwrap().encode_ordinary(&guide).len();
    println!("{tokens} tokens");
    assert!(tokens < 1000, "{tokens} tokens");
    assert!(
        guide.contains("## Runtime capabilities") && guide.contains("- `fill-form`:"),
        "{guide}"
    );
}

/// The Python interpreter with the client that `./dev test` installs.
fn python() -> Option<PathBuf> {
    match std::env::var_os("AGBROWSE_MCP_PYTHON") {
        Some(python) => Some(python.into()),
        None => {
            println!(
                "skipped: `./dev test` gets the client and says where it is (AGBROWSE_MCP_PYTHON)"
            );
            None
        }
    }
}

/// Runs each scenario over one of the two transports; in the long version over both.
fn run_python_scenarios(way: &str, half: &str) {
    let (true, Some(python)) = (has_browser(), python()) else { return };
    let root = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let driver = root.join("tests/mcp/drive.py");
    let mut command = Command::new(python);
    // -B: no bytecode is written beside the scripts.
    command.arg("-B").arg(driver).args([env!("CARGO_BIN_EXE_agbrowse"), way]);
    if std::env::var_os("AGBROWSE_SOAK").is_none() {
        command.args(["--half", half]);
    }
    assert!(command.status().unwrap().success());
}

#[test]
fn specification_holds_for_pythons_client_over_stdio() {
    run_python_scenarios("stdio", "0");
}

#[test]
fn specification_holds_for_pythons_client_over_http() {
    run_python_scenarios("http", "1");
}

/// Runs a method with the MCP Inspector; `None` where it is not installed.
fn run_inspector(home: &Home, method: &[&str]) -> Option<Value> {
    let Some(inspector) = std::env::var_os("AGBROWSE_MCP_INSPECTOR") else {
        println!("skipped: `./dev test` gets the inspector where Node can run it");
        return None;
    };
    let server = home.command(["mcp"]);
    let mut command = Command::new("node");
    for (name, value) in server.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.arg(inspector).arg("--cli").arg(server.get_program()).args(server.get_args());
    let done = command.arg("--method").args(method).output().unwrap();
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    Some(serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}{done:?}")))
}

#[test]
fn inspector_lists_and_calls_tools() {
    let home = Home::new();
    let Some(list) = run_inspector(&home, &["tools/list"]) else { return };
    let tools = list["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 13, "{list}");
    // Read-only tools need no approval by hosts.
    for tool in tools {
        let only_looks = tool["annotations"]["readOnlyHint"] == true;
        let is_known = ["browser_snapshot", "browser_can", "browser_wait_for"];
        assert_eq!(only_looks, is_known.iter().any(|name| tool["name"] == *name), "{tool}");
    }
    if !has_browser() {
        return;
    }
    let url = format!("url={}", page(COUNTER));
    let call = ["tools/call", "--tool-name", "browser_navigate", "--tool-arg", &url];
    let answer = run_inspector(&home, &call).unwrap();
    assert!(answer["content"][0]["text"].as_str().unwrap().contains("Count"), "{answer}");
}
