//! Access policy for URLs and local files: the default for MCP clients, where a page may talk a model into opening
//! unrelated addresses. The command line and the library are not restricted.
//!
//! Checked before an open or upload, for each file request of a page (`chromium::local_files`), and again on the
//! tab's URL and frame URLs after each command, because an allowed page can lead to a denied one.

use crate::error::{Code, Error, Result};
use crate::navigate;
use crate::tab::Tab;
use cdp::Deadline;
use cdp::protocol::page::{FrameTree, GetFrameTree};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// Schemes allowed for every caller. Of `about:`, only empty documents.
const OPEN_SCHEMES: &[&str] = &["http", "https", "data", "blob"];

/// URLs and files that a restricted caller may open, read and upload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Access {
    /// Folders whose files may be opened and uploaded, subfolders included. Symbolic links are resolved before the
    /// check.
    pub folders: Vec<PathBuf>,
    /// Schemes beside `http`, `https`, `data`, `blob` and `about:blank`. With `file`, all files may be opened.
    pub schemes: Vec<String>,
}

impl Access {
    /// Checks that a URL may be opened.
    ///
    /// # Errors
    /// `access.denied`.
    pub fn check_url(&self, url: &str) -> Result<()> {
        // URL parsing strips tabs and newlines anywhere, and control characters at both ends.
        let url: String = url.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')).collect();
        let url = url.trim_matches(|c: char| c <= ' ');
        let Some((scheme, rest)) = url.split_once(':') else { return Err(denied_scheme("")) };
        let scheme = scheme.to_ascii_lowercase();
        let is_allowed = self.schemes.iter().any(|it| it.eq_ignore_ascii_case(&scheme));
        match &*scheme {
            scheme if OPEN_SCHEMES.contains(&scheme) => Ok(()),
            "about" if is_empty_document(rest) => Ok(()),
            // It shows the source of the inner URL, so that one is checked.
            "view-source" if is_allowed => self.check_url(rest),
            _ if is_allowed => Ok(()),
            "file" => match file_path(rest) {
                Some(path) => self.check_file(&path).map(|_| ()),
                None => Err(denied_file()),
            },
            scheme => Err(denied_scheme(scheme)),
        }
    }

    /// Checks that a file may be read; returns its path with symbolic links resolved.
    ///
    /// # Errors
    /// `access.denied`.
    pub fn check_file(&self, path: &Path) -> Result<PathBuf> {
        let real = real_path(path).ok_or_else(denied_file)?;
        let folders = self.folders.iter().filter_map(|folder| std::fs::canonicalize(folder).ok());
        let is_within = folders.into_iter().any(|folder| real.starts_with(folder));
        if is_within { Ok(real) } else { Err(denied_file()) }
    }

    /// The path of a `file:` URL on this machine.
    pub fn path_of(url: &str) -> Option<PathBuf> {
        let (scheme, rest) = url.split_once(':')?;
        if scheme.eq_ignore_ascii_case("file") { file_path(rest) } else { None }
    }

    /// Checks the URLs of a tab: its document and its frames.
    pub(crate) async fn check_tab(&self, tab: &Tab, deadline: Deadline) -> Result<()> {
        let url = tab.state.borrow().url.clone();
        self.check_shown(&url)?;
        // Only `file:` documents can embed `file:` frames; a refused page is replaced by an error page.
        if !["file:", "view-source:", "chrome-error:"].iter().any(|it| url.starts_with(it)) {
            return Ok(());
        }
        // An open dialog blocks the page, and so the call's response; nothing can be read meanwhile.
        if tab.state.borrow().dialog.is_some() {
            return Ok(());
        }
        let reply = tab.channel.call(GetFrameTree {}, deadline).await;
        let tree = reply.map_err(|error| tab.explain(error))?.frame_tree;
        tree.as_ref().map_or(Ok(()), |tree| self.check_frames(tree))
    }

    fn check_frames(&self, tree: &FrameTree) -> Result<()> {
        if let Some(frame) = &tree.frame {
            let refused = frame.unreachable_url.as_ref().filter(|url| url.starts_with("file:"));
            frame.url.iter().chain(refused).try_for_each(|url| self.check_shown(url))?;
        }
        tree.child_frames.iter().flatten().try_for_each(|child| self.check_frames(child))
    }

    /// Checks a document's URL. Error pages pass: they show nothing but the failure.
    pub(crate) fn check_shown(&self, url: &str) -> Result<()> {
        match url.is_empty() || url.starts_with("chrome-error:") {
            true => Ok(()),
            false => self.check_url(url),
        }
    }

    /// Normalizes a typed address and checks that it may be opened.
    pub(crate) fn address(access: Option<&Self>, typed: &str) -> Result<String> {
        let url = navigate::address(typed)?;
        access.map_or(Ok(()), |access| access.check_url(&url))?;
        Ok(url)
    }
}

fn denied_scheme(scheme: &str) -> Error {
    Error::new(Code::AccessDenied)
        .message(format!(
            "addresses with `{scheme}:` are not opened here: `--allow-schemes {scheme}` of `agbrowse mcp` allows them"
        ))
        .evidence("scheme", scheme)
}

/// Reveals neither the path nor the existence of the file.
fn denied_file() -> Error {
    Error::new(Code::AccessDenied).message(
        "the file is in no folder that may be read here (the client's roots, or the folder the server runs in): \
         `--allow-files DIR` of `agbrowse mcp` allows another one",
    )
}

fn is_empty_document(rest: &str) -> bool {
    let name = rest.split(['?', '#']).next().unwrap_or_default();
    name.eq_ignore_ascii_case("blank") || name.eq_ignore_ascii_case("srcdoc")
}

