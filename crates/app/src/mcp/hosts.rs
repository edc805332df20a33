//! Configuration snippets for MCP hosts.

use crate::config::{Config, Origin};
use clap::ValueEnum;
use serde_json::{Value, json};

/// An MCP host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Host {
    /// Claude Code and Claude Desktop.
    Claude,
    /// Cursor.
    Cursor,
    /// Visual Studio Code.
    Vscode,
    /// Codex.
    Codex,
}

impl Host {
    /// Returns the snippet for the host's settings file. `own` are the server's own options.
    pub fn snippet(self, config: &Config, own: Vec<String>) -> String {
        let program = std::env::current_exe().ok();
        let program = program.and_then(|path| Some(path.to_str()?.to_owned()));
        let program = program.unwrap_or_else(|| "agbrowse".into());
        let mut args = vec!["mcp".to_owned()];
        args.extend(shared(config));
        args.extend(own);
        let entry = json!({ "command": program, "args": args });
        let pretty = |value: Value| {
            format!("{}\n", serde_json::to_string_pretty(&value).unwrap_or_default())
        };
        match self {
            // `.mcp.json` of a project, or claude_desktop_config.json.
            Self::Claude => pretty(json!({ "mcpServers": { "agbrowse": entry } })),
            // `.cursor/mcp.json`.
            Self::Cursor => pretty(json!({ "mcpServers": { "agbrowse": entry } })),
            // `.vscode/mcp.json`.
            Self::Vscode => pretty(json!({
                "servers": { "agbrowse": { "type": "stdio", "command": program, "args": args } }
            })),
            // `~/.codex/config.toml`.
            Self::Codex => {
                let quoted: Vec<String> = args.iter().map(|arg| quote(arg)).collect();
                format!(
                    "[mcp_servers.agbrowse]\ncommand = {}\nargs = [{}]\n",
                    quote(&program),
                    quoted.join(", ")
                )
            }
        }
    }
}

/// Returns the settings from command line, environment and project file as arguments: the host would not have them.
fn shared(config: &Config) -> Vec<String> {
    let mut args = Vec::new();
    for line in config.lines() {
        let is_known = matches!(line.origin, Origin::Default | Origin::UserFile(_));
        if is_known || matches!(&*line.key, "json" | "color" | "tab") {
            continue;
        }
        let flag = format!("--{}", line.key);
        let mut add = |value: &Value| match value {
            Value::String(text) => args.extend([flag.clone(), text.clone()]),
            value => args.push(format!("{flag}={value}")),
        };
        match &line.value {
            Value::Array(values) => values.iter().for_each(add),
            value => add(value),
        }
    }
    args
}

/// Quotes a TOML string; JSON strings are valid in TOML.
fn quote(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}
