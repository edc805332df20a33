//! The MCP server: the verbs as tools for AI clients, over standard input and output or over HTTP.
//!
//! It owns no browser: every call goes to a session's daemon, like the commands of the command line. Without
//! `--session` it uses a private session that ends with it. `rmcp` is used only in this module.

mod approval;
mod args;
mod backend;
mod client_session;
mod hosts;
mod http;
mod http_sessions;
mod reply;
mod stdio;
mod tools;
mod web_ai;

pub use hosts::Host;
pub use tools::ToolGroup;

use crate::config::Config;
use crate::http::{HttpServer, ListenOptions};
use crate::{idle_memory, output};
use axum::response::IntoResponse;
use backend::Backend;
use browser::{Code, Error, Result};
use clap::{Args, Subcommand, ValueEnum};
use client_session::ClientSession;
use rmcp::ServiceExt;
use rmcp::model::ToolAnnotations;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tools::{TOOLS, Tool};

/// Default of `--max-tokens`.
const MAX_TOKENS: u32 = 10_000;

/// Default of `--max-clients`.
const MAX_CLIENTS: u32 = 100;

/// Default of `--output-dir`.
const OUTPUT_DIR: &str = "agbrowse-output";

/// Serve the verbs to AI clients, over the Model Context Protocol.
///
/// Speaks over standard input and output, or over HTTP with `--http`. Without `--session`, the server has a browser of
/// its own, which ends with it.
#[derive(Debug, Args)]
pub struct Mcp {
    /// Subcommand.
    #[command(subcommand)]
    pub verb: Option<McpCommand>,
    /// Groups of tools to offer besides the core ones.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "CAPS")]
    pub caps: Vec<ToolGroup>,
    /// Approximate token limit of a reply. Cut text can be requested.
    #[arg(long, default_value_t = MAX_TOKENS, value_name = "N", value_parser = clap::value_parser!(u32).range(300..))]
    pub max_tokens: u32,
    /// Folder for screenshots, PDFs and other saved files.
    #[arg(long, default_value = OUTPUT_DIR, value_name = "FOLDER")]
    pub output_dir: PathBuf,
    /// Allow opening and uploading files in this folder, besides the client's roots or else the working folder;
    /// repeatable.
    #[arg(long, value_name = "DIR")]
    pub allow_files: Vec<PathBuf>,
    /// Allow URL schemes besides http, https, data, blob and about:blank, such as `view-source`. `file` allows all files.
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    pub allow_schemes: Vec<String>,
    /// Ask the user for approval before each call of these tools, such as `browser_evaluate`.
    #[arg(long, value_delimiter = ',', value_name = "TOOLS")]
    pub ask: Vec<String>,
    /// Serve over HTTP at `/mcp` on this port of this machine: `8931` or `127.0.0.1:8931`.
    #[arg(long, value_name = "PORT")]
    pub http: Option<String>,
    /// Serve other machines too, at this address. Requires a token in `AGBROWSE_MCP_TOKEN`.
    #[arg(long, value_name = "ADDRESS", requires = "http")]
    pub bind: Option<IpAddr>,
    /// Allow requests from pages of this origin; repeatable. Local origins are always allowed.
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    pub allow_origin: Vec<String>,
    /// Maximum of concurrent HTTP sessions. Beyond it, the session that was idle longest is closed.
    #[arg(long, default_value_t = MAX_CLIENTS, value_name = "N", requires = "http", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_clients: u32,
}

/// Subcommands of `mcp`.
#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// Print the configuration for an MCP host; includes the options before `config`.
    Config {
        /// The host.
        host: Host,
    },
}

