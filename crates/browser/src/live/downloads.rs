//! Where downloads go: a folder of this browser's own, made when the first one comes.

use std::path::{Path, PathBuf};

/// The folder of a browser's downloads. What is in it stays when the browser is closed: it is the user's.
#[derive(Debug)]
pub(crate) struct Downloads {
    folder: PathBuf,
}

impl Downloads {
    pub(super) fn new() -> Self {
        let mut bytes = [0u8; 6];
        // Two that are equal would only share a folder.
        _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Self { folder: std::env::temp_dir().join(format!("agbrowse-downloads-{hex}")) }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Gives a complete download its name. The browser calls it by its id until then.
    pub(super) fn take_in(&self, guid: &str, name: &str) -> Result<PathBuf, String> {
        let from = self.folder.join(guid);
        // A name is never a path.
        let plain = name.rsplit(['/', '\\']).next().unwrap_or_default();
        let plain = match plain.trim_matches('.').trim() {
            "" => "download",
            plain => plain,
        };
        for number in 0..1000 {
            let to = self.folder.join(numbered(plain, number));
            if to.exists() {
                continue;
            }
            return match std::fs::rename(&from, &to) {
                Ok(()) => Ok(to),
                Err(error) => Err(error.to_string()),
            };
        }
        Ok(from)
    }
}

/// `report.pdf`, `report (1).pdf` …
fn numbered(name: &str, number: u32) -> String {
    if number == 0 {
        return name.to_owned();
    }
    match name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()) {
        Some((stem, end)) => format!("{stem} ({number}).{end}"),
        None => format!("{name} ({number})"),
    }
}

impl Drop for Downloads {
    fn drop(&mut self) {
        // Only if nothing is in it.
        _ = std::fs::remove_dir(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_download_gets_a_name_of_its_own_and_no_other_place() {
        let downloads = Downloads::new();
        std::fs::create_dir_all(downloads.folder()).unwrap();
        for (name, expected) in [
            ("report.pdf", "report.pdf"),
            ("report.pdf", "report (1).pdf"),
            ("../../etc/passwd", "passwd"),
            ("..", "download"),
            ("a\\b\\c.txt", "c.txt"),
        ] {
            std::fs::write(downloads.folder().join("guid"), "x").unwrap();
            let path = downloads.take_in("guid", name).unwrap();
            assert_eq!(path, downloads.folder().join(expected), "{name}");
        }
        std::fs::remove_dir_all(downloads.folder()).unwrap();
    }
}
