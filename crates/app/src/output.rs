//! Printing: results to standard output, notes and errors to standard error, as text or JSON envelopes.

use crate::config::{Color, json_errors};
use crate::highlight;
use anstyle::{AnsiColor, Style};
use browser::command::SnapshotReply;
use browser::page::sanitize::escape_unsafe;
use browser::page::text::quoted;
use browser::{Code, Command, Error, Evidence, Note, Outcome, Reply, Result, TabId};
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};

const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const DIM: Style = Style::new().dimmed();

/// Evidence that is printed with an error.
const LISTED: &[&str] = &["attempts", "candidates", "done", "options"];

/// Output format.
#[derive(Clone, Copy, Debug, Default)]
pub struct Output {
    /// Print JSON.
    pub json: bool,
}

/// The envelope of a command's reply: `verb` and `result` come from the reply itself.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReplyEnvelope<'a> {
    /// The command is done.
    #[schemars(extend("const" = true))]
    ok: bool,
    /// The session.
    session: &'a str,
    /// The tab of the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    tab: Option<TabId>,
    #[serde(flatten)]
    reply: &'a Reply,
    /// Remarks on a result that differs from what was asked for.
    #[serde(skip_serializing_if = "<[Note]>::is_empty")]
    notes: &'a [Note],
    /// The file of the reply, over HTTP and if the command named no `path` for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a InlineFile>,
}

/// The file of a reply, inside of the reply.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InlineFile {
    /// Its media type, such as `image/png`.
    pub(crate) media_type: String,
    /// Its content.
    #[schemars(extend("contentEncoding" = "base64"))]
    pub(crate) base64: String,
}

/// The envelope of any other result.
#[derive(Serialize)]
struct Envelope<'a, T> {
    ok: bool,
    result: &'a T,
}

/// The envelope of an error, as specified.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErrorEnvelope<'a> {
    /// The command failed.
    #[schemars(extend("const" = false))]
    ok: bool,
    /// Always `error`.
    #[schemars(extend("const" = "error"))]
    status: &'a str,
    /// The error.
    error: &'a Error,
    /// Notes of the failed command.
    #[serde(skip_serializing_if = "<[Note]>::is_empty")]
    notes: &'a [Note],
}

/// Sets the colour choice for the whole process.
pub fn set_colors(choice: Option<Color>) {
    match choice {
        None | Some(Color::Auto) => {}
        Some(Color::Always) => anstream::ColorChoice::Always.write_global(),
        Some(Color::Never) => anstream::ColorChoice::Never.write_global(),
    }
}

