//! Unpacking a zip that came from the network, without trusting it.
//!
//! Every file and link is read to its end, so every checksum is checked. Names and links that lead outside are
//! refused, and so is the whole archive with them: a browser with a hole is not worth keeping.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Component, Path, PathBuf};

use zip::ZipArchive;
use zip::result::ZipError;

/// More than ten times what a browser unpacks to.
const MAX_BYTES: u64 = 8 << 30;
/// No path on any of our systems is longer.
const MAX_LINK_BYTES: u64 = 4096;

/// Why an archive was not unpacked.
#[derive(Debug)]
pub(super) enum ArchiveError {
    /// The archive is damaged or hostile.
    Corrupt(String),
    /// The archive may be fine, the disk is not.
    Disk(PathBuf, io::Error),
}

type Result<T> = std::result::Result<T, ArchiveError>;

/// Unpack a zip into a folder that does not exist yet.
pub(super) fn unpack(archive: &Path, into: &Path) -> Result<()> {
    let file =
        File::open(archive).map_err(|error| ArchiveError::Disk(archive.to_owned(), error))?;
    let mut zip =
        ZipArchive::new(BufReader::new(file)).map_err(|error| unreadable(archive, error))?;
    fs::create_dir_all(into).map_err(|error| ArchiveError::Disk(into.to_owned(), error))?;
    let mut links = BTreeMap::new();
    let mut left = MAX_BYTES;
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index).map_err(|error| unreadable(archive, error))?;
        let name = entry.name().map_err(|error| unreadable(archive, error))?.into_owned();
        let path = into.join(inside(&name)?);
        let mode = entry.unix_mode();
        match kind(&name, mode)? {
            Kind::Folder => make_folder(&path)?,
            Kind::Link => {
                make_folder(path.parent().unwrap_or(into))?;
                links.insert(path, read_link(&name, &mut entry)?);
            }
            Kind::File => {
                make_folder(path.parent().unwrap_or(into))?;
                left -= write_file(&name, &mut entry, &path, left)?;
                set_mode(&path, mode)?;
            }
        }
    }
    // Links come last, when every folder and file is there: nothing is ever made through one of them.
    links.iter().try_for_each(|(path, target)| make_link(path, target))?;
    links.keys().try_for_each(|path| stays_inside(path, into))
}

enum Kind {
    Folder,
    Link,
    File,
}

fn kind(name: &str, mode: Option<u32>) -> Result<Kind> {
    match mode.unwrap_or(0) & 0o170_000 {
        0o120_000 => Ok(Kind::Link),
        _ if name.ends_with('/') => Ok(Kind::Folder),
        0 | 0o100_000 => Ok(Kind::File),
        _ => Err(ArchiveError::Corrupt(format!(
            "`{name}` is neither a file nor a folder nor a link"
        ))),
    }
}

/// The path of an entry, if it leads down and nowhere else.
fn inside(name: &str) -> Result<PathBuf> {
    let path = Path::new(name);
    let leads_down = path.components().all(|part| matches!(part, Component::Normal(_)));
    if name.is_empty() || !leads_down || name.contains(['\\', '\0']) {
        return Err(ArchiveError::Corrupt(format!(
            "`{}` leads outside the archive",
            name.escape_debug()
        )));
    }
    Ok(path.to_owned())
}

fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|error| taken_or_disk(path, error))
}

/// Copy an entry to its end; how much it was.
fn write_file(name: &str, entry: &mut impl Read, path: &Path, left: u64) -> Result<u64> {
    // A new file, so that the second of two entries with one name is noticed.
    let mut file = File::create_new(path).map_err(|error| taken_or_disk(path, error))?;
    let mut buffer = vec![0; 128 * 1024];
    let mut written = 0;
    loop {
        let count = entry.read(&mut buffer).map_err(|error| unreadable_entry(name, path, error))?;
        if count == 0 {
            return Ok(written);
        }
        written += count as u64;
        if written > left {
            return Err(ArchiveError::Corrupt(format!(
                "it unpacks to more than {} GB",
                MAX_BYTES >> 30
            )));
        }
        file.write_all(&buffer[..count])
            .map_err(|error| ArchiveError::Disk(path.to_owned(), error))?;
    }
}

