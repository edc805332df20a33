//! Zip extraction for downloaded, untrusted archives.
//!
//! Every entry is read to its end, so every checksum is verified. One path or symbolic link that points outside the
//! target directory rejects the whole archive.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Component, Path, PathBuf};

use zip::ZipArchive;
use zip::result::ZipError;

/// Limit of the unpacked size: more than ten times that of a browser.
const MAX_BYTES: u64 = 8 << 30;
/// Limit of a link target: no path on a supported system is longer.
const MAX_LINK_BYTES: u64 = 4096;

/// Extraction error.
#[derive(Debug)]
pub(super) enum ArchiveError {
    /// The archive is damaged or hostile.
    Corrupt(String),
    /// The file system failed; the archive may be fine.
    Disk(PathBuf, io::Error),
}

type Result<T> = std::result::Result<T, ArchiveError>;

/// Extracts a zip into a directory that does not exist yet.
pub(super) fn unpack(archive: &Path, into: &Path) -> Result<()> {
    let file =
        File::open(archive).map_err(|error| ArchiveError::Disk(archive.to_owned(), error))?;
    let mut zip =
        ZipArchive::new(BufReader::new(file)).map_err(|error| zip_error(archive, error))?;
    fs::create_dir_all(into).map_err(|error| ArchiveError::Disk(into.to_owned(), error))?;
    let mut links = BTreeMap::new();
    let mut remaining = MAX_BYTES;
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index).map_err(|error| zip_error(archive, error))?;
        let name = entry.name().map_err(|error| zip_error(archive, error))?.into_owned();
        let path = into.join(relative_path(&name)?);
        let mode = entry.unix_mode();
        match entry_kind(&name, mode)? {
            Kind::Folder => create_dir(&path)?,
            Kind::Link => {
                create_dir(path.parent().unwrap_or(into))?;
                links.insert(path, read_link(&name, &mut entry)?);
            }
            Kind::File => {
                create_dir(path.parent().unwrap_or(into))?;
                remaining -= write_file(&name, &mut entry, &path, remaining)?;
                set_mode(&path, mode)?;
            }
        }
    }
    // Links come last, after all directories and files: nothing is ever written through one of them.
    links.iter().try_for_each(|(path, target)| create_link(path, target))?;
    links.keys().try_for_each(|path| check_link_target(path, into))
}

enum Kind {
    Folder,
    Link,
    File,
}

fn entry_kind(name: &str, mode: Option<u32>) -> Result<Kind> {
    match mode.unwrap_or(0) & 0o170_000 {
        0o120_000 => Ok(Kind::Link),
        _ if name.ends_with('/') => Ok(Kind::Folder),
        0 | 0o100_000 => Ok(Kind::File),
        _ => Err(ArchiveError::Corrupt(format!(
            "`{name}` is not a file, a directory or a symbolic link"
        ))),
    }
}

/// Returns the relative path of an entry; rejects absolute paths and `..`.
fn relative_path(name: &str) -> Result<PathBuf> {
    let path = Path::new(name);
    let is_relative = path.components().all(|part| matches!(part, Component::Normal(_)));
    if name.is_empty() || !is_relative || name.contains(['\\', '\0']) {
        return Err(ArchiveError::Corrupt(format!(
            "`{}` points outside the archive",
            name.escape_debug()
        )));
    }
    Ok(path.to_owned())
}

fn create_dir(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|error| write_error(path, error))
}

/// Writes an entry to a new file; returns its size.
fn write_file(name: &str, entry: &mut impl Read, path: &Path, remaining: u64) -> Result<u64> {
    // `create_new` detects a second entry with the same path.
    let mut file = File::create_new(path).map_err(|error| write_error(path, error))?;
    let mut buffer = vec![0; 128 * 1024];
    let mut written = 0;
    loop {
        let count = entry.read(&mut buffer).map_err(|error| entry_error(name, path, error))?;
        if count == 0 {
            return Ok(written);
        }
        written += count as u64;
        if written > remaining {
            return Err(ArchiveError::Corrupt(format!(
                "its unpacked size exceeds {} GB",
                MAX_BYTES >> 30
            )));
        }
        file.write_all(&buffer[..count])
            .map_err(|error| ArchiveError::Disk(path.to_owned(), error))?;
    }
}

fn read_link(name: &str, entry: &mut impl Read) -> Result<PathBuf> {
    let mut target = Vec::new();
    // One byte more than the limit, so that a valid target is read to its end and its checksum verified.
    entry
        .take(MAX_LINK_BYTES + 1)
        .read_to_end(&mut target)
        .map_err(|error| entry_error(name, Path::new(name), error))?;
    let is_plain =
        !target.is_empty() && target.len() as u64 <= MAX_LINK_BYTES && !target.contains(&0);
    let target = String::from_utf8(target).ok().filter(|_| is_plain);
    target
        .map(PathBuf::from)
        .ok_or_else(|| ArchiveError::Corrupt(format!("link `{name}` has no valid target")))
}

