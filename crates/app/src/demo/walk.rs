//! The walk: each step says what it shows, runs a command, prints its answer, and checks it.

use super::Site;
use crate::output::{Output, say};
use anstyle::{AnsiColor, Style};
use browser::command::{
    After, Aim, Answer, Can, Click, DialogVerb, Doing, Eval, Fill, NewTab, Open, Pdf, Reload,
    Screenshot, Snapshot, Status, TabAction, TabVerb, Tabs, Until,
};
use browser::page::ax::Role;
use browser::{Browser, Code, Command, Hidden, Outcome, Reply, Request, Result, Target};
use serde::Serialize;
use std::fmt;
use std::path::Path;
use std::time::Instant;

const TITLE: Style = AnsiColor::Cyan.on_default().bold();
const PROMPT: Style = AnsiColor::Green.on_default();
const DIM: Style = Style::new().dimmed();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// What came of the walk.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Told {
    /// Whether every step did what it promised.
    pub(super) ok: bool,
    /// The steps.
    pub(super) steps: Vec<Step>,
    /// How long the walk took.
    pub(super) ms: u64,
    /// The pictures' folder.
    pub(super) pictures: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Step {
    command: String,
    ok: bool,
    ms: u64,
}

/// Walks through the shop.
pub(super) async fn walk(
    browser: &Browser,
    site: &Site,
    pictures: &Path,
    output: Output,
) -> Result<Told> {
    let began = Instant::now();
    let mut walk = Walk { browser, quiet: output.json, steps: Vec::new() };
    let shop = &*site.origin;

    walk.title("A browser comes up, and a page is there when `open` returns");
    walk.run(open(shop), &format!("open {shop}"), |done| is_titled(done, "Fernway")).await;
    let count = "document.querySelectorAll('[data-product]').length";
    walk.run(eval(count), &format!("eval \"{count}\""), |done| prints(done, "12")).await;
    let shot = Screenshot { full_page: true, ..Screenshot::default() };
    let file = pictures.join("shop.png");
    let data = walk
        .run(
            Command::Screenshot(shot),
            &format!("screenshot --full-page {}", file.display()),
            Done::is_ok,
        )
        .await;
    save(data, &file);

    walk.title("A page in few words, with a ref for everything that can be acted on");
    let kettle = format!("{shop}/product/camp-kettle");
    walk.run(open(&kettle), &format!("open {kettle}"), |done| is_titled(done, "Kettle")).await;
    let seen = Snapshot { find: Some("quantity".into()), ..Snapshot::default() };
    walk.run(Command::Snapshot(seen), "snapshot --find quantity", |done| shows(done, "[ref=@e"))
        .await;

    walk.title("What is done is done to that element alone, and comes with a receipt");
    let quantity = Target::Label("quantity".into());
    let fill = Fill {
        aim: Aim::at(quantity),
        value: Some(Hidden::from("2")),
        secret: None,
        submit: false,
        after: After::default(),
    };
    walk.run(Command::Fill(fill), "fill label=quantity 2", |done| shows(done, "value=2")).await;
    let add = Target::Role { role: Role::Button, name: Some("add to cart".into()) };
    walk.run(click(add), "click 'role=button[name=\"add to cart\"]'", |done| {
        shows(done, "navigated")
    })
    .await;

    walk.title("What cannot be done is refused with the reason, and nothing else is hit instead");
    walk.run(open(&format!("{shop}/lab")), &format!("open {shop}/lab"), Done::is_ok).await;
    let berry = || Target::Text("Pick the berry".into());
    let can = Command::Can(Can { action: Doing::Click, aim: Aim::at(berry()) });
    walk.run(can, "can click 'text=Pick the berry'", |done| shows(done, "fail")).await;
    walk.run_within(1500, click(berry()), "click 'text=Pick the berry' --timeout 1500ms", |done| {
        fails(done, Code::ActCovered)
    })
    .await;

    walk.title("A context is a cookie jar of its own: Ada is signed in here, nobody there");
    let sign_in = "await fetch('/login', { method: 'POST', body: new URLSearchParams({ email: 'ada.fern@example.com', password: 'fernway' }) }); location.reload()";
    walk.run_in("ada", open(shop), &format!("--context ada open {shop}"), Done::is_ok).await;
    walk.run_in("ada", eval(sign_in), "--context ada eval \"await fetch('/login', …)\"", |done| {
        done.is_ok()
    })
    .await;
    let tea = format!("{shop}/account/subscription");
    let who = "document.querySelector('#user-name')?.textContent ?? 'nobody'";
    walk.run_in("ada", open(&tea), &format!("--context ada open {tea}"), Done::is_ok).await;
    walk.run_in("ada", eval(who), &format!("--context ada eval \"{who}\""), |done| {
        prints(done, "Ada Fern")
    })
    .await;
    walk.run(eval(who), &format!("eval \"{who}\""), |done| prints(done, "nobody")).await;

    walk.title("Frames of other sites and shadow trees: attached as soon as they exist");
    let fill = "await fetch('/cart/add', { method: 'POST', body: new URLSearchParams({ product: 'camp-kettle' }) }); 'in the cart'";
    walk.run(eval(fill), "eval \"await fetch('/cart/add', …)\"", Done::is_ok).await;
    walk.run(open(&format!("{shop}/checkout")), &format!("open {shop}/checkout"), |done| {
        done.is_ok()
    })
    .await;
    walk.run(Command::Tabs(Tabs {}), "tabs --json   (frames: the card form of another site)", |done| {
        matches!(done, Ok(Outcome { reply: Reply::Tabs(list), .. }) if list.tabs.iter().any(|tab| tab.frames == 1))
    })
    .await;
    let file = pictures.join("checkout.pdf");
    let data = walk
        .run(Command::Pdf(Pdf::default()), &format!("pdf {}", file.display()), Done::is_ok)
        .await;
    save(data, &file);
    let lab = format!("{shop}/lab");
    walk.run(open(&lab), &format!("open {lab}"), Done::is_ok).await;
    let file = pictures.join("lab.png");
    let data = walk
        .run(
            Command::Screenshot(Screenshot::default()),
            &format!("screenshot {}", file.display()),
            Done::is_ok,
        )
        .await;
    save(data, &file);

    walk.title("A dialog never blocks in silence: it is an error that says how to go on");
    walk.run(
        eval("confirm('Empty your saved items?')"),
        "eval \"confirm('Empty your saved items?')\"",
        |done| fails(done, Code::PageDialogOpen),
    )
    .await;
    let accept = Command::Dialog(DialogVerb { answer: Answer::Accept { text: None } });
    walk.run(accept, "dialog accept", Done::is_ok).await;

    walk.title("A page in an endless loop: its command ends in time, everything else goes on");
    let stuck = "data:text/html,<title>stuck</title><script>setTimeout(() => { while (true) {} }, 0)</script>";
    let open_stuck = Command::Open(Open { url: stuck.into(), until: Until::Commit, new_tab: true });
    walk.run(
        open_stuck,
        "open --new-tab --until commit 'data:text/html,<script>while (true) {}</script>'",
        Done::is_ok,
    )
    .await;
    walk.run_within(800, eval("1"), "eval 1 --timeout 800ms", |done| {
        fails(done, Code::PageUnresponsive)
    })
    .await;
    walk.run(Command::Status(Status {}), "status", Done::is_ok).await;
    let new = Command::Tab(TabVerb {
        action: TabAction::New(NewTab { url: Some(shop.to_owned()), ..NewTab::default() }),
    });
    walk.run(new, &format!("tab new {shop}"), Done::is_ok).await;
    walk.run(eval("document.title"), "eval document.title", Done::is_ok).await;

    walk.title("A crash is told as what it is, and mended by a reload");
    walk.run(open("chrome://crash"), "open chrome://crash", |done| fails(done, Code::TabCrashed))
        .await;
    walk.run(eval("1"), "eval 1", |done| fails(done, Code::TabCrashed)).await;
    walk.run(Command::Reload(Reload::default()), "reload", |done| is_titled(done, "Fernway")).await;

    let ok = walk.steps.iter().all(|step| step.ok);
    Ok(Told { ok, steps: walk.steps, ms: millis(began), pictures: pictures.display().to_string() })
}