impl Output {
    /// Prints the outcome of a command and writes its file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn outcome(self, session: &str, command: &Command, mut outcome: Outcome) -> Result<()> {
        write_file(command, &mut outcome.reply)?;
        self.notes(&outcome.notes);
        if command.output_path() == Some(Path::new("-")) {
            return Ok(());
        }
        let Outcome { reply, tab, notes } = &outcome;
        if let (Reply::Snapshot(SnapshotReply::Text(snapshot)), false) = (reply, self.json) {
            let is_terminal = anstream::stdout().is_terminal();
            if is_terminal {
                let counts = format!("{} refs, about {} tokens", snapshot.refs, snapshot.tokens);
                say(&format!("{DIM}{counts}{DIM:#}"));
            }
            if is_terminal || anstream::ColorChoice::global() == anstream::ColorChoice::Always {
                return self.write(&(), &highlight::snapshot(&escape_unsafe(&snapshot.text)));
            }
        }
        // Raw values (`eval`, `get`) are written to a pipe or file unescaped.
        if command.spec().is_raw && !self.json && !anstream::stdout().is_terminal() {
            return raw(format!("{reply}\n").as_bytes());
        }
        self.print(&ReplyEnvelope { ok: true, session, tab: *tab, reply, notes, file: None }, reply)
    }

    /// Prints the notes of a result to standard error. With JSON they are part of the result.
    pub fn notes(self, notes: &[Note]) {
        for note in notes.iter().filter(|_| !self.json) {
            let sentence = note.to_string();
            // Some are specified with a leading `Note:`.
            let (word, rest) = match sentence.strip_prefix("Note: ") {
                Some(rest) => ("Note:", rest),
                None => ("note:", &*sentence),
            };
            say(&format!("{YELLOW}{word}{YELLOW:#} {}", escape_unsafe(rest)));
        }
    }

    /// Prints a result that has no page text.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub fn result<T: Serialize + Display>(self, result: &T) -> Result<()> {
        self.report(true, result)
    }

    /// Prints a result with its own `ok`.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub fn report<T: Serialize + Display>(self, ok: bool, result: &T) -> Result<()> {
        self.write(&Envelope { ok, result }, result)
    }

    /// Prints a result whose JSON has a shape of its own, without an envelope.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub fn bare<T: Serialize + Display>(self, result: &T) -> Result<()> {
        self.print(result, result)
    }

    /// The same, with a text of its own.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub fn bare_text(self, result: &impl Serialize, text: &impl Display) -> Result<()> {
        self.print(result, text)
    }

    fn print(self, envelope: &impl Serialize, text: &impl Display) -> Result<()> {
        self.write(envelope, &escape_unsafe(&text.to_string()))
    }

    /// Prints text without terminal control sequences, or the envelope.
    fn write(self, envelope: &impl Serialize, text: &impl Display) -> Result<()> {
        let mut out = anstream::stdout().lock();
        let printed = if self.json {
            serde_json::to_string(envelope)
                .map_err(Into::into)
                .and_then(|envelope| writeln!(out, "{}", escape_unsafe(&envelope)))
        } else {
            writeln!(out, "{text}")
        };
        match printed.and_then(|()| out.flush()) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                Err(Error::new(Code::FileWriteFailed).message(format!("standard output: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// Prints an error to standard error.
    pub fn error(self, error: &Error) {
        if self.json || json_errors() {
            say(&error_json(error));
            return;
        }
        let details = error.details();
        self.notes(&details.notes);
        say(&format!("{RED}error:{RED:#} {}", escape_unsafe(&details.message)));
        for (key, fact) in details.evidence.iter().flatten() {
            if let (true, Evidence::List(lines)) = (LISTED.contains(&&**key), fact) {
                for line in lines {
                    let line = evidence_line(key, line);
                    say(&format!("  {}", escape_unsafe(&line)));
                }
            }
        }
        let hint = details.retry_hint;
        say(&format!("{DIM}  [{}] {hint}:{DIM:#} {}", details.code, hint.advice()));
    }
}

/// Formats one line of evidence. Bare page text is quoted; other lines have it quoted already.
pub(crate) fn evidence_line<'l>(key: &str, line: &'l str) -> Cow<'l, str> {
    match key {
        "options" | "title" | "thrown" | "holds" => Cow::Owned(quoted(line)),
        _ => Cow::Borrowed(line),
    }
}

/// Prints a line to standard error.
pub fn say(text: &str) {
    // A failure cannot be reported anywhere.
    _ = writeln!(anstream::stderr(), "{text}");
}

/// Prints a line to standard error, in place of the one before.
pub(crate) fn say_in_place(text: &str) {
    _ = write!(anstream::stderr(), "\r{text}");
}

/// Serializes an error as `--json` prints it.
pub(crate) fn error_json(error: &Error) -> String {
    // The error object is specified and has no notes.
    let (error, notes) = error.clone().without_notes();
    let envelope = ErrorEnvelope { ok: false, status: "error", error: &error, notes: &notes };
    escape_unsafe(&serde_json::to_string_pretty(&envelope).unwrap_or_default()).into_owned()
}

/// Serializes an outcome as `--json` prints it, with the file of its reply if that is not written.
pub(crate) fn json(session: &str, outcome: &Outcome, file: Option<&InlineFile>) -> String {
    let Outcome { reply, tab, notes } = outcome;
    let envelope = ReplyEnvelope { ok: true, session, tab: *tab, reply, notes, file };
    let json = serde_json::to_string(&envelope).expect("a reply is JSON");
    escape_unsafe(&json).into_owned()
}

/// Writes the file of a reply and stores its path in the reply.
pub(crate) fn write_file(command: &Command, reply: &mut Reply) -> Result<()> {
    let Some(file) = reply.verb_reply_mut().file() else { return Ok(()) };
    let (stem, extension) = file.name;
    let path = command.output_path().map_or_else(|| unused_path(stem, extension), Path::to_owned);
    let data = std::mem::take(file.data);
    let written = match file.is_private {
        true => write_private(&path, &data),
        false if path.as_os_str() == "-" => {
            let mut out = std::io::stdout().lock();
            out.write_all(&data).and_then(|()| out.flush())
        }
        false => std::fs::write(&path, &data),
    };
    written.map_err(|error| {
        Error::new(Code::FileWriteFailed)
            .message(format!("`{}` cannot be written: {error}", path.display()))
    })?;
    *file.path = Some(path);
    Ok(())
}

/// Read permission of a written file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers {
    Anybody,
    Owner,
}

