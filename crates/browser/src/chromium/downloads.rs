//! The download folder: the caller's choice, or a temporary one created on the first download.

use std::path::{Path, PathBuf};

/// The download folder of a browser.
#[derive(Debug)]
pub(crate) struct Downloads {
    folder: PathBuf,
    /// Created for this browser and removed with it.
    is_temporary: bool,
}

impl Downloads {
    /// Uses `folder`, or a temporary one if absent.
    pub(super) fn new(folder: Option<&Path>) -> Self {
        if let Some(folder) = folder {
            return Self { folder: folder.to_owned(), is_temporary: false };
        }
        let mut bytes = [0u8; 6];
        // A collision would only share a folder.
        _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let folder = std::env::temp_dir().join(format!("agbrowse-downloads-{hex}"));
        Self { folder, is_temporary: true }
    }

    /// Removes a temporary folder with its files. Called after a deliberate close only: when the browser was lost,
    /// the files stay.
    pub(super) fn remove(&self) {
        if self.is_temporary {
            _ = std::fs::remove_dir_all(&self.folder);
        }
    }

    /// Number of files that would be removed with the browser.
    pub(crate) fn temporary_files(&self) -> usize {
        let files = self.is_temporary.then(|| std::fs::read_dir(&self.folder).ok()).flatten();
        files.map_or(0, Iterator::count)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Renames a completed download from its GUID to its file name.
    pub(super) fn take_in(&self, guid: &str, name: &str) -> Result<PathBuf, String> {
        let from = self.folder.join(guid);
        // A suggested file name is never a path.
        let plain = name.rsplit(['/', '\\']).next().unwrap_or_default();
        let plain = match plain.trim_matches('.').trim() {
            "" => "download",
            plain => plain,
        };
        for number in 0..1000 {
            let to = self.folder.join(numbered(plain, number));
            // A dangling link counts as existing.
            if to.symlink_metadata().is_ok() {
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
        // Only if it is empty.
        if self.is_temporary {
            _ = std::fs::remove_dir(&self.folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn download_gets_a_unique_name_inside_its_folder() {
        let downloads = Downloads::new(None);
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
        assert_eq!(downloads.temporary_files(), 5);
        downloads.remove();
        assert!(!downloads.folder().exists());
    }

    #[test]
    fn chosen_download_folder_is_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let downloads = Downloads::new(Some(folder.path()));
        std::fs::write(folder.path().join("guid"), "x").unwrap();
        let path = downloads.take_in("guid", "a.txt").unwrap();
        assert_eq!(downloads.temporary_files(), 0);
        downloads.remove();
        drop(downloads);
        assert!(path.exists());
    }
}