struct Walk<'a> {
    browser: &'a Browser,
    quiet: bool,
    steps: Vec<Step>,
}

type Done = Result<Outcome>;

impl Walk<'_> {
    fn title(&self, text: &str) {
        if !self.quiet {
            say(&format!("\n{TITLE}{text}{TITLE:#}"));
        }
    }

    /// Runs a command; returns the file that came with the answer.
    async fn run(
        &mut self,
        command: Command,
        shown: &str,
        promise: impl FnOnce(&Done) -> bool,
    ) -> Option<Vec<u8>> {
        self.step(Request::new(command), shown, promise).await
    }

    async fn run_in(
        &mut self,
        context: &str,
        command: Command,
        shown: &str,
        promise: impl FnOnce(&Done) -> bool,
    ) {
        let request = Request { context: Some(context.to_owned()), ..Request::new(command) };
        _ = self.step(request, shown, promise).await;
    }

    async fn run_within(
        &mut self,
        ms: u64,
        command: Command,
        shown: &str,
        promise: impl FnOnce(&Done) -> bool,
    ) {
        let request = Request { timeout_ms: Some(ms), ..Request::new(command) };
        _ = self.step(request, shown, promise).await;
    }

    async fn step(
        &mut self,
        request: Request,
        shown: &str,
        promise: impl FnOnce(&Done) -> bool,
    ) -> Option<Vec<u8>> {
        let began = Instant::now();
        let done = self.browser.run(request).await;
        let (ms, ok) = (millis(began), promise(&done));
        if !self.quiet {
            say(&format!("{PROMPT}$ agbrowse {shown}{PROMPT:#}  {DIM}{ms} ms{DIM:#}"));
            match &done {
                Ok(outcome) => {
                    for note in &outcome.notes {
                        say(&format!("  {DIM}note: {}{DIM:#}", note.message));
                    }
                    for line in outcome.reply.to_string().lines() {
                        say(&format!("  {line}"));
                    }
                }
                Err(error) => {
                    say(&format!("  error: {}", error.details().message));
                    say(&format!(
                        "  {DIM}[{}] {}{DIM:#}",
                        error.code(),
                        error.details().retry_hint.advice()
                    ));
                }
            }
            if !ok {
                say(&format!("  {BAD}this is not what was promised{BAD:#}"));
            }
        }
        self.steps.push(Step { command: shown.to_owned(), ok, ms });
        done.ok()?.reply.file_mut().map(std::mem::take)
    }
}