#[cfg(unix)]
fn create_link(path: &Path, target: &Path) -> Result<()> {
    std::os::unix::fs::symlink(target, path).map_err(|error| write_error(path, error))
}

#[cfg(not(unix))]
fn create_link(path: &Path, _target: &Path) -> Result<()> {
    Err(ArchiveError::Corrupt(format!("link `{}` is not supported on this system", path.display())))
}

/// Checks where a link resolves to. Its text alone does not tell: `a/../..` stays inside if `a` is a directory and may
/// escape if `a` is itself a link.
fn check_link_target(path: &Path, root: &Path) -> Result<()> {
    let root = root.canonicalize().map_err(|error| ArchiveError::Disk(root.to_owned(), error))?;
    match path.canonicalize() {
        Ok(end) if end.starts_with(&root) => Ok(()),
        Ok(_) => Err(ArchiveError::Corrupt(format!(
            "link `{}` points outside the archive",
            relative_to(path, &root)
        ))),
        Err(_) => {
            Err(ArchiveError::Corrupt(format!("link `{}` is broken", relative_to(path, &root))))
        }
    }
}

fn relative_to(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: Option<u32>) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(safe_mode(mode)))
        .map_err(|error| ArchiveError::Disk(path.to_owned(), error))
}

/// Keeps the permission bits, drops set-user-id, set-group-id and sticky, and adds read and write for the owner.
#[cfg(unix)]
fn safe_mode(mode: Option<u32>) -> u32 {
    (mode.unwrap_or(0o644) & 0o777) | 0o600
}

#[cfg(not(unix))]
fn set_mode(_path: &Path, _mode: Option<u32>) -> Result<()> {
    Ok(())
}

/// Maps a write error. The target directory is ours alone, so an existing path is a duplicate entry.
fn write_error(path: &Path, error: io::Error) -> ArchiveError {
    match error.kind() {
        io::ErrorKind::AlreadyExists
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::IsADirectory => {
            ArchiveError::Corrupt(format!("two entries have the path `{}`", path.display()))
        }
        _ => ArchiveError::Disk(path.to_owned(), error),
    }
}

fn zip_error(archive: &Path, error: ZipError) -> ArchiveError {
    match error {
        ZipError::Io(error) if is_os_error(&error) => ArchiveError::Disk(archive.to_owned(), error),
        error => ArchiveError::Corrupt(error.to_string()),
    }
}

fn entry_error(name: &str, path: &Path, error: io::Error) -> ArchiveError {
    if is_os_error(&error) {
        ArchiveError::Disk(path.to_owned(), error)
    } else {
        ArchiveError::Corrupt(format!("`{name}`: {error}"))
    }
}

