//! The observer's tree against Chromium's AX tree: role and name of every element of real pages and the demo.
//!
//! Intended differences have a rule below, with its reason. Each run prints the count of each rule.
//! The pages are read from `AGBROWSE_CORPUS` (default `../shared/corpus` beside the checkout); without it only the
//! demo is compared, with a message.

use agbrowse::demo::Site;
use browser::command::{Eval, Open, Snapshot, TextFormat, Until};
use browser::launch::{BrowserQuery, Options, find};
use browser::{Browser, Command, NodeFacts, NodePair, Request};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tokio::net::TcpListener;

/// An intended difference and its reason.
struct Rule {
    name: &'static str,
    reason: &'static str,
    applies: fn(&NodePair) -> bool,
}

const RULES: &[Rule] = &[
    Rule {
        name: "containers",
        reason: "an element without role and name is a generic container; shown or not is equivalent",
        applies: |pair| is_plain(pair.ours.as_ref()) && is_plain(pair.theirs.as_ref()),
    },
    Rule {
        name: "layout tables",
        reason: "a layout table is not a table, and its cells have no names",
        applies: |pair| {
            pair.theirs.as_ref().is_some_and(|node| node.is_layout) && is_plain(pair.ours.as_ref())
        },
    },
    Rule {
        name: "gaps",
        reason: "a line break or an empty paragraph has no content",
        applies: |pair| {
            matches!(&*pair.tag, "br" | "wbr")
                || pair.tag == "p" && pair.ours.is_none() && pair.is_blank
        },
    },
    Rule {
        name: "white space",
        reason: "white space between words follows the markup, also where layout collapses or adds it",
        applies: |pair| match (&pair.ours, &pair.theirs) {
            (Some(ours), Some(theirs)) => {
                let solid = |name: &str| name.split_whitespace().collect::<String>();
                ours.role == theirs.role && solid(&ours.name) == solid(&theirs.name)
            }
            _ => false,
        },
    },
    Rule {
        name: "paragraphs of boxes",
        reason: "a paragraph with block content keeps its role (HTML-AAM); the same for addresses",
        applies: |pair| {
            matches!(&*pair.tag, "p" | "address")
                && is_plain(pair.theirs.as_ref())
                && pair.ours.as_ref().is_some_and(|node| node.name.is_empty())
        },
    },
    Rule {
        name: "skipped content",
        reason: "content that is skipped until it is scrolled into view (`content-visibility: auto`) is included",
        applies: |pair| pair.theirs.is_none() && pair.is_skipped,
    },
    Rule {
        name: "blank names",
        reason: "a blank label or content is not a name, so that a title, placeholder or value can be",
        applies: |pair| match (&pair.ours, &pair.theirs) {
            (Some(ours), Some(theirs)) => {
                let is_next = |name: &String| collapse(name) == collapse(&ours.name);
                ours.role == theirs.role
                    && theirs.name.trim().is_empty()
                    && theirs.passed_over.iter().any(is_next)
            }
            _ => false,
        },
    },
    Rule {
        name: "media fallback",
        reason: "`Unable to play media.` is text of the browser, not of the page",
        applies: |pair| {
            pair.theirs.as_ref().is_some_and(|node| node.name.contains("Unable to play media."))
        },
    },
    Rule {
        name: "labels of boxes",
        reason: "the label of a checkbox is its name; shown as a label or not is equivalent",
        applies: |pair| {
            let is_label = |node: &NodeFacts| node.role == "label" || node.role == "generic";
            pair.tag == "label"
                && is_plain(pair.ours.as_ref())
                && pair.theirs.as_ref().is_some_and(is_label)
        },
    },
    Rule {
        name: "empty canvas",
        reason: "a canvas is shown without a name, too: it can be clicked",
        applies: |pair| pair.tag == "canvas" && pair.theirs.is_none(),
    },
];

fn is_plain(node: Option<&NodeFacts>) -> bool {
    node.is_none_or(|node| node.role == "generic" && node.name.is_empty())
}

#[derive(Default)]
struct Tally {
    elements: usize,
    roles: usize,
    names: usize,
    ruled: BTreeMap<&'static str, usize>,
    wrong: Vec<String>,
}

