//! Compared tools from npm: their location, start and protocol.
//!
//! All get the same browser, the same window size and the same network: loopback.

use crate::contender::{Contender, Taken};
use crate::corpus::ONLY_LOOPBACK;
use crate::json_child::Peer;
use crate::{Error, Result, project, tool};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Hint for installing them.
pub const GET_RIVALS: &str =
    "npm install --prefix DIR @playwright/mcp chrome-devtools-mcp agent-browser, then --rivals DIR";

/// The packages that are searched for.
pub const PACKAGES: [&str; 3] = ["@playwright/mcp", "chrome-devtools-mcp", "agent-browser"];

/// The default window size of our browser.
const WINDOW: (u32, u32) = (1280, 720);

/// A folder of npm packages.
#[derive(Clone, Debug)]
pub struct Rivals {
    packages: PathBuf,
    chrome: PathBuf,
}

impl Rivals {
    /// Opens a folder of packages.
    ///
    /// # Errors
    /// When npm installed nothing there.
    pub fn at(prefix: &Path, chrome: &Path) -> Result<Self> {
        let packages = std::path::absolute(prefix)?.join("node_modules");
        if !packages.is_dir() {
            return Err(Error::WrongCall(format!(
                "there are no packages in `{}`: {GET_RIVALS}",
                prefix.display()
            )));
        }
        Ok(Self { packages, chrome: chrome.to_owned() })
    }

    /// Version of a package, if it is installed.
    pub fn version(&self, package: &str) -> Option<String> {
        #[derive(Deserialize)]
        struct Manifest {
            version: String,
        }
        let text = std::fs::read(self.packages.join(package).join("package.json")).ok()?;
        serde_json::from_slice::<Manifest>(&text).ok().map(|manifest| manifest.version)
    }

    /// The program that npm linked for a package.
    pub fn program(&self, name: &str) -> PathBuf {
        self.packages.join(".bin").join(name)
    }

    /// Starts one of our drivers, `bench/rivals/NAME`: calls a library in one Node process.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn driver(&self, name: &str) -> Result<Driver> {
        let (width, height) = WINDOW;
        let setting = json!({
            "packages": self.packages,
            "chrome": self.chrome,
            "args": [ONLY_LOOPBACK],
            "sandbox": !is_root(),
            "width": width,
            "height": height,
        });
        let (mut command, folder) = node(&project().join("bench/rivals").join(name))?;
        command.arg(setting.to_string());
        Ok(Driver(Peer::start(name, &mut command, folder)?))
    }

    /// Starts the server of `@playwright/mcp`.
    ///
    /// # Errors
    /// When it cannot be started or does not answer.
    pub fn playwright_mcp(&self) -> Result<Mcp> {
        let (mut command, folder) = self.playwright_command()?;
        Mcp::start(Server::Playwright, &mut command, folder)
    }

    /// Starts the server of `@playwright/mcp` for a running browser.
    ///
    /// # Errors
    /// As for [`Self::playwright_mcp`].
    pub fn playwright_mcp_at(&self, endpoint: &str) -> Result<Mcp> {
        let (mut command, folder) = node(&self.packages.join("@playwright/mcp/cli.js"))?;
        command.arg("--cdp-endpoint").arg(endpoint);
        Mcp::start(Server::Playwright, &mut command, folder)
    }

    /// Starts the server of `chrome-devtools-mcp` for a running browser.
    ///
    /// # Errors
    /// As for [`Self::devtools_mcp`].
    pub fn devtools_mcp_at(&self, endpoint: &str) -> Result<Mcp> {
        let program = "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js";
        let (mut command, folder) = node(&self.packages.join(program))?;
        command
            .args(["--no-usage-statistics", "--no-performance-crux", "--no-page-id-routing"])
            .arg(format!("--browserUrl={endpoint}"));
        Mcp::start(Server::DevTools, &mut command, folder)
    }

    fn playwright_command(&self) -> Result<(Command, TempDir)> {
        let (mut command, folder) = node(&self.packages.join("@playwright/mcp/cli.js"))?;
        let (width, height) = WINDOW;
        let config = json!({
            "browser": {
                "browserName": "chromium",
                "isolated": true,
                "launchOptions": {
                    "executablePath": self.chrome,
                    "headless": true,
                    "chromiumSandbox": !is_root(),
                    "args": [ONLY_LOOPBACK],
                },
                "contextOptions": { "viewport": { "width": width, "height": height } },
            },
            // By default it takes a snapshot with every other tool call, and the first would not be the
            // first.
            "snapshot": { "mode": "none" },
            "outputDir": folder.path(),
        });
        let path = folder.path().join("config.json");
        std::fs::write(&path, config.to_string())?;
        command.arg("--config").arg(path);
        Ok((command, folder))
    }

    /// Starts the server of `chrome-devtools-mcp`.
    ///
    /// # Errors
    /// When it cannot be started or does not answer.
    pub fn devtools_mcp(&self) -> Result<Mcp> {
        let program = "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js";
        let (mut command, folder) = node(&self.packages.join(program))?;
        let (width, height) = WINDOW;
        command
            .args(["--headless", "--isolated", "--no-usage-statistics", "--no-performance-crux"])
            // By default every call must name a page.
            .arg("--no-page-id-routing")
            .arg(format!("--viewport={width}x{height}"))
            .arg(format!("--executablePath={}", self.chrome.display()))
            .arg(format!("--chromeArg={ONLY_LOOPBACK}"));
        if is_root() {
            command.arg("--chromeArg=--no-sandbox");
        }
        Mcp::start(Server::DevTools, &mut command, folder)
    }
}

