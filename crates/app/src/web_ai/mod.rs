//! `web-ai`: the commands for AI chat web apps, through the daemon of the session.

mod chat;

use crate::config::{self, Config};
use crate::daemon::DaemonClient;
use crate::output::{self, Output};
use crate::session_client::SessionClient;
use crate::signals;
use browser::{Note, Result};
use chat::{PollArgs, RenderArgs, SendArgs, SessionsCommand, StopArgs, WatchArgs};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;
use webai::vendor::{DEFAULT_VENDOR, Vendors};
use webai::{
    CapabilityFamily, CatalogueFilter, DoctorOptions, FrontendStatus, SessionStore,
    SnapshotOptions, StatusOptions, TabChoice, WebAi, catalogue,
};

/// Exit code after Ctrl-C, as shells have it.
const INTERRUPTED: u8 = 130;

/// Drive AI chat web apps: ChatGPT, Gemini, Grok, and those that a vendor file describes.
///
/// Every command works on the current tab, which has to show the app: `agbrowse open https://chatgpt.com`. Ask `status`
/// before you send: its rows say what can be done now, and what to do next.
#[derive(Debug, Args)]
pub struct WebAiArgs {
    /// The command.
    #[command(subcommand)]
    pub command: WebAiCommand,
}

/// Commands for chat apps.
#[derive(Debug, clap::Subcommand)]
pub enum WebAiCommand {
    /// Capture the app's tab as a compact accessibility-tree snapshot.
    #[command(override_help = include_str!("snapshot_help.txt"))]
    Snapshot(SnapshotArgs),
    /// Say what can be done now: one row per capability, with evidence and next step.
    Status(StatusArgs),
    /// List the capabilities that are known, implemented, planned or refused. No browser is needed.
    Capabilities(CapabilitiesArgs),
    /// Report which parts of the app are recognized, as counts and hashes, without any text of the page.
    Doctor(DoctorArgs),
    /// Print the prompt as it would be written into the composer. No browser is needed.
    Render(RenderArgs),
    /// Send a prompt, after all rows were checked, and verify that the app took it.
    Send(SendArgs),
    /// Send a prompt and wait for its answer.
    Query(SendArgs),
    /// Wait for the answer of a session.
    Poll(PollArgs),
    /// Poll a session again and again until its answer is complete.
    Watch(WatchArgs),
    /// Stop an answer, and print what there is of it.
    Stop(StopArgs),
    /// Manage sessions: each is a prompt and its answer.
    #[command(subcommand)]
    Sessions(SessionsCommand),
}

/// The vendor of a command.
#[derive(Debug, Args)]
pub struct VendorArgs {
    /// The vendor: chatgpt, gemini, grok, or the id of a vendor file.
    #[arg(long, value_name = "NAME", default_value = DEFAULT_VENDOR)]
    pub vendor: String,
}

/// Capture the app's tab.
#[derive(Debug, Args)]
pub struct SnapshotArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened")]
    pub vendor: VendorArgs,
    /// Only interactive nodes, headings and text. This is the default.
    #[arg(long, overrides_with = "no_interactive")]
    pub interactive: bool,
    /// All nodes, with their containers.
    #[arg(long)]
    pub no_interactive: bool,
    /// Write a single text on the line of its parent. This is the default.
    #[arg(long, overrides_with = "no_compact")]
    pub compact: bool,
    /// Write every text on a line of its own.
    #[arg(long)]
    pub no_compact: bool,
    /// Maximum depth [default: 6].
    #[arg(long, value_name = "N")]
    pub max_depth: Option<u32>,
    /// Only the first element that matches this CSS selector.
    #[arg(long, value_name = "CSS")]
    pub root_selector: Option<String>,
    /// Replace names, values and texts by hashes.
    #[arg(long)]
    pub redact: bool,
}

/// Say what can be done now.
#[derive(Debug, Args)]
pub struct StatusArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened")]
    pub vendor: VendorArgs,
    /// Only the row of this capability.
    #[arg(long, value_name = "ID")]
    pub probe: Option<String>,
    /// The model that is about to be used.
    #[arg(long)]
    pub model: Option<String>,
    /// A file that is about to be sent; repeatable.
    #[arg(long, value_name = "FILE")]
    pub file: Vec<PathBuf>,
}

/// List the capabilities.
#[derive(Debug, Args)]
pub struct CapabilitiesArgs {
    /// Those of this vendor, and the shared ones [default: all].
    #[arg(long, value_name = "NAME")]
    pub vendor: Option<String>,
    /// Those of this family: modelSelection, attachments, responseCapture …
    #[arg(long)]
    pub family: Option<CapabilityFamily>,
    /// Those with this status in the app: observed, actionable, schema-ready, implemented, unsupported …
    #[arg(long, value_name = "STATUS")]
    pub frontend_status: Option<FrontendStatus>,
}

