//! `batch`: several commands in one request.

use super::{Caller, Command, CommandContext, Reply, Run, Verb, VerbGroup, VerbReply, VerbSpec};
use crate::error::{Code, Error, Result};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Run several commands in one go.
///
/// Each command is a JSON object as in `--json` and the reference, such as `{"verb":"click","target":"@e3"}`; `-` reads
/// them from standard input, one per line. Stops at the first error.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Batch {
    /// The commands.
    #[arg(required = true, value_name = "COMMAND")]
    #[schemars(with = "Vec<serde_json::Value>")]
    pub commands: Vec<Step>,
}

/// A step of a batch.
#[derive(Clone, Debug)]
pub enum Step {
    /// A command.
    Command(Box<Command>),
    /// Placeholder: read from standard input on the caller's side.
    StandardInput,
}

impl FromStr for Step {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        if text == "-" {
            return Ok(Self::StandardInput);
        }
        serde_json::from_str(text)
            .map(|command| Self::Command(Box::new(command)))
            .map_err(|error| format!("not a command: {error}"))
    }
}

impl Serialize for Step {
    fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Command(command) => command.serialize(to),
            Self::StandardInput => to.serialize_str("-"),
        }
    }
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        Ok(Self::Command(Box::new(Command::deserialize(from)?)))
    }
}

impl Batch {
    /// Inserts the commands from standard input, one per line.
    fn read(&mut self, input: &mut dyn FnMut() -> std::io::Result<String>) -> Result<()> {
        let is_input = |step: &Step| matches!(step, Step::StandardInput);
        let Some(at) = self.commands.iter().position(is_input) else { return Ok(()) };
        let text = input().map_err(|error| {
            Error::new(Code::FileReadFailed).message(format!("standard input: {error}"))
        })?;
        let mut steps = Vec::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let step = line.trim().parse::<Step>();
            steps.push(step.map_err(|problem| {
                Error::new(Code::CommandInvalid).message(format!("line {}: {problem}", number + 1))
            })?);
        }
        self.commands.splice(at..=at, steps);
        Ok(())
    }
}

/// The replies of a batch.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BatchReply {
    /// The replies, in order.
    #[schemars(with = "Vec<serde_json::Value>")]
    pub replies: Vec<Reply>,
}

impl Verb for Batch {
    type Reply = BatchReply;
    const SPEC: VerbSpec = VerbSpec {
        not_in_batch: Some("a batch cannot contain another batch"),
        ..VerbSpec::CONTROL.in_group(VerbGroup::Session)
    };

    fn localize(&mut self, caller: &mut Caller<'_>) -> Result<()> {
        self.read(caller.stdin)?;
        for step in &mut self.commands {
            if let Step::Command(command) = step {
                command.localize(caller)?;
            }
        }
        Ok(())
    }
}

impl VerbReply for BatchReply {
    fn texts_mut(&mut self) -> Vec<&mut String> {
        self.replies.iter_mut().flat_map(|reply| reply.verb_reply_mut().texts_mut()).collect()
    }
}

impl Run for Batch {
    async fn run(&self, cx: &mut CommandContext<'_>) -> Result<BatchReply> {
        // Refs stay bound to what they meant when the batch was written.
        cx.begin_batch();
        let done = self.run_all(cx).await;
        cx.end_batch().await;
        done
    }
}

impl Batch {
    async fn run_all(&self, cx: &mut CommandContext<'_>) -> Result<BatchReply> {
        let mut replies: Vec<Reply> = Vec::new();
        for (index, step) in self.commands.iter().enumerate() {
            let Step::Command(command) = step else {
                return Err(Error::new(Code::CommandInvalid)
                    .message("standard input is not available here"));
            };
            if let Some(why) = command.spec().not_in_batch {
                return Err(Error::new(Code::CommandInvalid)
                    .message(why)
                    .evidence("step", index + 1));
            }
            match Box::pin(cx.execute(command)).await {
                Ok(reply) => replies.push(reply),
                Err(error) => {
                    let done = replies.iter().map(|reply| {
                        let text = reply.to_string();
                        text.lines().next().unwrap_or_default().to_owned()
                    });
                    return Err(error
                        .evidence("step", index + 1)
                        .evidence("done", done.collect::<Vec<_>>()));
                }
            }
        }
        Ok(BatchReply { replies })
    }
}

impl fmt::Display for BatchReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, reply) in self.replies.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{reply}")?;
        }
        Ok(())
    }
}