/// A command that runs a script in Node, in a folder of its own.
fn node(script: &Path) -> Result<(Command, TempDir)> {
    let folder = tempfile::Builder::new().prefix("agbench-").tempdir()?;
    let mut command = tool::minimal_command(Path::new("node"));
    command
        .arg(script)
        .current_dir(folder.path())
        .env("HOME", folder.path())
        .env("TMPDIR", folder.path());
    Ok((command, folder))
}

/// True for root, for whom Chromium has no sandbox.
pub fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// A library behind one of our drivers.
pub struct Driver(Peer);

impl Driver {
    fn request(&mut self, command: &DriverCommand<'_>) -> Result<Taken> {
        let DriverReply { ms, text, error } = self.0.request(command)?.body;
        match error {
            Some(error) => Err(Error::Failed(error)),
            None => Ok(Taken { ms: ms.unwrap_or_default(), text: text.unwrap_or_default() }),
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "do", rename_all = "lowercase")]
enum DriverCommand<'a> {
    Open { url: &'a str },
    Script { script: &'a str },
    Snapshot,
}

#[derive(Deserialize)]
struct DriverReply {
    ms: Option<f64>,
    text: Option<String>,
    error: Option<String>,
}

impl Contender for Driver {
    fn open(&mut self, url: &str) -> Result<()> {
        self.request(&DriverCommand::Open { url }).map(drop)
    }

    fn script(&mut self, script: &str) -> Result<()> {
        self.request(&DriverCommand::Script { script }).map(drop)
    }

    fn snapshot(&mut self) -> Result<Taken> {
        // The driver measures the time around the call alone.
        self.request(&DriverCommand::Snapshot)
    }
}

/// An MCP server over standard input and output.
pub struct Mcp {
    server: Server,
    peer: Peer,
    /// The tool list as JSON.
    pub schemas: String,
}

/// Kind of an MCP server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "`name` says what each is")]
pub enum Server {
    Ours,
    Playwright,
    DevTools,
    AgentBrowser,
}

impl Server {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ours => "agbrowse mcp",
            Self::Playwright => "@playwright/mcp",
            Self::DevTools => "chrome-devtools-mcp",
            Self::AgentBrowser => "agent-browser mcp",
        }
    }
}

/// Result of a tool call, or the error.
#[derive(Deserialize)]
struct Response {
    result: Option<ToolResult>,
    error: Option<RpcError>,
}

#[derive(Deserialize)]
struct RpcError {
    message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolResult {
    #[serde(default)]
    content: Vec<Content>,
    #[serde(default)]
    is_error: bool,
}

#[derive(Deserialize)]
struct Content {
    text: Option<String>,
}

impl Mcp {
    /// Starts and initializes a server.
    ///
    /// # Errors
    /// When it cannot be started or does not answer.
    pub fn start(server: Server, command: &mut Command, folder: TempDir) -> Result<Self> {
        let mut peer = Peer::start(server.name(), command, folder)?;
        let hello = json!({
            "jsonrpc": "2.0",
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": { "name": "agbrowse-bench", "version": env!("CARGO_PKG_VERSION") },
            },
        });
        peer.request::<Value>(&hello)?;
        peer.notify(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(Self { server, peer, schemas: String::new() })
    }