/// Returns true for errors of the operating system, which carry an errno; a bad checksum or a short stream does not.
/// `EINVAL` is the archive's fault: it made the reader seek before the first byte.
fn is_os_error(error: &io::Error) -> bool {
    error.raw_os_error().is_some() && error.kind() != io::ErrorKind::InvalidInput
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use tempfile::TempDir;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    enum Entry<'a> {
        File(&'a str, &'a str, u32),
        Link(&'a str, &'a str),
        Folder(&'a str),
    }
    use Entry::{File as F, Folder as D, Link as L};

    fn zip_of(entries: &[Entry]) -> Vec<u8> {
        let mut writer = ZipWriter::new(io::Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default();
        for entry in entries {
            match entry {
                F(name, text, mode) => {
                    writer.start_file(*name, options.unix_permissions(*mode)).expect("a new file");
                    writer.write_all(text.as_bytes()).expect("memory is there");
                }
                L(name, target) => writer.add_symlink(*name, *target, options).expect("a new link"),
                D(name) => writer.add_directory(*name, options).expect("a new folder"),
            }
        }
        writer.finish().expect("memory is there").into_inner()
    }

    fn unpack_bytes(bytes: &[u8]) -> (TempDir, Result<()>) {
        let home = TempDir::new().expect("a temporary folder");
        let archive = home.path().join("a.zip");
        fs::write(&archive, bytes).expect("a file in it");
        let outcome = unpack(&archive, &home.path().join("out"));
        (home, outcome)
    }

    fn rejection(bytes: &[u8]) -> String {
        match unpack_bytes(bytes) {
            (_, Err(ArchiveError::Corrupt(why))) => why,
            (_, other) => panic!("expected a rejection, got {other:?}"),
        }
    }

    #[test]
    fn files_modes_and_links_are_extracted() {
        let (home, outcome) = unpack_bytes(&zip_of(&[
            D("app/"),
            F("app/run", "#!/bin/sh\n", 0o755),
            F("app/data/words.txt", "hello", 0o640),
            L("app/current", "data"),
            L("app/data/up", "../run"),
        ]));
        outcome.expect("a good archive");
        let out = home.path().join("out/app");
        let mode = |name: &str| {
            fs::metadata(out.join(name)).expect("it is there").permissions().mode() & 0o7777
        };
        assert_eq!(mode("run"), 0o755);
        assert_eq!(mode("data/words.txt"), 0o640);
        assert_eq!(
            fs::read_to_string(out.join("current/words.txt")).expect("through the link"),
            "hello"
        );
        assert_eq!(fs::read_link(out.join("data/up")).expect("a link"), Path::new("../run"));
    }

    #[test]
    fn paths_outside_the_archive_are_rejected() {
        for name in
            ["../evil", "a/../../evil", "/etc/evil", "a/..", "..", "a\\..\\evil", "a\0b", ""]
        {
            assert!(relative_path(name).is_err(), "{name:?}");
        }
        for name in ["a", "a/b", "a b/ü.pak", "..a/b..", "a/"] {
            assert!(relative_path(name).is_ok(), "{name:?}");
        }
        let why = rejection(&zip_of(&[F("app/run", "", 0o755), F("../evil", "x", 0o644)]));
        assert_eq!(why, "`../evil` points outside the archive");
    }

    #[test]
    fn links_outside_the_archive_are_rejected() {
        let check = |entries: &[Entry], expected: &str| {
            let why = rejection(&zip_of(entries));
            assert!(why.contains(expected), "{why}");
        };
        check(&[L("out", "/etc/passwd")], "points outside");
        check(&[L("out", "..")], "points outside");
        check(&[L("out", "nothing-here")], "is broken");
        check(&[L("one", "two"), L("two", "one")], "is broken");
        // The text of the second link stays inside; its resolved path does not.
        check(
            &[D("a/b/c/"), L("a/b/c/top", "../../.."), L("hop", "a/b/c/top/..")],
            "points outside",
        );
    }

    #[test]
    fn entries_are_not_written_through_a_link() {
        let why = rejection(&zip_of(&[L("app", "/tmp"), F("app/evil", "x", 0o644)]));
        assert!(why.contains("two entries have the path"), "{why}");
        let why = rejection(&zip_of(&[L("app", "/tmp"), L("app/evil", "x")]));
        assert!(why.contains("two entries have the path"), "{why}");
        assert!(fs::symlink_metadata("/tmp/evil").is_err());
    }

    #[test]
    fn duplicate_path_is_rejected() {
        let why = rejection(&zip_of(&[F("a", "file", 0o644), F("a/b", "below it", 0o644)]));
        assert!(why.contains("two entries have the path"), "{why}");
    }

    #[test]
    fn any_changed_byte_fails_the_checksum() {
        let text = "all work and no play";
        let mut writer = ZipWriter::new(io::Cursor::new(Vec::new()));
        let stored =
            SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        writer.start_file("app/run", stored).expect("a new file");
        writer.write_all(text.as_bytes()).expect("memory is there");
        let whole = writer.finish().expect("memory is there").into_inner();
        let start = whole.windows(text.len()).position(|window| window == text.as_bytes());
        let start = start.expect("stored as it is");
        for at in start..start + text.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            assert_eq!(rejection(&bytes), "`app/run`: Invalid checksum", "byte {at}");
        }
    }

    #[test]
    fn special_mode_bits_are_dropped() {
        let check = |mode, expected| assert_eq!(safe_mode(mode), expected, "{mode:?}");
        check(Some(0o104_755), 0o755);
        check(Some(0o100_640), 0o640);
        check(Some(0o100_000), 0o600);
        check(None, 0o644);
    }

    #[test]
    fn truncated_archive_is_rejected() {
        let whole = zip_of(&[F("app/run", "#!/bin/sh\n", 0o755)]);
        for length in [0, 1, 20, whole.len() / 2, whole.len() - 1] {
            rejection(&whole[..length]);
        }
    }

    #[test]
    fn missing_archive_is_a_disk_error() {
        let home = TempDir::new().expect("a temporary folder");
        let outcome = unpack(&home.path().join("none.zip"), &home.path().join("out"));
        assert!(matches!(outcome, Err(ArchiveError::Disk(..))), "{outcome:?}");
    }

    #[test]
    fn device_entries_are_rejected() {
        assert!(entry_kind("dev", Some(0o020_644)).is_err());
        assert!(matches!(entry_kind("run", None), Ok(Kind::File)));
        assert!(matches!(entry_kind("app/", Some(0o040_755)), Ok(Kind::Folder)));
    }
}
