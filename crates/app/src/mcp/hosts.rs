//! What to paste into the settings of programs that use MCP servers.

use crate::config::Config;
use clap::ValueEnum;
use serde_json::json;

/// A program that uses MCP servers.
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
    /// What to paste, and where.
    pub fn snippet(self, config: &Config) -> String {
        let program = std::env::current_exe().ok();
        let program = program.and_then(|path| Some(path.to_str()?.to_owned()));
        let program = program.unwrap_or_else(|| "agbrowse".into());
        let mut args = vec!["mcp".to_owned()];
        let settings = &config.settings;
        if let Some(session) = &settings.session {
            args.extend(["--session".to_owned(), session.0.clone()]);
        }
        if let Some(profile) = &settings.profile {
            args.extend(["--profile".to_owned(), profile.0.clone()]);
        }
        if settings.headed == Some(true) {
            args.push("--headed".to_owned());
        }
        let entry = json!({ "command": program, "args": args });
        let pretty = |value: serde_json::Value| {
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

/// A text as TOML writes it; JSON's way is one of TOML's.
fn quote(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}
