//! `pdf`: prints the page to a PDF file.

use super::{
    CommandContext, ReplyFile, RunInTab, Verb, VerbGroup, VerbReply, VerbSpec, decode_base64, size,
};
use crate::error::{Code, Error, Result};
use crate::tab::Turn;
use cdp::Deadline;
use cdp::protocol::io::{Close, Read};
use cdp::protocol::page::PrintToPdf;
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Bytes per read of the stream.
const CHUNK: u32 = 1 << 20;

/// Print the page to a PDF file.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pdf {
    /// The file to write; `-` is standard output. A name with the time of day when absent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<PathBuf>,
    /// Landscape orientation.
    #[arg(long)]
    #[serde(default)]
    pub landscape: bool,
    /// Only these pages, such as `1-3,5`.
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pages: Option<String>,
    /// Omit backgrounds.
    #[arg(long)]
    #[serde(default)]
    pub no_background: bool,
    /// The paper size [default: the page's own CSS page size, or letter].
    #[arg(long, value_enum, value_name = "PAPER")]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub format: Option<Paper>,
    /// The scale, from 0.1 to 2.
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scale: Option<f64>,
    /// The margins in inches: one number, or top, right, bottom and left separated by commas.
    #[arg(long, value_name = "INCHES")]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub margin: Option<Margins>,
}

/// A paper size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the words say it")]
pub enum Paper {
    Letter,
    Legal,
    Tabloid,
    Ledger,
    A0,
    A1,
    A2,
    A3,
    A4,
    A5,
    A6,
}

impl Paper {
    /// Width and height in inches.
    fn inches(self) -> (f64, f64) {
        match self {
            Self::Letter => (8.5, 11.0),
            Self::Legal => (8.5, 14.0),
            Self::Tabloid => (11.0, 17.0),
            Self::Ledger => (17.0, 11.0),
            Self::A0 => (33.1, 46.8),
            Self::A1 => (23.4, 33.1),
            Self::A2 => (16.54, 23.4),
            Self::A3 => (11.7, 16.54),
            Self::A4 => (8.27, 11.7),
            Self::A5 => (5.83, 8.27),
            Self::A6 => (4.13, 5.83),
        }
    }
}

/// Margins in inches: top, right, bottom, left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margins(pub [f64; 4]);

impl FromStr for Margins {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let wrong = || format!("`{text}`: expected inches such as `0.5` or `1,0.5,1,0.5`");
        let inches = |part: &str| {
            part.trim().parse::<f64>().ok().filter(|inches| (0.0..=50.0).contains(inches))
        };
        let sides: Option<Vec<f64>> = text.split(',').map(inches).collect();
        match sides.as_deref() {
            Some(&[all]) => Ok(Self([all; 4])),
            Some(&[top, right, bottom, left]) => Ok(Self([top, right, bottom, left])),
            _ => Err(wrong()),
        }
    }
}

impl Serialize for Margins {
    fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        let [top, right, bottom, left] = self.0;
        to.collect_str(&format_args!("{top},{right},{bottom},{left}"))
    }
}

impl<'de> Deserialize<'de> for Margins {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Margins {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Margins".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

/// A PDF file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PdfReply {
    /// The path of the written file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<PathBuf>,
    /// Its size.
    pub bytes: usize,
    /// The file itself.
    #[serde(skip)]
    pub data: Vec<u8>,
}

impl Verb for Pdf {
    type Reply = PdfReply;
    const SPEC: VerbSpec = VerbSpec {
        not_in_batch: Some("screenshots and PDFs cannot be part of a batch"),
        ..VerbSpec::LOOK.in_group(VerbGroup::Files)
    };

    fn output_path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    fn check(&self, _cx: &CommandContext<'_>) -> Result<()> {
        if let Some(odd) = self.scale.filter(|scale| !(0.1..=2.0).contains(scale)) {
            return Err(Error::new(Code::CommandInvalid)
                .message(format!("`--scale` must be 0.1 to 2, not {odd}")));
        }
        let is_odd = |inches: &f64| !(0.0..=50.0).contains(inches);
        if self.margin.is_some_and(|Margins(sides)| sides.iter().any(is_odd)) {
            return Err(Error::new(Code::CommandInvalid).message("margins must be 0 to 50 inches"));
        }
        Ok(())
    }
}

impl VerbReply for PdfReply {
    fn file(&mut self) -> Option<ReplyFile<'_>> {
        let name = ("page", "pdf");
        Some(ReplyFile { path: &mut self.path, data: &mut self.data, name, is_private: false })
    }
}

impl RunInTab for Pdf {
    async fn run(&self, cx: &mut CommandContext<'_>, turn: &Turn) -> Result<PdfReply> {
        let [top, right, bottom, left] = match self.margin {
            Some(Margins(sides)) => sides.map(Some),
            None => [None; 4],
        };
        let print = PrintToPdf {
            landscape: Some(self.landscape),
            print_background: Some(!self.no_background),
            paper_width: self.format.map(|paper| paper.inches().0),
            paper_height: self.format.map(|paper| paper.inches().1),
            scale: self.scale,
            margin_top: top,
            margin_right: right,
            margin_bottom: bottom,
            margin_left: left,
            page_ranges: self.pages.clone(),
            prefer_css_page_size: Some(self.format.is_none()),
            transfer_mode: Some("ReturnAsStream".into()),
        };
        let failed = |error: Error| match error.code() {
            Code::CdpRefused => {
                Error::new(Code::PdfFailed).message(error.details().message.clone())
            }
            _ => error,
        };
        let stream = turn.call(print, cx.progress.deadline).await.map_err(failed)?.stream;
        let handle = stream.ok_or_else(|| Error::new(Code::PdfFailed))?;
        let data = read(turn, &handle, cx.progress.deadline).await;
        // In any case: the browser keeps the stream until it is closed.
        turn.channel.post(&Close { handle });
        let data = data.map_err(failed)?;
        Ok(PdfReply { path: None, bytes: data.len(), data })
    }
}

/// Reads a stream of the browser to its end.
async fn read(turn: &Turn, handle: &str, deadline: Deadline) -> Result<Vec<u8>> {
    let mut data = Vec::new();
    loop {
        let read = Read { handle: handle.to_owned(), size: Some(CHUNK) };
        let chunk = turn.call(read, deadline).await?;
        let text = chunk.data.unwrap_or_default();
        match chunk.base64_encoded {
            Some(true) => {
                data.extend(decode_base64(&text).ok_or_else(|| Error::new(Code::PdfFailed))?);
            }
            _ => data.extend_from_slice(text.as_bytes()),
        }
        if chunk.eof != Some(false) {
            return Ok(data);
        }
    }
}

impl fmt::Display for PdfReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}  ", path.display())?;
        }
        write!(f, "pdf, {}", size(self.bytes))
    }
}
