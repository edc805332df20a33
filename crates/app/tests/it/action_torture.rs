//! Random actions on the demo shop while it re-renders at random: each action hits its intended target, or
//! is refused. A thousand under `./dev soak`, a tenth of them in every test run.

use crate::fidelity::{browser, open, runtime};
use crate::torture::{Random, rounds};
use agbrowse::demo::Site;
use browser::command::{
    Answer, Button, Check, Click, DialogCommand, Eval, Fill, Get, Property, SettleArgs, Snapshot,
    SnapshotReply, TabAction, TabCommand, TargetArgs,
};
use browser::{Browser, Code, Command, Error, Outcome, Reply, Request, SecretString};
use serde::Deserialize;
use std::collections::BTreeMap;

const SCRIPT: &str = include_str!("actions.js");
const PAGES: &[&str] = &["/", "/cart", "/lab", "/login", "/product/1", "/account/subscription"];

#[derive(Default)]
struct Results {
    acted: u32,
    refused: u32,
    /// Refused although the target was still there and actionable.
    missed: Vec<String>,
    wrong: Vec<String>,
    unhandled: Vec<String>,
    codes: BTreeMap<&'static str, u32>,
}

/// An event that reached an element: the element, and its text at that moment.
#[derive(Deserialize, Debug)]
struct ReachedEvent {
    r#type: String,
    path: Vec<(String, String)>,
}

#[test]
fn torture_random_actions_hit_intended_target() {
    let Some(browser) = browser() else { return };
    runtime().block_on(async {
        let site = Site::serve().await.unwrap();
        let mut random = Random::new();
        let all = rounds(1000);
        let mut score = Results::default();
        let mut early = 0;
        let mut done = 0;
        while done < all {
            if done % 8 == 0 || !is_on_shop(&browser).await {
                let page = PAGES[pick(&mut random, PAGES.len())];
                clean_up(&browser).await;
                open(&browser, &format!("{}{page}", site.origin)).await;
            }
            if act(&browser, &mut random, &mut score).await {
                done += 1;
            }
            if done == all / 10 && early == 0 {
                early = memory();
            }
        }
        let grown = memory().saturating_sub(early) / 1_000;
        println!(
            "{all} actions: {} done, {} refused, {} refused needlessly, {} wrong, {} unhandled; {grown} kB more memory",
            score.acted, score.refused, score.missed.len(), score.wrong.len(), score.unhandled.len()
        );
        println!("refusals: {:?}", score.codes);
        for story in score.missed.iter().take(10) {
            println!("refused needlessly: {story}");
        }
        assert!(score.wrong.is_empty(), "{}", score.wrong.join("\n"));
        assert!(score.unhandled.is_empty(), "{}", score.unhandled.join("\n"));
        let meant = score.acted as usize + score.missed.len();
        // One in a hundred; two of a few dozen are within chance.
        assert!(score.missed.len() * 100 <= meant.max(200), "{}", score.missed.join("\n"));
        assert!(score.acted * 3 > all, "a dull run: {} acted", score.acted);
        assert!(grown < 30_000, "{grown} kB more memory");
        browser.close().await;
    });
}