    /// Process id.
    pub fn pid(&self) -> Option<u32> {
        self.peer.pid()
    }

    /// Requests the tool list.
    ///
    /// # Errors
    /// When that fails.
    pub fn list(&mut self) -> Result<()> {
        let request = json!({ "jsonrpc": "2.0", "method": "tools/list", "params": {} });
        let answer = self.peer.request::<Value>(&request)?.body;
        self.schemas = answer.get("result").map(Value::to_string).unwrap_or_default();
        Ok(())
    }

    /// Lists the tabs: the simplest call that needs a browser.
    ///
    /// # Errors
    /// When that fails.
    pub fn tabs(&mut self) -> Result<Taken> {
        match self.server {
            Server::Ours | Server::Playwright => {
                self.call("browser_tabs", &json!({ "action": "list" }))
            }
            Server::DevTools => self.call("list_pages", &json!({})),
            Server::AgentBrowser => self.call("agent_browser_tab_list", &json!({})),
        }
    }

    /// Clicks the element of a ref from a snapshot of this server.
    ///
    /// # Errors
    /// When that fails.
    pub fn click(&mut self, name: &str) -> Result<Taken> {
        match self.server {
            Server::Ours => self.call("browser_click", &json!({ "ref": name })),
            Server::Playwright => {
                self.call("browser_click", &json!({ "target": name, "element": "button" }))
            }
            Server::DevTools => self.call("click", &json!({ "uid": name })),
            Server::AgentBrowser => {
                let name = format!("@{}", name.trim_start_matches('@'));
                self.call("agent_browser_click", &json!({ "selector": name }))
            }
        }
    }

    /// Evaluates a script and returns its value.
    ///
    /// # Errors
    /// When it throws.
    pub fn value(&mut self, script: &str) -> Result<String> {
        let function = json!({ "function": format!("() => {script}") });
        let taken = match self.server {
            Server::Ours | Server::Playwright => self.call("browser_evaluate", &function),
            Server::DevTools => self.call("evaluate_script", &function),
            Server::AgentBrowser => self.call("agent_browser_eval", &json!({ "script": script })),
        };
        taken.map(|taken| taken.text)
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Result<Taken> {
        let call = json!({
            "jsonrpc": "2.0",
            "method": "tools/call",
            "params": { "name": tool, "arguments": arguments },
        });
        let answer = self.peer.request::<Response>(&call)?;
        let failed = |why: &str| {
            let why: String = why.chars().take(300).collect();
            Err(Error::Failed(format!("`{tool}` failed: {why}")))
        };
        match answer.body {
            Response { error: Some(error), .. } => failed(&error.message),
            Response { result: None, .. } => failed("it gave nothing"),
            Response { result: Some(result), .. } => {
                let is_error = result.is_error;
                let parts = result.content.into_iter().filter_map(|content| content.text);
                let text = parts.collect::<Vec<_>>().join("\n");
                if is_error { failed(&text) } else { Ok(Taken { ms: answer.ms, text }) }
            }
        }
    }
}

impl Contender for Mcp {
    fn open(&mut self, url: &str) -> Result<()> {
        let taken = match self.server {
            Server::Ours | Server::Playwright => {
                self.call("browser_navigate", &json!({ "url": url }))?
            }
            Server::AgentBrowser => self.call("agent_browser_open", &json!({ "url": url }))?,
            Server::DevTools => {
                self.call("navigate_page", &json!({ "type": "url", "url": url }))?
            }
        };
        // One server does not report this as an error.
        if taken.text.contains("Unable to navigate") {
            return Err(Error::Failed(taken.text.chars().take(300).collect()));
        }
        Ok(())
    }

    fn script(&mut self, script: &str) -> Result<()> {
        self.value(script).map(drop)
    }

    fn snapshot(&mut self) -> Result<Taken> {
        let tool = match self.server {
            Server::Ours | Server::Playwright => "browser_snapshot",
            Server::DevTools => "take_snapshot",
            Server::AgentBrowser => "agent_browser_snapshot",
        };
        self.call(tool, &json!({}))
    }
}