/// Writes a file atomically, replacing an existing one. A symbolic link is replaced, never followed.
pub(crate) fn replace_file(path: &Path, data: &[u8], readers: Readers) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let mode = if readers == Readers::Owner { 0o600 } else { 0o666 };
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    for number in 0.. {
        let temporary = folder.join(format!(".{name}.{}.{number}", std::process::id()));
        let made =
            std::fs::File::options().write(true).create_new(true).mode(mode).open(&temporary);
        let mut file = match made {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
        };
        let written = file.write_all(data).and_then(|()| std::fs::rename(&temporary, path));
        if written.is_err() {
            _ = std::fs::remove_file(&temporary);
        }
        return written;
    }
    Ok(())
}

/// Writes a file that only its owner can read. Fails for terminals and pipes.
pub(crate) fn write_private(path: &Path, data: &[u8]) -> std::io::Result<()> {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    if std::fs::metadata(path).is_ok_and(|about| !about.is_file()) {
        return Err(std::io::Error::other("not a regular file"));
    }
    let mut file =
        std::fs::File::options().create(true).write(true).truncate(true).mode(0o600).open(path)?;
    // An existing file may have had wider permissions.
    file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    file.write_all(data)
}

/// Returns an unused file name with date and time.
fn unused_path(stem: &str, extension: &str) -> PathBuf {
    let now = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
    let named = |number: u32| match number {
        0 => PathBuf::from(format!("{stem}-{now}.{extension}")),
        number => PathBuf::from(format!("{stem}-{now}-{number}.{extension}")),
    };
    (0..).map(named).find(|path| !path.exists()).unwrap_or_else(|| named(0))
}

/// The current time, as in JSON reports.
pub(crate) fn timestamp() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

/// Prints bytes unchanged.
///
/// # Errors
/// When standard output cannot be written.
pub fn raw(bytes: &[u8]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::new(Code::FileWriteFailed).message(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbolic_link_is_replaced_and_never_followed() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("precious"), "precious").unwrap();
        for (target, name) in [("precious", "shot.png"), ("not-there", "page.pdf")] {
            std::os::unix::fs::symlink(at(target), at(name)).unwrap();
            for data in ["one", "two"] {
                replace_file(&at(name), data.as_bytes(), Readers::Owner).unwrap();
                assert_eq!(std::fs::read_to_string(at(name)).unwrap(), data);
            }
            let about = std::fs::symlink_metadata(at(name)).unwrap();
            assert!(about.is_file() && about.permissions().mode() & 0o777 == 0o600, "{about:?}");
        }
        assert_eq!(std::fs::read_to_string(at("precious")).unwrap(), "precious");
        assert!(!at("not-there").exists());
        std::fs::create_dir(at("folder")).unwrap();
        assert!(replace_file(&at("folder"), b"", Readers::Anybody).is_err());
        let names = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(names, 4, "no temporary files are left");
    }

    #[test]
    fn page_options_are_quoted() {
        assert_eq!(evidence_line("options", "Red\n[fatal]"), "\"Red\\n[fatal]\"");
        assert_eq!(evidence_line("candidates", "@e1 button \"Red\""), "@e1 button \"Red\"");
    }
}