fn open(url: &str) -> Command {
    Command::Open(Open { url: url.to_owned(), ..Open::default() })
}

fn eval(script: &str) -> Command {
    Command::Eval(Eval { script: script.to_owned(), ..Eval::default() })
}

fn click(target: Target) -> Command {
    let (aim, after) = (Aim::at(target), After::default());
    let button = browser::command::Button::default();
    Command::Click(Click { aim, button, count: 1, modifiers: Vec::new(), after })
}

fn shows(done: &Done, part: &str) -> bool {
    matches!(done, Ok(outcome) if outcome.reply.to_string().contains(part))
}

fn prints(done: &Done, text: &str) -> bool {
    matches!(done, Ok(outcome) if outcome.reply.to_string() == text)
}

fn is_titled(done: &Done, part: &str) -> bool {
    matches!(done, Ok(Outcome { reply: Reply::Open(there) | Reply::Reload(there), .. }) if there.title.contains(part))
}

fn fails(done: &Done, code: Code) -> bool {
    matches!(done, Err(error) if error.code() == code)
}

fn save(data: Option<Vec<u8>>, file: &Path) {
    if let Some(data) = data
        && let Err(error) = std::fs::write(file, data)
    {
        say(&format!("  {BAD}{}: {error}{BAD:#}", file.display()));
    }
}

fn millis(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let good = self.steps.iter().filter(|step| step.ok).count();
        write!(
            f,
            "\n{good} of {} steps did what they promised, in {}.{} s. Pictures: {}\nThe browser and the shop are closed. Next: agbrowse open URL",
            self.steps.len(),
            self.ms / 1000,
            self.ms % 1000 / 100,
            self.pictures
        )
    }
}