impl Tally {
    fn count(pairs: &[NodePair]) -> Self {
        let mut tally = Self::default();
        for pair in pairs {
            if pair.ours.is_none() && pair.theirs.is_none() {
                continue;
            }
            let is_same = match (&pair.ours, &pair.theirs) {
                (Some(ours), Some(theirs)) => {
                    ours.role == theirs.role && collapse(&ours.name) == collapse(&theirs.name)
                }
                _ => false,
            };
            let rule = RULES.iter().find(|rule| !is_same && (rule.applies)(pair));
            if let Some(rule) = rule {
                *tally.ruled.entry(rule.name).or_default() += 1;
                continue;
            }
            tally.elements += 1;
            match (&pair.ours, &pair.theirs) {
                (Some(ours), Some(theirs)) => {
                    let has_role = ours.role == theirs.role;
                    let has_name = collapse(&ours.name) == collapse(&theirs.name);
                    tally.roles += usize::from(has_role);
                    tally.names += usize::from(has_name);
                    if !has_role || !has_name {
                        tally.wrong.push(describe(pair));
                    }
                }
                _ => tally.wrong.push(describe(pair)),
            }
        }
        tally
    }

    fn role_share(&self) -> f64 {
        share(self.roles, self.elements)
    }

    fn name_share(&self) -> f64 {
        share(self.names, self.elements)
    }
}

/// Checks that viewpoint refs are the backend node ids of elements with the same role in the AX tree.
async fn check_viewpoint_refs(browser: &Browser, pairs: &[NodePair]) {
    let options =
        Snapshot { format: TextFormat::Viewpoint, refs_only: true, ..Snapshot::default() };
    let text =
        browser.run(Request::new(Command::Snapshot(options))).await.unwrap().reply.to_string();
    let (mut compared, mut same) = (0, 0);
    for line in text.lines() {
        let Some((_, name)) = line.split_once("[ref=e") else { continue };
        let id: i64 = name.trim_end_matches([']', ':']).parse().unwrap();
        let pair = pairs.iter().find(|pair| pair.backend_node_id == Some(id));
        // The AX tree omits elements that only have a click listener.
        let Some(theirs) = pair.and_then(|pair| pair.theirs.as_ref()) else { continue };
        compared += 1;
        let role = line.trim_start().trim_start_matches("- ").split([' ', ':']).next();
        // A label that represents its field has no role of its own.
        let theirs = if theirs.role == "label" { "generic" } else { &*theirs.role };
        same += usize::from(role == Some(theirs));
    }
    let refs = text.matches("[ref=e").count();
    assert!(compared * 2 >= refs, "{compared} of {refs} refs are in the AX tree:\n{text}");
    // Consecutive numbers would match only by chance.
    assert!(same * 100 >= compared * 95, "{same} of {compared} have the same role:\n{text}");
}

pub fn share(part: usize, all: usize) -> f64 {
    if all == 0 { 1.0 } else { part as f64 / all as f64 }
}

fn describe(pair: &NodePair) -> String {
    let names = [&pair.ours, &pair.theirs].map(|node| node.as_ref().map_or("", |node| &node.name));
    let same = names[0].chars().zip(names[1].chars()).take_while(|(one, other)| one == other);
    // Of long names, only the part that differs.
    let from = same.count().saturating_sub(30);
    let node = |node: &Option<NodeFacts>| match node {
        None => "-".to_owned(),
        Some(node) => {
            let begin = if from > 0 { "…" } else { "" };
            let name: String = node.name.chars().skip(from).take(80).collect();
            format!("{} {begin}{name:?}", node.role)
        }
    };
    format!("<{}> ours {} theirs {}", pair.tag, node(&pair.ours), node(&pair.theirs))
}

fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub fn corpus(folder: &str) -> Vec<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus");
    let root = std::env::var_os("AGBROWSE_CORPUS").map_or_else(|| beside.into(), PathBuf::from);
    let Ok(entries) = std::fs::read_dir(root.join(folder)) else {
        eprintln!("no corpus at {}: set AGBROWSE_CORPUS", root.display());
        return Vec::new();
    };
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    pages.retain(|path| path.extension().is_some_and(|extension| extension == "html"));
    pages.sort();
    pages
}

/// The corpus pages for a test: every other one, all under `soak`.
pub fn pages_for(half: usize) -> Vec<PathBuf> {
    let step = if std::env::var_os("AGBROWSE_SOAK").is_some() { 1 } else { 2 };
    corpus("pages").into_iter().skip(half % step).step_by(step).collect()
}