fn read_link(name: &str, entry: &mut impl Read) -> Result<PathBuf> {
    let mut target = Vec::new();
    // One byte more than allowed, so that a good target is read to its end and its checksum with it.
    entry
        .take(MAX_LINK_BYTES + 1)
        .read_to_end(&mut target)
        .map_err(|error| unreadable_entry(name, Path::new(name), error))?;
    let is_plain =
        !target.is_empty() && target.len() as u64 <= MAX_LINK_BYTES && !target.contains(&0);
    let target = String::from_utf8(target).ok().filter(|_| is_plain);
    target
        .map(PathBuf::from)
        .ok_or_else(|| ArchiveError::Corrupt(format!("link `{name}` has no readable target")))
}

#[cfg(unix)]
fn make_link(path: &Path, target: &Path) -> Result<()> {
    std::os::unix::fs::symlink(target, path).map_err(|error| taken_or_disk(path, error))
}

#[cfg(not(unix))]
fn make_link(path: &Path, _target: &Path) -> Result<()> {
    Err(ArchiveError::Corrupt(format!(
        "link `{}` in an archive for a system without links",
        path.display()
    )))
}

/// Follow a link to its very end. Reading its text would not do: `a/../..` stays inside when `a` is a folder
/// and may not when `a` is itself a link.
fn stays_inside(path: &Path, root: &Path) -> Result<()> {
    let root = root.canonicalize().map_err(|error| ArchiveError::Disk(root.to_owned(), error))?;
    match path.canonicalize() {
        Ok(end) if end.starts_with(&root) => Ok(()),
        Ok(_) => Err(ArchiveError::Corrupt(format!(
            "link `{}` leads outside the archive",
            shown(path, &root)
        ))),
        Err(_) => {
            Err(ArchiveError::Corrupt(format!("link `{}` leads nowhere", shown(path, &root))))
        }
    }
}

fn shown(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: Option<u32>) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(kept_mode(mode)))
        .map_err(|error| ArchiveError::Disk(path.to_owned(), error))
}

/// Keep who may read, write and run; drop set-user-id and its like, and never lock ourselves out.
#[cfg(unix)]
fn kept_mode(mode: Option<u32>) -> u32 {
    (mode.unwrap_or(0o644) & 0o777) | 0o600
}

#[cfg(not(unix))]
fn set_mode(_path: &Path, _mode: Option<u32>) -> Result<()> {
    Ok(())
}

/// In a folder of our own, a name that is taken was taken by the archive itself.
fn taken_or_disk(path: &Path, error: io::Error) -> ArchiveError {
    match error.kind() {
        io::ErrorKind::AlreadyExists
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::IsADirectory => {
            ArchiveError::Corrupt(format!("two entries want to be `{}`", path.display()))
        }
        _ => ArchiveError::Disk(path.to_owned(), error),
    }
}

fn unreadable(archive: &Path, error: ZipError) -> ArchiveError {
    match error {
        ZipError::Io(error) if is_the_systems(&error) => {
            ArchiveError::Disk(archive.to_owned(), error)
        }
        error => ArchiveError::Corrupt(error.to_string()),
    }
}

fn unreadable_entry(name: &str, path: &Path, error: io::Error) -> ArchiveError {
    if is_the_systems(&error) {
        ArchiveError::Disk(path.to_owned(), error)
    } else {
        ArchiveError::Corrupt(format!("`{name}`: {error}"))
    }
}