/// Performs one action. Returns false when the page has nothing to act on.
async fn act(browser: &Browser, random: &mut Random, score: &mut Results) -> bool {
    if eval(browser, SCRIPT).await.is_none() || eval(browser, "stampAll()").await.is_none() {
        return false;
    }
    let snapshot = Command::Snapshot(Snapshot { fresh: true, ..Snapshot::default() });
    let seen = match run(browser, snapshot, 10_000).await {
        Ok(Outcome { reply: Reply::Snapshot(SnapshotReply::Text(text)), .. }) => text.text,
        _ => return false,
    };
    let lines: Vec<&str> = seen.lines().filter(|line| line.contains("[ref=@e")).collect();
    if lines.is_empty() {
        return false;
    }
    let line = lines[pick(random, lines.len())].trim();
    let name = line.split("[ref=").nth(1).and_then(|rest| rest.split([' ', ']']).next()).unwrap();
    let target: browser::Target = name.parse().unwrap();
    let get = Get {
        what: Property::Attr,
        target: target.clone(),
        name: Some("data-key".into()),
        nth: None,
    };
    // Elements in frames and shadow trees have no key.
    let key = match run(browser, Command::Get(get), 5_000).await {
        Ok(Outcome { reply: Reply::Get(got), .. }) => match got.value {
            Some(key) => key,
            None => return false,
        },
        _ => return false,
    };
    let Some(was) = eval(browser, &format!("truth('{key}')")).await.filter(|it| it != "null")
    else {
        return false;
    };
    let kinds: Vec<String> =
        serde_json::from_str(&eval(browser, "kinds()").await.unwrap_or_default()).unwrap();
    let kind = &kinds[pick(random, kinds.len())];
    let ms = i64::try_from(random.below(40)).unwrap() - 10;
    eval(browser, "reached()").await;
    if eval(browser, &format!("upset('{kind}', '{key}', {ms})")).await.is_none() {
        return false;
    }
    let target_args = TargetArgs::at(target);
    let after = SettleArgs { settle_ms: Some(300), ..SettleArgs::default() };
    let (verb, command) = match line {
        line if line.starts_with("- textbox") || line.starts_with("- searchbox") => {
            let value = Some(SecretString::from(&*format!("text {}", random.below(1000))));
            ("fill", Command::Fill(Fill { target_args, value, secret: None, submit: false, after }))
        }
        line if line.starts_with("- checkbox") => {
            ("check", Command::Check(Check { target_args, after }))
        }
        _ => {
            let click = Click {
                target_args,
                button: Button::Left,
                count: 1,
                modifiers: Vec::new(),
                hold_ms: None,
                after,
            };
            ("click", Command::Click(click))
        }
    };
    let request =
        Request { timeout_ms: Some(10_000), patience_ms: Some(1_000), ..Request::new(command) };
    let outcome = browser.run(request).await;
    clean_up(browser).await;
    let reached =
        eval(browser, "window.reached ? reached() : JSON.parse(sessionStorage.reached || '[]')")
            .await;
    let reached: Vec<ReachedEvent> =
        reached.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    _ = eval(browser, "sessionStorage.reached = '[]'").await;
    let now = eval(browser, &format!("window.truth ? truth('{key}') : null")).await;
    let story = format!(
        "{verb} {line}, {kind} after {ms} ms: {}\n  was {was}\n  now {now:?}\n  reached {reached:?}",
        describe(&outcome)
    );
    let is_replaced = matches!(&**kind, "twin" | "rerender");
    // After a navigation the reached element is not known.
    let foreign = reached.iter().find(|event| {
        let own = event.path.iter().find(|(it, _)| *it == key);
        let same = |words: &str| serde_json::from_str::<String>(&was).is_ok_and(|was| was == words);
        match own {
            // The meaning was unchanged at the mouse press; effects of the press do not count.
            Some((_, words)) => event.r#type == "mousedown" && !same(words),
            // A replacement with the same text has the same meaning.
            None if is_replaced && event.path.iter().any(|(_, words)| same(words)) => false,
            None => event.type_is_press(),
        }
    });
    if foreign.is_some() {
        score.wrong.push(story.clone());
    }
    match outcome {
        Ok(_) => score.acted += 1,
        Err(error) => {
            score.refused += 1;
            *score.codes.entry(error.code().as_str()).or_default() += 1;
            if is_unhandled(&error) {
                score.unhandled.push(story.clone());
            }
            let is_free = matches!(&**kind, "nothing" | "shift" | "reorder" | "cover");
            let is_refusal = !matches!(
                error.code(),
                Code::ActCovered
                    | Code::ActDisabled
                    | Code::ActHidden
                    | Code::ActNotTaken
                    | Code::ActNotEditable
            );
            if is_free && is_refusal && now.as_deref() == Some(&*was) {
                score.missed.push(story);
            }
        }
    }
    true
}

impl ReachedEvent {
    fn type_is_press(&self) -> bool {
        self.r#type == "mousedown"
    }
}

fn is_unhandled(error: &Error) -> bool {
    matches!(
        error.code(),
        Code::InternalUnhandled | Code::CdpRefused | Code::CommandTimeout | Code::PageUnresponsive
    )
}

fn describe(actual: &Result<Outcome, Error>) -> String {
    match actual {
        Ok(outcome) => outcome.reply.to_string().lines().next().unwrap_or_default().to_owned(),
        Err(error) => error.to_string(),
    }
}

/// Whether the current page is still a page of the shop.
async fn is_on_shop(browser: &Browser) -> bool {
    eval(browser, "document.querySelector('a, button') !== null").await.as_deref() == Some("true")
}

/// Answers dialogs and closes opened tabs.
async fn clean_up(browser: &Browser) {
    for _ in 0..5 {
        let answer = Command::Dialog(DialogCommand { answer: Answer::Accept { text: None } });
        if run(browser, answer, 3_000).await.is_err() {
            break;
        }
    }
    while browser.tab_count() > 1 {
        let tabs = run(browser, Command::Tabs(browser::command::Tabs {}), 3_000).await;
        let Ok(Outcome { reply: Reply::Tabs(list), .. }) = tabs else { break };
        let Some(other) = list.tabs.iter().find(|tab| !tab.current) else { break };
        let close = TabCommand {
            action: TabAction::Close(browser::command::CloseTab { id: Some(other.id) }),
        };
        if run(browser, Command::Tab(close), 3_000).await.is_err() {
            break;
        }
    }
}

async fn run(browser: &Browser, command: Command, ms: u64) -> Result<Outcome, Error> {
    browser.run(Request { timeout_ms: Some(ms), ..Request::new(command) }).await
}

/// The result of a script as JSON; `None` when the page cannot be evaluated.
async fn eval(browser: &Browser, script: &str) -> Option<String> {
    let eval = Eval { script: script.to_owned(), ..Eval::default() };
    match run(browser, Command::Eval(eval), 5_000).await.ok()?.reply {
        Reply::Eval(result) => {
            Some(result.value.map_or_else(|| "null".into(), |it| it.0.get().to_owned()))
        }
        _ => None,
    }
}

fn pick(random: &mut Random, count: usize) -> usize {
    usize::try_from(random.below(count as u64)).unwrap()
}

/// The memory use of this process in bytes.
fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or_default() * 4096
}