/// Serves files by name.
pub async fn serve(files: &[PathBuf]) -> String {
    let mut app = axum::Router::new();
    for file in files {
        let text = String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned();
        let answer = move || {
            let text = text.clone();
            async move { axum::response::Html(text) }
        };
        app = app.route(&format!("/{}", name_of(file)), axum::routing::get(answer));
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    origin
}

pub fn name_of(file: &Path) -> String {
    file.file_name().unwrap().to_string_lossy().into_owned()
}

/// A browser restricted to loopback: the pages refer to third parties that are gone.
pub fn browser() -> Option<Browser> {
    if let Err(error) = find(&BrowserQuery::default()) {
        assert!(std::env::var_os("AGBROWSE_REQUIRE_CHROMIUM").is_none(), "{error}");
        eprintln!("skipped: {error}");
        return None;
    }
    let blocked = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost";
    Some(Browser::new(Options { args: vec![blocked.into()], ..Options::default() }))
}

pub async fn open(browser: &Browser, url: &str) {
    let open = Open { url: url.into(), until: Until::Load, ..Open::default() };
    browser.run(Request::new(Command::Open(open))).await.unwrap();
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// The tour of all demo pages: an optional POST before each, and its path.
pub const TOUR: &[(Option<(&str, &str)>, &str)] = &[
    (None, "/"),
    (None, "/product/camp-kettle"),
    (None, "/login"),
    (None, "/cart"),
    (Some(("/cart/add", "product=camp-kettle&quantity=2&gift=on")), "/cart"),
    (None, "/checkout"),
    (Some(("/login", "email=ada@example.com&password=fernway")), "/account/subscription"),
    (None, "/account/subscription/cancel"),
    (None, "/account/subscription/cancel/reason"),
    (
        Some(("/account/subscription/cancel/reason", "reason=moving&note=Soon")),
        "/account/subscription/cancel/confirm",
    ),
    (Some(("/account/subscription/cancel/confirm", "")), "/account/subscription/cancel/done"),
    (None, "/lab"),
    (None, "/lab/greenhouse"),
    (None, "/lab/seed-tray"),
];

/// A page to compare.
pub struct PageVisit {
    pub url: String,
    /// The POST before the visit: path and form.
    post: Option<(&'static str, &'static str)>,
}

impl PageVisit {
    pub fn at(url: String) -> Self {
        Self { url, post: None }
    }

    /// The tour of all demo pages.
    pub fn tour(site: &Site) -> impl Iterator<Item = Self> {
        TOUR.iter().map(|(post, path)| Self { url: format!("{}{path}", site.origin), post: *post })
    }

    /// Opens the page and checks that it was not redirected.
    pub async fn visit(&self, browser: &Browser) {
        if let Some((path, form)) = self.post {
            let script = format!(
                "fetch({path:?}, {{ method: 'POST', body: new URLSearchParams({form:?}) }}).then((it) => it.ok)"
            );
            assert_eq!(eval(browser, &script).await, "true", "{path} was not taken");
        }
        open(browser, &self.url).await;
        let arrived = "[location.href, performance.getEntriesByType('navigation')[0].responseStatus].join(' ')";
        assert_eq!(eval(browser, arrived).await, format!("{} 200", self.url));
    }
}

async fn eval(browser: &Browser, script: &str) -> String {
    let eval = Eval { script: script.into(), ..Eval::default() };
    browser.run(Request::new(Command::Eval(eval))).await.unwrap().reply.to_string()
}

#[test]
fn roles_and_names_agree_with_the_browser() {
    let Some(browser) = browser() else { return };
    runtime().block_on(async {
        let pages = pages_for(0);
        let files = [pages.clone(), corpus("accname")].concat();
        let origin = serve(&files).await;
        let site = Site::serve().await.unwrap();
        let mut visits: Vec<PageVisit> =
            files.iter().map(|page| PageVisit::at(format!("{origin}/{}", name_of(page)))).collect();
        visits.extend(PageVisit::tour(&site));
        let oddities = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/oddities.html").into();
        visits.push(PageVisit::at(format!("{}/oddities.html", serve(&[oddities]).await)));
        let mut bad = Vec::new();
        let mut ruled: BTreeMap<&str, usize> = BTreeMap::new();
        let (mut all, mut elements) = (0, 0);
        for visit in &visits {
            let url = &visit.url;
            visit.visit(&browser).await;
            let pairs = browser.compare_trees(&[]).await.unwrap();
            check_viewpoint_refs(&browser, &pairs).await;
            let tally = Tally::count(&pairs);
            println!(
                "{url}: {} elements, roles {:.2} %, names {:.2} %",
                tally.elements,
                tally.role_share() * 100.0,
                tally.name_share() * 100.0
            );
            for wrong in &tally.wrong {
                println!("  {wrong}");
            }
            elements += tally.elements;
            all += tally.elements + tally.ruled.values().sum::<usize>();
            for (rule, count) in &tally.ruled {
                *ruled.entry(rule).or_default() += count;
            }
            if tally.role_share() < 0.99 || tally.name_share() < 0.99 {
                bad.push(format!("{url}\n  {}", tally.wrong.join("\n  ")));
            }
        }
        for rule in RULES {
            let count = ruled.get(rule.name).copied().unwrap_or_default();
            println!("{:.2} % by rule `{}`: {}", share(count, all) * 100.0, rule.name, rule.reason);
        }
        assert!(RULES.len() <= 10);
        assert!(elements > 200 * pages.len(), "too few elements were compared");
        assert!(bad.is_empty(), "{}", bad.join("\n"));
        browser.close().await;
    });
}

#[test]
fn accname_expectations_are_met_as_often_as_by_browser() {
    let Some(browser) = browser() else { return };
    runtime().block_on(async {
        let pages = corpus("accname");
        let origin = serve(&pages).await;
        let mut right = [0, 0];
        let mut misses = Vec::new();
        for page in &pages {
            open(&browser, &format!("{origin}/{}", name_of(page))).await;
            let facts = ["data-expectedlabel", "data-expectedrole", "data-testname", "class"];
            for pair in browser.compare_trees(&facts).await.unwrap() {
                let [label, role, test, class] = &pair.facts[..] else { panic!("four facts") };
                let is_generic = class.as_deref().is_some_and(|class| {
                    class.split_whitespace().any(|class| class == "ex-generic")
                });
                let role = role.clone().or_else(|| is_generic.then(|| "generic".to_owned()));
                for (index, node) in [&pair.ours, &pair.theirs].into_iter().enumerate() {
                    let has = |wanted: &str| node.as_ref().is_some_and(|node| node.role == wanted);
                    let mut check = |is_right: bool, wanted: &str| {
                        right[index] += usize::from(is_right);
                        if !is_right && index == 0 {
                            let test = test.as_deref().unwrap_or_default();
                            misses.push(format!(
                                "{}: {test}: wanted {wanted:?}: {}",
                                name_of(page),
                                describe(&pair)
                            ));
                        }
                    };
                    if let Some(label) = label {
                        let name = node.as_ref().map(|node| collapse(&node.name));
                        check(name.unwrap_or_default() == collapse(label), label);
                    }
                    if let Some(role) = &role {
                        check(is_role(role, node.as_ref(), has), role);
                    }
                }
            }
        }
        println!("right: {} of ours, {} of the browser's", right[0], right[1]);
        println!("not met, because a script that is missing would have made a shadow root:");
        println!("{}", misses.join("\n"));
        let is_explained = |miss: &&String| miss.starts_with("accname--name--shadowdom--");
        let unexplained: Vec<&String> = misses.iter().filter(|miss| !is_explained(miss)).collect();
        assert!(unexplained.is_empty(), "{unexplained:#?}");
        assert!(right[0] >= right[1], "ours {} theirs {}", right[0], right[1]);
        assert!(pages.is_empty() || right[0] > 390, "too few elements were compared");
        browser.close().await;
    });
}

/// Whether an element has the expected role, in the notation of either tree.
fn is_role(wanted: &str, node: Option<&NodeFacts>, has: impl Fn(&str) -> bool) -> bool {
    match wanted {
        "generic" => {
            is_plain(node)
                || node.is_some_and(|node| node.role == "generic")
                || has("label")
                || has("legend")
                || has("abbr")
        }
        "none" | "presentation" => is_plain(node),
        "image" | "img" => has("img"),
        "directory" => has("list"),
        wanted => has(wanted),
    }
}