/// Only the system's own errors carry a number; a bad checksum or a short stream has none. An invalid input
/// is the archive's after all: it sent the reader to a place before the first byte.
fn is_the_systems(error: &io::Error) -> bool {
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

    fn zipped(entries: &[Entry]) -> Vec<u8> {
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

    fn unpacked(bytes: &[u8]) -> (TempDir, Result<()>) {
        let home = TempDir::new().expect("a temporary folder");
        let archive = home.path().join("a.zip");
        fs::write(&archive, bytes).expect("a file in it");
        let outcome = unpack(&archive, &home.path().join("out"));
        (home, outcome)
    }

    fn refused(bytes: &[u8]) -> String {
        match unpacked(bytes) {
            (_, Err(ArchiveError::Corrupt(why))) => why,
            (_, other) => panic!("expected a refusal, got {other:?}"),
        }
    }

    #[test]
    fn files_modes_and_links_come_out_as_they_went_in() {
        let (home, outcome) = unpacked(&zipped(&[
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
    fn names_that_lead_outside_are_refused() {
        for name in
            ["../evil", "a/../../evil", "/etc/evil", "a/..", "..", "a\\..\\evil", "a\0b", ""]
        {
            assert!(inside(name).is_err(), "{name:?}");
        }
        for name in ["a", "a/b", "a b/ü.pak", "..a/b..", "a/"] {
            assert!(inside(name).is_ok(), "{name:?}");
        }
        let why = refused(&zipped(&[F("app/run", "", 0o755), F("../evil", "x", 0o644)]));
        assert_eq!(why, "`../evil` leads outside the archive");
    }

    #[test]
    fn links_that_lead_outside_are_refused() {
        let check = |entries: &[Entry], expected: &str| {
            let why = refused(&zipped(entries));
            assert!(why.contains(expected), "{why}");
        };
        check(&[L("out", "/etc/passwd")], "leads outside");
        check(&[L("out", "..")], "leads outside");
        check(&[L("out", "nothing-here")], "leads nowhere");
        check(&[L("one", "two"), L("two", "one")], "leads nowhere");
        // Read as text, the second link stays inside; followed, it does not.
        check(
            &[D("a/b/c/"), L("a/b/c/top", "../../.."), L("hop", "a/b/c/top/..")],
            "leads outside",
        );
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let why = refused(&zipped(&[L("app", "/tmp"), F("app/evil", "x", 0o644)]));
        assert!(why.contains("two entries want to be"), "{why}");
        let why = refused(&zipped(&[L("app", "/tmp"), L("app/evil", "x")]));
        assert!(why.contains("two entries want to be"), "{why}");
        assert!(fs::symlink_metadata("/tmp/evil").is_err());
    }

    #[test]
    fn a_name_used_twice_is_refused() {
        let why = refused(&zipped(&[F("a", "file", 0o644), F("a/b", "below it", 0o644)]));
        assert!(why.contains("two entries want to be"), "{why}");
    }

    #[test]
    fn a_changed_byte_is_noticed_anywhere() {
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
            assert_eq!(refused(&bytes), "`app/run`: Invalid checksum", "byte {at}");
        }
    }

    #[test]
    fn special_bits_are_dropped() {
        let check = |mode, expected| assert_eq!(kept_mode(mode), expected, "{mode:?}");
        check(Some(0o104_755), 0o755);
        check(Some(0o100_640), 0o640);
        check(Some(0o100_000), 0o600);
        check(None, 0o644);
    }

    #[test]
    fn a_shortened_archive_is_noticed() {
        let whole = zipped(&[F("app/run", "#!/bin/sh\n", 0o755)]);
        for length in [0, 1, 20, whole.len() / 2, whole.len() - 1] {
            refused(&whole[..length]);
        }
    }

    #[test]
    fn a_missing_archive_is_not_called_corrupt() {
        let home = TempDir::new().expect("a temporary folder");
        let outcome = unpack(&home.path().join("none.zip"), &home.path().join("out"));
        assert!(matches!(outcome, Err(ArchiveError::Disk(..))), "{outcome:?}");
    }

    #[test]
    fn a_device_is_no_file() {
        assert!(kind("dev", Some(0o020_644)).is_err());
        assert!(matches!(kind("run", None), Ok(Kind::File)));
        assert!(matches!(kind("app/", Some(0o040_755)), Ok(Kind::Folder)));
    }
}