/// Report which parts of the app are recognized.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened")]
    pub vendor: VendorArgs,
    /// Include a summary of a snapshot, and the candidates of each semantic target.
    #[arg(long, value_enum, value_name = "KIND")]
    pub snapshot: Option<SnapshotKind>,
    /// Allow a report of 16 kB instead of 4 kB.
    #[arg(long)]
    pub full: bool,
}

/// The kind of a doctor's snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SnapshotKind {
    /// Interactive nodes.
    Interactive,
}

impl WebAiArgs {
    /// Runs the command.
    pub(crate) async fn run(&self, config: &Config, output: Output) -> Result<ExitCode> {
        let vendors = Vendors::load(config::vendors_folder().as_deref())?;
        if let WebAiCommand::Capabilities(args) = &self.command {
            if let Some(vendor) = &args.vendor {
                vendors.get(vendor)?;
            }
            let filter = CatalogueFilter {
                vendor: args.vendor.clone(),
                family: args.family,
                frontend_status: args.frontend_status,
            };
            output.bare(&catalogue(&filter)?)?;
            return Ok(ExitCode::SUCCESS);
        }
        if let WebAiCommand::Render(args) = &self.command {
            args.run(output)?;
            return Ok(ExitCode::SUCCESS);
        }
        let client = SessionClient::new(config)?;
        client.check_session(false).await?;
        let client = client.into_client();
        let choice = TabChoice {
            context: config.settings.context.as_ref().map(|name| name.0.clone()),
            tab: config.settings.tab,
            timeout: Some(config.timeout()),
        };
        let is_logged = std::env::var("AGBROWSE_CHURN_LOG").is_ok_and(|value| value == "1");
        let churn_log = is_logged.then(config::churn_log).flatten();
        let mut web_ai = WebAi::new(client, vendors).with_tab(choice).with_churn_log(churn_log);
        if let Some(path) = config::web_ai_sessions() {
            web_ai = web_ai.with_sessions(SessionStore::new(path), config.session());
        }
        let done = tokio::select! {
            done = self.drive(&web_ai, config, output) => done,
            () = signals::termination() => Ok(ExitCode::from(INTERRUPTED)),
        };
        // A menu that was open when the command was cancelled.
        web_ai.finish().await;
        done
    }

    async fn drive(
        &self,
        web_ai: &WebAi<DaemonClient>,
        config: &Config,
        output: Output,
    ) -> Result<ExitCode> {
        match &self.command {
            WebAiCommand::Snapshot(args) => {
                let options = SnapshotOptions {
                    all_nodes: args.no_interactive,
                    is_expanded: args.no_compact,
                    max_depth: args.max_depth,
                    root_selector: args.root_selector.clone(),
                    redact: args.redact,
                };
                let snapshot = web_ai.snapshot(&args.vendor.vendor, &options).await?;
                let notes = snapshot.notes.iter().map(|note| Note::new("not-shown", note.clone()));
                output.notes(&notes.collect::<Vec<_>>());
                output.bare_text(&snapshot, &snapshot.text)?;
            }
            WebAiCommand::Status(args) => {
                let options = StatusOptions {
                    probe: args.probe.clone(),
                    model: args.model.clone(),
                    with_files: !args.file.is_empty(),
                    profile: config.settings.profile.as_ref().map(|name| name.0.clone()),
                };
                let status = web_ai.status(&args.vendor.vendor, &options).await?;
                output.bare(&status)?;
                return Ok(if status.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE });
            }
            WebAiCommand::Doctor(args) => {
                let options =
                    DoctorOptions { with_snapshot: args.snapshot.is_some(), full: args.full };
                let now = output::timestamp();
                output.bare(&web_ai.doctor(&args.vendor.vendor, options, now).await?)?;
            }
            WebAiCommand::Send(args) => return args.send(web_ai, config, output).await,
            WebAiCommand::Query(args) => return args.query(web_ai, config, output).await,
            WebAiCommand::Poll(args) => return args.run(web_ai, config, output).await,
            WebAiCommand::Watch(args) => return args.run(web_ai, config, output).await,
            WebAiCommand::Stop(args) => return args.run(web_ai, config, output).await,
            WebAiCommand::Sessions(command) => return command.run(web_ai, config, output).await,
            // These need no browser.
            WebAiCommand::Capabilities(_) | WebAiCommand::Render(_) => {}
        }
        Ok(ExitCode::SUCCESS)
    }
}
