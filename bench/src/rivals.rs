//! The tools from npm that we are compared with: where they are, and how each is started and spoken to.
//!
//! All get the same browser, the same window and the same network: loopback.

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

/// How to get them.
pub const GET_RIVALS: &str =
    "npm install --prefix DIR @playwright/mcp chrome-devtools-mcp agent-browser, then --rivals DIR";

/// The packages that are looked for.
pub const PACKAGES: [&str; 3] = ["@playwright/mcp", "chrome-devtools-mcp", "agent-browser"];

/// The window that our browser has by default.
const WINDOW: (u32, u32) = (1280, 720);

/// A folder that npm installed into.
#[derive(Clone, Debug)]
pub struct Rivals {
    packages: PathBuf,
    chrome: PathBuf,
}

impl Rivals {
    /// Those in a folder.
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

    /// The version of a package, if it is there.
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

    /// A driver of ours, `bench/rivals/NAME`: calls a library in one process of Node.
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

    /// The server of `@playwright/mcp`.
    ///
    /// # Errors
    /// When it cannot be started or does not answer.
    pub fn playwright_mcp(&self) -> Result<Mcp> {
        let (mut command, folder) = self.playwright_command()?;
        Mcp::start(Server::Playwright, &mut command, folder)
    }

    /// The same for a browser that is up.
    ///
    /// # Errors
    /// As for the other.
    pub fn playwright_mcp_at(&self, endpoint: &str) -> Result<Mcp> {
        let (mut command, folder) = node(&self.packages.join("@playwright/mcp/cli.js"))?;
        command.arg("--cdp-endpoint").arg(endpoint);
        Mcp::start(Server::Playwright, &mut command, folder)
    }

    /// The server of `chrome-devtools-mcp` for a browser that is up.
    ///
    /// # Errors
    /// As for the other.
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
            // Otherwise it takes one with every other tool, and the first would not be the first.
            "snapshot": { "mode": "none" },
            "outputDir": folder.path(),
        });
        let path = folder.path().join("config.json");
        std::fs::write(&path, config.to_string())?;
        command.arg("--config").arg(path);
        Ok((command, folder))
    }

    /// The server of `chrome-devtools-mcp`.
    ///
    /// # Errors
    /// When it cannot be started or does not answer.
    pub fn devtools_mcp(&self) -> Result<Mcp> {
        let program = "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js";
        let (mut command, folder) = node(&self.packages.join(program))?;
        let (width, height) = WINDOW;
        command
            .args(["--headless", "--isolated", "--no-usage-statistics", "--no-performance-crux"])
            // Otherwise every call must name a page.
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
    let mut command = tool::bare(Path::new("node"));
    command
        .arg(script)
        .current_dir(folder.path())
        .env("HOME", folder.path())
        .env("TMPDIR", folder.path());
    Ok((command, folder))
}

/// Chromium has no sandbox for root.
pub fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// A library behind a driver of ours.
pub struct Driver(Peer);

impl Driver {
    fn ask(&mut self, command: &DriverCommand<'_>) -> Result<Taken> {
        let DriverReply { ms, text, error } = self.0.ask(command)?.body;
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
        self.ask(&DriverCommand::Open { url }).map(drop)
    }

    fn script(&mut self, script: &str) -> Result<()> {
        self.ask(&DriverCommand::Script { script }).map(drop)
    }

    fn snapshot(&mut self) -> Result<Taken> {
        // The time is the driver's own, taken around the call alone.
        self.ask(&DriverCommand::Snapshot)
    }
}

/// A server of the Model Context Protocol, over its standard input and output.
pub struct Mcp {
    server: Server,
    peer: Peer,
    /// How long its tools are, as it lists them.
    pub schemas: String,
}

/// Whose server it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "`name` says what each is")]
pub enum Server {
    Ours,
    Playwright,
    DevTools,
    AgentBrowser,
}

impl Server {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ours => "agbrowse mcp",
            Self::Playwright => "@playwright/mcp",
            Self::DevTools => "chrome-devtools-mcp",
            Self::AgentBrowser => "agent-browser mcp",
        }
    }
}

/// What a tool gave, or why there is nothing.
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
    /// Starts a server and says hello.
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
        peer.ask::<Value>(&hello)?;
        peer.tell(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(Self { server, peer, schemas: String::new() })
    }

    /// Its process.
    pub fn pid(&self) -> Option<u32> {
        self.peer.pid()
    }

    /// What it lists as its tools.
    ///
    /// # Errors
    /// When it does not.
    pub fn list(&mut self) -> Result<()> {
        let ask = json!({ "jsonrpc": "2.0", "method": "tools/list", "params": {} });
        let answer = self.peer.ask::<Value>(&ask)?.body;
        self.schemas = answer.get("result").map(Value::to_string).unwrap_or_default();
        Ok(())
    }

    /// The tabs: the least that needs a browser.
    ///
    /// # Errors
    /// When it does not tell.
    pub fn tabs(&mut self) -> Result<Taken> {
        match self.server {
            Server::Ours | Server::Playwright => {
                self.call("browser_tabs", &json!({ "action": "list" }))
            }
            Server::DevTools => self.call("list_pages", &json!({})),
            Server::AgentBrowser => self.call("agent_browser_tab_list", &json!({})),
        }
    }

    /// Clicks what has a ref, as a snapshot of this server gave it.
    ///
    /// # Errors
    /// When it does not.
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

    /// What a script gives.
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
        let answer = self.peer.ask::<Response>(&call)?;
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
        // One of them does not count this as a failure.
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
