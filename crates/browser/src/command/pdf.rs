//! `pdf`: the page on paper.

use super::{Cx, Verb, decode_base64, size};
use crate::browser::Needs;
use crate::error::{Code, Error, Result};
use crate::tab::Turn;
use cdp::Deadline;
use cdp::protocol::io::{Close, Read};
use cdp::protocol::page::PrintToPdf;
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// Bytes asked for at a time.
const PIECE: u32 = 1 << 20;

/// Print the page to a PDF file.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pdf {
    /// The file to write; `-` is standard output. A name with the time of day when absent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<PathBuf>,
    /// Turn the paper sideways.
    #[arg(long)]
    #[serde(default)]
    pub landscape: bool,
    /// Only these pages, such as `1-3,5`.
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pages: Option<String>,
    /// Leave out backgrounds.
    #[arg(long)]
    #[serde(default)]
    pub no_background: bool,
}

/// A printed page.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Printed {
    /// Where it was written to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<PathBuf>,
    /// Its size.
    pub bytes: usize,
    /// The file itself.
    #[serde(skip)]
    pub data: Vec<u8>,
}

impl Verb for Pdf {
    type Reply = Printed;

    async fn run(&self, cx: &mut Cx<'_>) -> Result<Printed> {
        let turn = cx.turn(Needs::Page).await?;
        let print = PrintToPdf {
            landscape: Some(self.landscape),
            print_background: Some(!self.no_background),
            page_ranges: self.pages.clone(),
            prefer_css_page_size: Some(true),
            transfer_mode: Some("ReturnAsStream".into()),
            ..PrintToPdf::default()
        };
        let failed = |error: Error| match error.code() {
            Code::CdpRefused => {
                Error::new(Code::PdfFailed).message(error.details().message.clone())
            }
            _ => error,
        };
        let stream = turn.call(print, cx.deadline).await.map_err(failed)?.stream;
        let handle = stream.ok_or_else(|| Error::new(Code::PdfFailed))?;
        let data = read(&turn, &handle, cx.deadline).await;
        // Printed or not, the browser keeps the stream until it is told.
        turn.channel.post(&Close { handle });
        let data = data.map_err(failed)?;
        Ok(Printed { path: None, bytes: data.len(), data })
    }
}

/// Everything in a stream of the browser's.
async fn read(turn: &Turn, handle: &str, deadline: Deadline) -> Result<Vec<u8>> {
    let mut data = Vec::new();
    loop {
        let read = Read { handle: handle.to_owned(), size: Some(PIECE) };
        let piece = turn.call(read, deadline).await?;
        let text = piece.data.unwrap_or_default();
        match piece.base64_encoded {
            Some(true) => {
                data.extend(decode_base64(&text).ok_or_else(|| Error::new(Code::PdfFailed))?);
            }
            _ => data.extend_from_slice(text.as_bytes()),
        }
        if piece.eof != Some(false) {
            return Ok(data);
        }
    }
}

impl fmt::Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}  ", path.display())?;
        }
        write!(f, "pdf, {}", size(self.bytes))
    }
}