/// The path after `file:`; `None` for another host.
fn file_path(rest: &str) -> Option<PathBuf> {
    let plain = rest.split(['?', '#']).next().unwrap_or_default().replace('\\', "/");
    let path = match plain.strip_prefix("//") {
        Some(rest) => {
            let at = rest.find('/').unwrap_or(rest.len());
            let host = &rest[..at];
            (host.is_empty() || host.eq_ignore_ascii_case("localhost")).then(|| &rest[at..])?
        }
        None => &*plain,
    };
    let path = PathBuf::from(OsString::from_vec(percent_decoded(path)?));
    path.is_absolute().then_some(path)
}

fn percent_decoded(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.as_bytes().iter();
    while let Some(&byte) = bytes.next() {
        let hex = |digit: Option<&u8>| (*digit? as char).to_digit(16);
        match (byte, bytes.as_slice()) {
            (b'%', digits) => match (hex(digits.first()), hex(digits.get(1))) {
                (Some(high), Some(low)) => {
                    bytes.nth(1);
                    out.push((high * 16 + low) as u8);
                }
                _ => out.push(b'%'),
            },
            (byte, _) => out.push(byte),
        }
    }
    // A path cannot contain NUL.
    (!out.contains(&0)).then_some(out)
}

/// Resolves symbolic links and dots. Missing components are appended to their deepest existing folder.
fn real_path(path: &Path) -> Option<PathBuf> {
    if !path.is_absolute() {
        return None;
    }
    let mut missing: Vec<OsString> = Vec::new();
    let mut at = path;
    loop {
        match std::fs::canonicalize(at) {
            Ok(mut real) => {
                real.extend(missing.iter().rev());
                return Some(real);
            }
            // A dangling link may get a target later.
            Err(_) if std::fs::symlink_metadata(at).is_ok() => return None,
            Err(_) => match (at.components().next_back()?, at.parent()) {
                (Component::Normal(name), Some(above)) => {
                    missing.push(name.to_owned());
                    at = above;
                }
                _ => return None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An allowed folder with a file, a link out of it, a link within it, and a sibling folder.
    fn allowed_folder() -> (tempfile::TempDir, Access) {
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        std::fs::create_dir(at("in")).unwrap();
        std::fs::create_dir(at("inside-out")).unwrap();
        for name in ["in/a b.html", "inside-out/secret", "secret"] {
            std::fs::write(at(name), name).unwrap();
        }
        std::os::unix::fs::symlink(at("secret"), at("in/out")).unwrap();
        std::os::unix::fs::symlink(at("nothing"), at("in/nowhere")).unwrap();
        std::os::unix::fs::symlink(top.path(), at("in/up")).unwrap();
        std::os::unix::fs::symlink(at("in/a b.html"), at("in/same")).unwrap();
        let access = Access { folders: vec![at("in")], schemes: Vec::new() };
        (top, access)
    }

    #[test]
    fn files_outside_allowed_folders_are_denied() {
        let (top, access) = allowed_folder();
        let top = top.path().display().to_string();
        for (path, expected) in [
            ("in/a b.html", true),
            ("in/same", true),
            ("in/../in/same", true),
            ("in/not-there.html", true),
            ("in/", true),
            ("in/out", false),
            ("in/nowhere", false),
            ("in/up/secret", false),
            ("in/up/in/same", true),
            ("in/../secret", false),
            ("in/not-there/../../secret", false),
            ("inside-out/secret", false),
            ("secret", false),
            ("", false),
        ] {
            let path = format!("{top}/{path}");
            assert_eq!(access.check_file(Path::new(&path)).is_ok(), expected, "{path}");
            for url in [
                format!("file://{path}"),
                format!("FILE:{path}?query#part"),
                format!("fi\nle://localhost{}", path.replace('/', "%2f").replacen("%2f", "/", 1)),
            ] {
                assert_eq!(access.check_url(&url).is_ok(), expected, "{url}");
            }
        }
        assert!(access.check_file(Path::new("in/same")).is_err(), "relative to nothing known");
        assert!(access.check_url(&format!("file://server{top}/in/same")).is_err());
    }

    #[test]
    fn other_schemes_need_permission() {
        let none = Access::default();
        for url in [
            "http://a",
            "HTTPS://a",
            "data:text/html,1",
            "blob:http://a/1",
            "about:blank",
            "about:blank#x",
            "about:srcdoc",
        ] {
            assert!(none.check_url(url).is_ok(), "{url}");
        }
        for url in [
            "chrome://settings",
            "devtools://devtools/bundled/inspector.html",
            "about:version",
            "view-source:http://a",
            "view-source:file:///etc/passwd",
            "filesystem:http://a/temporary/x",
            "ftp://a",
            "javascript:1",
            "\u{1}file:///etc/passwd",
            "chrome-extension://abc/x",
            "",
        ] {
            let error = none.check_url(url).unwrap_err();
            assert_eq!(error.code(), Code::AccessDenied, "{url}");
        }
        let some =
            Access { folders: Vec::new(), schemes: vec!["view-source".into(), "Chrome".into()] };
        assert!(some.check_url("chrome://settings").is_ok());
        assert!(some.check_url("view-source:http://a").is_ok());
        assert!(some.check_url("view-source:file:///etc/passwd").is_err());
        let files = Access { folders: Vec::new(), schemes: vec!["file".into()] };
        assert!(files.check_url("file:///etc/passwd").is_ok());
        assert!(none.check_shown("chrome-error://chromewebdata/").is_ok());
    }
}
