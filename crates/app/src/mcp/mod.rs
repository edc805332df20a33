//! The MCP server: the verbs as tools for AI clients, over standard input and output or over HTTP.
//!
//! It owns no browser: every call goes to the daemon of a session, as a command of the command line does. Unless a
//! session is named, it has one of its own, which ends with it. Nothing outside of this folder knows `rmcp`.

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

pub use hosts::Host;
pub use tools::ToolGroup;

use crate::config::Config;
use crate::http::{HttpServer, ListenOptions};
use crate::{idle_memory, output};
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

/// How many tokens a reply may have unless another number is given.
const MOST_TOKENS: u32 = 10_000;

/// How many clients may have a session over HTTP at a time, unless another number is given.
const MOST_CLIENTS: u32 = 100;

/// Where files go unless another folder is given.
const OUTPUT: &str = "agbrowse-output";

/// Serve the verbs to AI clients, over the Model Context Protocol.
///
/// Speaks over standard input and output, or over HTTP with `--http`. Without `--session`, the server has a browser of
/// its own, which ends with it.
#[derive(Debug, Args)]
pub struct Mcp {
    /// What else to do.
    #[command(subcommand)]
    pub verb: Option<McpCommand>,
    /// Groups of tools to offer beside the usual ones.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "CAPS")]
    pub caps: Vec<ToolGroup>,
    /// The most tokens that a reply may have, about. What is cut can be asked for.
    #[arg(long, default_value_t = MOST_TOKENS, value_name = "N", value_parser = clap::value_parser!(u32).range(300..))]
    pub max_tokens: u32,
    /// Where pictures and documents are saved.
    #[arg(long, default_value = OUTPUT, value_name = "FOLDER")]
    pub output_dir: PathBuf,
    /// A folder whose files may be opened and uploaded, beside the client's roots or else the working folder; may be given
    /// several times.
    #[arg(long, value_name = "DIR")]
    pub allow_files: Vec<PathBuf>,
    /// Schemes of addresses that may be opened beside http, https, data, blob and about:blank, such as `view-source`. With
    /// `file`, all files may be opened.
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    pub allow_schemes: Vec<String>,
    /// Tools that a person is asked about before each call, such as `browser_evaluate`.
    #[arg(long, value_delimiter = ',', value_name = "TOOLS")]
    pub ask: Vec<String>,
    /// Serve over HTTP at `/mcp` on this port of this machine: `8931` or `127.0.0.1:8931`.
    #[arg(long, value_name = "PORT")]
    pub http: Option<String>,
    /// Serve other machines too, at this address. Needs a token in `AGBROWSE_MCP_TOKEN`.
    #[arg(long, value_name = "ADDRESS", requires = "http")]
    pub bind: Option<IpAddr>,
    /// Let pages of this origin call; may be given several times. Those of this machine may.
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    pub allow_origin: Vec<String>,
    /// The most clients that may have a session over HTTP at a time. With one more, the one that was idle the longest has to
    /// begin a new one.
    #[arg(long, default_value_t = MOST_CLIENTS, value_name = "N", requires = "http", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_clients: u32,
}

/// What else can be done about MCP.
#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// Print what to paste into a host's settings; options before `config` go along.
    Config {
        /// The host.
        host: Host,
    },
}

impl Mcp {
    /// Serves until the client goes or the process is told to stop.
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
            return Err(Error::new(Code::CommandInvalid).message(format!("`{odd}` is no tool")));
        }
        if let Some(odd) = self.allow_files.iter().find(|folder| !folder.is_dir()) {
            return Err(Error::new(Code::CommandInvalid)
                .message(format!("`{}` of `--allow-files` is no folder", odd.display())));
        }
        let backend = Arc::new(Backend::new(config, self)?);
        tokio::spawn(idle_memory::keep());
        let served = match &self.http {
            Some(at) => self.serve_http(at, backend.clone()).await,
            None => serve_stdio(backend.clone()).await,
        };
        backend.leave().await;
        served
    }

    /// The options that make a difference, as they are written.
    fn options(&self) -> Vec<String> {
        let name = |cap: &ToolGroup| Some(cap.to_possible_value()?.get_name().to_owned());
        let caps: Vec<String> = self.caps.iter().filter_map(name).collect();
        let folder = self.output_dir.to_str().filter(|folder| *folder != OUTPUT);
        let tokens = Some(self.max_tokens).filter(|most| *most != MOST_TOKENS);
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
        };
        let server = HttpServer::bind(&options).await?;
        server.announce("MCP", "/mcp", backend.session());
        let (router, stop) = http::router(backend.clone());
        tokio::select! {
            served = server.serve(router, stop) => served,
            () = backend.sweep() => Ok(()),
        }
    }
}

async fn serve_stdio(backend: Arc<Backend>) -> Result<()> {
    let server = Arc::new(ClientSession::new(backend, false));
    let pipes = stdio::StdioTransport::new(tokio::io::stdin(), tokio::io::stdout());
    let broken = |error: String| {
        Error::new(Code::InternalUnhandled).message(format!("the client cannot be served: {error}"))
    };
    let running = match server.clone().serve(pipes).await {
        Ok(running) => running,
        // Who goes before saying anything wants nothing.
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
    server.leave().await;
    ended
}

/// The tools that clients are offered.
fn offered(caps: &[ToolGroup]) -> Vec<rmcp::model::Tool> {
    let tool = |tool: &Tool| {
        let made = rmcp::model::Tool::new(tool.name, tool.about, tool.schema());
        match tool.only_looks() {
            true => made.with_annotations(ToolAnnotations::new().read_only(true)),
            false => made,
        }
    };
    TOOLS.iter().filter(|tool| tool.is_in(caps)).map(tool).collect()
}