impl Mcp {
    /// Serves until the client disconnects or the process receives a termination signal.
    ///
    /// # Errors
    /// When it cannot listen.
    pub async fn run(&self, config: &Config) -> Result<()> {
        if let Some(McpCommand::Config { host }) = &self.verb {
            return output::raw(host.snippet(config, self.options()).as_bytes());
        }
        if config.settings.tab.is_some() {
            return Err(Error::new(Code::CommandInvalid)
                .message("a server has no tab: its tools take `page`, such as `t2`"));
        }
        if let Some(odd) = self.ask.iter().find(|name| Tool::named(name).is_none()) {
            return Err(Error::new(Code::CommandInvalid).message(format!("`{odd}` is not a tool")));
        }
        if let Some(odd) = self.allow_files.iter().find(|folder| !folder.is_dir()) {
            return Err(Error::new(Code::CommandInvalid)
                .message(format!("`{}` of `--allow-files` is not a folder", odd.display())));
        }
        let backend = Arc::new(Backend::new(config, self)?);
        tokio::spawn(idle_memory::keep());
        let served = match &self.http {
            Some(at) => self.serve_http(at, backend.clone()).await,
            None => serve_stdio(backend.clone()).await,
        };
        backend.end_session().await;
        served
    }

    /// Returns the options that differ from their defaults, as arguments.
    fn options(&self) -> Vec<String> {
        let name = |group: &ToolGroup| Some(group.to_possible_value()?.get_name().to_owned());
        let caps: Vec<String> = self.caps.iter().filter_map(name).collect();
        let folder = self.output_dir.to_str().filter(|folder| *folder != OUTPUT_DIR);
        let tokens = Some(self.max_tokens).filter(|most| *most != MAX_TOKENS);
        let all = [
            ("--caps", Some(caps.join(","))),
            ("--max-tokens", tokens.map(|most| most.to_string())),
            ("--output-dir", folder.map(str::to_owned)),
            ("--allow-schemes", Some(self.allow_schemes.join(","))),
            ("--ask", Some(self.ask.join(","))),
        ];
        let folders = self.allow_files.iter();
        let folders = folders.map(|it| ("--allow-files", it.to_str().map(str::to_owned)));
        let args = all.into_iter().chain(folders).filter_map(|(flag, value)| Some((flag, value?)));
        let args = args.filter(|(_, value)| !value.is_empty());
        args.flat_map(|(flag, value)| [flag.to_owned(), value]).collect()
    }

    async fn serve_http(&self, at: &str, backend: Arc<Backend>) -> Result<()> {
        let options = ListenOptions {
            at,
            bind: self.bind,
            origins: &self.allow_origin,
            token_variable: "AGBROWSE_MCP_TOKEN",
            public_paths: &[],
            refusal_body: |status, why| (status, why).into_response(),
        };
        let server = HttpServer::bind(&options).await?;
        server.announce("MCP", "/mcp", backend.session());
        let (router, stop) = http::router(backend.clone());
        tokio::select! {
            served = server.serve(router, stop) => served,
            () = backend.close_idle_orphans() => Ok(()),
        }
    }
}

async fn serve_stdio(backend: Arc<Backend>) -> Result<()> {
    let server = Arc::new(ClientSession::new(backend, false));
    let transport = stdio::StdioTransport::new(tokio::io::stdin(), tokio::io::stdout());
    let broken = |error: String| {
        Error::new(Code::InternalUnhandled).message(format!("the client cannot be served: {error}"))
    };
    let running = match server.clone().serve(transport).await {
        Ok(running) => running,
        // Disconnected before initialize.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(broken(error.to_string())),
    };
    let stop = running.cancellation_token();
    let ended = tokio::select! {
        ended = running.waiting() => ended.map(|_| ()).map_err(|error| broken(error.to_string())),
        () = crate::signals::termination() => {
            stop.cancel();
            Ok(())
        }
    };
    server.close_own_pages().await;
    ended
}

/// Lists the offered tools.
fn offered_tools(caps: &[ToolGroup]) -> Vec<rmcp::model::Tool> {
    let tool = |tool: &Tool| {
        let entry = rmcp::model::Tool::new(tool.name, tool.description, tool.schema());
        match tool.is_read_only() {
            true => entry.with_annotations(ToolAnnotations::new().read_only(true)),
            false => entry,
        }
    };
    TOOLS.iter().filter(|tool| tool.is_in(caps)).map(tool).collect()
}
