//! Corpus of benchmark pages, and the loopback server for them.
//!
//! Saved pages refer to third parties that no longer exist: start browsers with [`ONLY_LOOPBACK`].

use crate::{Result, project};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Chromium argument that resolves no host but loopback, so that requests to others fail at once.
pub const ONLY_LOOPBACK: &str = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1";

/// Number of generated pages when there is no corpus.
const GENERATED: usize = 20;

/// Pages by name.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// The pages, sorted by name.
    pub pages: Vec<Page>,
    /// The pages were generated because there are no saved ones.
    pub is_generated: bool,
}

/// A page.
#[derive(Clone, Debug)]
pub struct Page {
    /// File name.
    pub name: String,
    /// HTML source.
    pub html: Vec<u8>,
}

/// Folder of saved pages: the given one, or `AGBROWSE_CORPUS`, or the one beside this project.
pub fn folder(named: Option<&Path>) -> PathBuf {
    match named {
        Some(path) => path.to_owned(),
        None => std::env::var_os("AGBROWSE_CORPUS")
            .map_or_else(|| project().join("../shared/corpus"), PathBuf::from),
    }
}

impl Corpus {
    /// Loads the pages in `folder/pages/*.html`; generates pages when there are none.
    ///
    /// # Errors
    /// When a page cannot be read.
    pub fn load(folder: &Path) -> Result<Self> {
        let mut pages = Vec::new();
        for entry in std::fs::read_dir(folder.join("pages")).into_iter().flatten() {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.ends_with(".html") {
                pages.push(Page { name: name.to_owned(), html: std::fs::read(&path)? });
            }
        }
        pages.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let is_generated = pages.is_empty();
        if is_generated {
            pages = (0..GENERATED).map(generate).collect();
        }
        Ok(Self { pages, is_generated })
    }

    /// Description of the corpus.
    pub fn describe(&self) -> String {
        let kilobytes = self.pages.iter().map(|page| page.html.len()).sum::<usize>() / 1000;
        let kind =
            if self.is_generated { "made-up pages (no corpus found)" } else { "saved pages" };
        format!("{} {kind}, {kilobytes} kB", self.pages.len())
    }
}

/// Serves pages on loopback for as long as the program runs.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
}

impl Server {
    /// Starts the server.
    ///
    /// # Errors
    /// When no port is available.
    pub fn start(corpus: &Corpus) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let pages = Arc::new(corpus.pages.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let pages = Arc::clone(&pages);
                // Errors of a browser that disconnects early are ignored.
                thread::spawn(move || _ = serve(stream, &pages));
            }
        });
        Ok(Self { address })
    }

    /// URL of a page.
    pub fn url(&self, page: &Page) -> String {
        format!("http://{}/{}", self.address, page.name)
    }
}

fn serve(mut stream: TcpStream, pages: &[Page]) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.set_write_timeout(Some(Duration::from_secs(10)))?;
    let mut request = Vec::new();
    let mut part = [0; 4096];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut part)? {
            0 => return Ok(()),
            length => request.extend_from_slice(&part[..length]),
        }
        if request.len() > 64 << 10 {
            return Ok(());
        }
    }
    let request = String::from_utf8_lossy(&request);
    let path = request.split(' ').nth(1).unwrap_or_default();
    let page = pages.iter().find(|page| path.strip_prefix('/') == Some(&page.name));
    let (status, html) = page.map_or(("404 Not Found", &[][..]), |page| ("200 OK", &page.html));
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n",
        html.len()
    )?;
    stream.write_all(html)
}

/// A page with a number of items in lists of a hundred: six nodes each, of which three are elements and two
/// are controls.
pub fn items(count: usize) -> Page {
    let mut html = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>{count} items</title><body><main>\
         <h1>Items</h1>"
    );
    for number in 0..count {
        if number % 100 == 0 {
            let end = if number > 0 { "</ul></section>" } else { "" };
            _ = write!(html, "{end}<section><h2>From {number} on</h2><ul>");
        }
        _ = write!(
            html,
            "<li>Item {number} <a href=#i{number}>Look at it</a><button type=button>Keep</button>"
        );
    }
    html.push_str("</ul></section></main></body></html>");
    Page { name: format!("items-{count}.html"), html: html.into_bytes() }
}

/// Generates a page of mixed content; later ones are larger, up to about half a megabyte.
fn generate(number: usize) -> Page {
    let mut html = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Page {number}</title>\
         <body><header><nav><a href=#top>Top</a></nav></header><main id=top><h1>Page {number}</h1>"
    );
    for part in 0..10 + number * number * 4 {
        _ = write!(
            html,
            "<section><h2>Part {part}</h2><p>A paragraph with <a href=#p{part}>a link</a>, some \
             <em>stress</em> and a sentence that goes on for a while, as they do.</p><ul><li>First\
             <li>Second<li>Third</ul><table><tr><th>Item<th>Price<tr><td>Thing {part}<td>{}</table>\
             <form><label>Name <input name=n{part}></label><button type=button>Keep</button></form>\
             </section>",
            part % 97
        );
    }
    html.push_str("</main></body></html>");
    Page { name: format!("made-up-{number:02}.html"), html: html.into_bytes() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(url: &str) -> String {
        let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn without_a_corpus_pages_are_generated_and_served() {
        let folder = tempfile::tempdir().unwrap();
        let corpus = Corpus::load(folder.path()).unwrap();
        assert!(corpus.is_generated);
        assert!(corpus.pages.last().unwrap().html.len() > 400_000);
        let server = Server::start(&corpus).unwrap();
        let answer = get(&server.url(&corpus.pages[0]));
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.ends_with("</html>"));
        let missing = Page { name: "none.html".into(), html: Vec::new() };
        assert!(get(&server.url(&missing)).starts_with("HTTP/1.1 404"));
    }

    #[test]
    fn items_page_has_the_requested_count() {
        let html = String::from_utf8(items(250).html).unwrap();
        assert_eq!(html.matches("<li>").count(), 250);
        assert_eq!(html.matches("<section>").count(), 3);
        assert_eq!(html.matches("</section>").count(), 3);
    }

    #[test]
    fn saved_pages_are_sorted_by_name() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("pages")).unwrap();
        for name in ["b.html", "a.html", "notes.txt"] {
            std::fs::write(folder.path().join("pages").join(name), name).unwrap();
        }
        let corpus = Corpus::load(folder.path()).unwrap();
        assert!(!corpus.is_generated);
        let names: Vec<&str> = corpus.pages.iter().map(|page| &*page.name).collect();
        assert_eq!(names, ["a.html", "b.html"]);
    }
}
