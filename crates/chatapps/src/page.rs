//! A page: its mutated description, rendered as HTML, script and style; and its labels.

use crate::apps::{self, Choice, Description};
use crate::element::{Element, Hook, Node, Path, el};
use crate::labels::{Labels, Moment, Truth};
use crate::mutate::{self, Breakage, Variation};
use crate::scenario::{App, Scenario, Variant};
use serde::Serialize;
use std::collections::BTreeMap;

const STYLE: &str = include_str!("../css/style.css");

/// Behaviour of the page, in the order it is evaluated: one function around all of it keeps it out of the page's globals.
const SCRIPTS: [&str; 4] = [
    include_str!("../js/dom.js"),
    include_str!("../js/editor.js"),
    include_str!("../js/markdown.js"),
    include_str!("../js/chat.js"),
];

/// A page of an app in a scenario.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    app: App,
    variant: Variant,
    seed: u64,
    /// The `html` element.
    root: Element,
    templates: BTreeMap<&'static str, Element>,
    models: Vec<Choice>,
    tools: Vec<Choice>,
    breakage: Option<Breakage>,
}

impl Page {
    /// Describes and deviates the page.
    pub(crate) fn new(app: App, scenario: &Scenario) -> Self {
        let description = apps::describe(app, scenario);
        let mutated = mutate::mutate(app, description, scenario.variant, scenario.seed);
        Self::of(app, mutated, scenario)
    }

    fn of(app: App, mutated: Variation, scenario: &Scenario) -> Self {
        let Variation { description, breakage } = mutated;
        let Description { title, mut body, templates, models, tools } = description;
        let query = scenario.query();
        let mark = if query.is_empty() { "" } else { "?" };
        let start = format!("{}{mark}{query}", app.start_path());
        body.visit_mut(&mut |element| {
            if element.get("href") == Some("{start}") {
                element.set("href", &start);
            }
        });
        let link = |kind: &str, href: &str| el("link").attr("rel", kind).attr("href", href);
        let head = el("head")
            .child(el("meta").attr("charset", "utf-8"))
            .child(el("title").text(title))
            .child(
                el("meta")
                    .attr("name", "viewport")
                    .attr("content", "width=device-width, initial-scale=1"),
            )
            .child(link("icon", "data:,"))
            .child(link("stylesheet", &format!("/assets/style.css{mark}{query}")))
            .child(
                el("script").attr("defer", "").attr("src", &format!("/assets/app.js{mark}{query}")),
            );
        let root = el("html").attr("lang", "en").child(head).child(body);
        let (variant, seed) = (scenario.variant, scenario.seed);
        let templates = templates.into_iter().collect();
        Self { app, variant, seed, root, templates, models, tools, breakage }
    }

    /// HTML of the page that the links of a login wall lead to.
    pub(crate) fn sign_in(app: App) -> String {
        let mutated = Variation { description: apps::sign_in(app), breakage: None };
        let scenario = Scenario::default();
        let mut page = Self::of(app, mutated, &scenario);
        // It does nothing, and the script is that of another page.
        page.root.visit_mut(&mut |element| {
            element
                .children
                .retain(|child| !matches!(child, Node::Element(it) if it.tag == "script"));
        });
        page.html(&scenario)
    }

    /// HTML of the document.
    pub(crate) fn html(&self, scenario: &Scenario) -> String {
        let mut root = self.root.clone();
        if scenario.late_ms > 0
            && let Some(form) = root.find_mut(Hook::Form)
        {
            *form = skeleton();
        }
        format!("<!doctype html>{}", root.html())
    }

    /// Style sheet.
    pub(crate) fn style(&self) -> String {
        mutate::rename_classes(STYLE, self.variant, self.seed)
    }

    /// Script that makes the page work.
    pub(crate) fn script(&self, scenario: &Scenario) -> String {
        let class = |name: &str| mutate::class_name(name, self.variant, self.seed);
        let blank = if self.app == App::Gemini { "ql-blank" } else { "is-empty" };
        let late = self.root.paths(Hook::Form).first().filter(|_| scenario.late_ms > 0).cloned();
        let form = late.as_ref().and_then(|path| self.root.at(path)).map(Element::html);
        let templates = self.templates.iter().map(|(&name, element)| {
            let template = Template { html: element.html(), hooks: hooks(element) };
            (name, template)
        });
        let config = Config {
            query: scenario.query(),
            conversation_prefix: self.app.conversation_prefix(),
            hooks: hooks(&self.root),
            templates: templates.collect(),
            models: &self.models,
            tools: &self.tools,
            late: late.zip(form).map(|(path, html)| Late { path, html, ms: scenario.late_ms }),
            upload_ms: scenario.upload_ms,
            drop_uploads: scenario.drop_uploads,
            lose_first_click: scenario.lose_first_click,
            aria_disabled: self.app == App::Gemini,
            clipboard_item: self.app == App::Gemini,
            complete_class: class("complete"),
            blank_class: class(blank),
            is_broken: self.breakage.is_some(),
        };
        let config = serde_json::to_string(&config).unwrap_or_default();
        format!("(() => {{\n'use strict';\nconst CONFIG = {config};\n{}}})();\n", SCRIPTS.concat())
    }

    /// The truth about the page at a moment.
    pub(crate) fn labels(&self, moment: Moment) -> Labels {
        let is_wall = self.breakage == Some(Breakage::Wall);
        let tree = self.at(moment);
        let truth = |hook: Hook| {
            let paths = if is_wall { Vec::new() } else { tree.paths(hook) };
            exists(&tree, paths, Vec::new())
        };
        // The last of them is the target.
        let last = |hook: Hook, others: Vec<Path>| {
            let mut paths = tree.paths(hook);
            paths.reverse();
            exists(&tree, paths, others)
        };
        let composer = match self.breakage {
            Some(Breakage::TwoComposers) => Truth::Ambiguous,
            _ => truth(Hook::Composer),
        };
        Labels {
            composer,
            model_picker: truth(Hook::ModelPicker),
            upload_surface: truth(Hook::Upload),
            response_feed: last(Hook::Turn, self.inside_turns(&tree)),
            copy_button: last(Hook::Copy, Vec::new()),
            streaming_indicator: last(Hook::Stop, tree.paths(Hook::Status)),
            send_button: truth(Hook::Send),
            finished_actions: last(Hook::Actions, Vec::new()),
        }
    }

    /// Paths of the feed and of everything between a turn of the assistant and its text.
    fn inside_turns(&self, tree: &Element) -> Vec<Path> {
        let turns = tree.paths(Hook::Turn);
        if turns.is_empty() {
            return turns;
        }
        let mut out = tree.paths(Hook::Feed);
        for content in tree.paths(Hook::Content) {
            if let Some(turn) = turns.iter().find(|turn| content.starts_with(turn)) {
                out.extend((turn.len() + 1..=content.len()).map(|end| content[..end].to_vec()));
            }
        }
        out
    }

    /// The tree as the script makes it until a moment.
    fn at(&self, moment: Moment) -> Element {
        let (exchanges, is_streaming) = match moment {
            Moment::Start => (0, false),
            Moment::Streaming(earlier) => (earlier + 1, true),
            Moment::Finished(exchanges) => (exchanges, false),
        };
        let mut root = self.root.clone();
        for exchange in 1..=exchanges {
            let is_finished = exchange < exchanges || !is_streaming;
            let mut turn = self.template("assistantTurn");
            let (slot, content) = if is_finished {
                (Hook::ActionsSlot, "actions")
            } else {
                (Hook::StatusSlot, "status")
            };
            if let Some(slot) = turn.find_mut(slot) {
                *slot = slot.clone().child(self.template(content));
            }
            if let Some(feed) = root.find_mut(Hook::Feed) {
                *feed = feed.clone().child(self.template("userTurn")).child(turn);
            }
        }
        if is_streaming && let Some(send) = root.find_mut(Hook::Send) {
            *send = self.template("stop");
        }
        root
    }

    fn template(&self, name: &str) -> Element {
        self.templates.get(name).cloned().unwrap_or_else(|| el("div"))
    }
}

/// The first path as marker, the others as alternatives.
fn exists(tree: &Element, paths: Vec<Path>, others: Vec<Path>) -> Truth {
    let mut all = paths.into_iter().chain(others).filter_map(|path| tree.css_path(&path));
    match all.next() {
        Some(marker) => Truth::Exists { marker, alternatives: all.collect() },
        None => Truth::Missing,
    }
}

/// Stands in for the composer until it is there.
fn skeleton() -> Element {
    el("div").class("skeleton").attr("aria-busy", "true")
}

type Hooks = BTreeMap<String, Vec<Path>>;

fn hooks(element: &Element) -> Hooks {
    let mut out = Hooks::new();
    for (hook, path) in element.hooks() {
        out.entry(format!("{hook:?}")).or_default().push(path);
    }
    out
}

/// Everything the script is told.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Config<'a> {
    query: String,
    conversation_prefix: &'a str,
    hooks: Hooks,
    templates: BTreeMap<&'a str, Template>,
    models: &'a [Choice],
    tools: &'a [Choice],
    late: Option<Late>,
    upload_ms: u64,
    drop_uploads: bool,
    lose_first_click: bool,
    /// Disabled controls have `aria-disabled` instead of `disabled`.
    aria_disabled: bool,
    /// Copies with `clipboard.write` instead of `writeText`.
    clipboard_item: bool,
    complete_class: String,
    blank_class: String,
    /// Nothing can be sent.
    is_broken: bool,
}

/// Element that the script adds, with its hooks.
#[derive(Serialize)]
struct Template {
    html: String,
    hooks: Hooks,
}

/// Region that appears late.
#[derive(Serialize)]
struct Late {
    path: Path,
    html: String,
    ms: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::parse;
    use crate::scenario::Interstitial;

    const VARIANTS: [Variant; 4] =
        [Variant::Baseline, Variant::Cosmetic, Variant::Structural, Variant::Breaking];

    /// Every app in every variant and some seeds.
    fn pages() -> impl Iterator<Item = (App, Scenario)> {
        let variants = |app| VARIANTS.map(|variant| (app, variant)).into_iter();
        App::ALL.into_iter().flat_map(variants).flat_map(|(app, variant)| {
            (0..12).map(move |seed| (app, Scenario { variant, seed, ..Scenario::default() }))
        })
    }

    /// Element that a CSS path of ours matches in parsed HTML. It cannot match two: every step names one child.
    fn matched<'a>(html: &'a Element, css: &str) -> &'a Element {
        let mut steps = css.split(" > ");
        assert_eq!(steps.next(), Some("html"));
        steps.fold(html, |element, step| {
            let (tag, nth) = step.split_once(":nth-child(").unwrap_or((step, ""));
            let found = match nth.strip_suffix(')') {
                Some(nth) => element.elements().nth(nth.parse::<usize>().unwrap() - 1),
                None => element.elements().find(|child| child.tag == tag),
            };
            let found = found.unwrap_or_else(|| panic!("`{css}` matches nothing"));
            assert_eq!(found.tag, tag, "{css}");
            found
        })
    }

    fn marker(truth: &Truth) -> &str {
        match truth {
            Truth::Exists { marker, .. } => marker,
            _ => panic!("{truth:?}"),
        }
    }

    #[test]
    fn labels_match_one_element_of_the_served_html() {
        for (app, scenario) in pages() {
            let page = Page::new(app, &scenario);
            let html = parse(&page.html(&scenario));
            for (name, truth) in page.labels(Moment::Start).all() {
                if let Truth::Exists { marker, alternatives } = truth {
                    for path in alternatives.iter().chain([marker]) {
                        let element = matched(&html, path);
                        let is_button =
                            element.tag == "button" || element.get("role") == Some("button");
                        let is_box =
                            element.tag == "textarea" || element.get("role") == Some("textbox");
                        assert!(if name == "composer" { is_box } else { is_button }, "{name}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_target_exists_unless_the_page_is_broken() {
        for (app, scenario) in pages() {
            let page = Page::new(app, &scenario);
            let start = page.labels(Moment::Start);
            let composer_exists = matches!(start.composer, Truth::Exists { .. });
            assert_eq!(composer_exists, scenario.variant != Variant::Breaking, "{scenario:?}");
            if scenario.variant == Variant::Breaking {
                continue;
            }
            assert_eq!(start.copy_button, Truth::Missing);
            assert_eq!(start.streaming_indicator, Truth::Missing);
            let streaming = page.labels(Moment::Streaming(1));
            assert_eq!(streaming.send_button, Truth::Missing);
            marker(&streaming.streaming_indicator);
            let finished = page.labels(Moment::Finished(2));
            assert_eq!(finished.streaming_indicator, Truth::Missing);
            let html = parse(&page.at(Moment::Finished(2)).html());
            let copy = matched(&html, marker(&finished.copy_button));
            assert!(copy.get("aria-label").unwrap().starts_with("Copy"));
            let turn = marker(&finished.response_feed);
            assert!(matched(&html, turn).get("aria-label").is_some());
            assert!(marker(&finished.copy_button).starts_with(turn));
            let Truth::Exists { alternatives, .. } = &finished.copy_button else { panic!() };
            assert_eq!(alternatives.len(), 1);
            assert!(finished.response_feed.accepts(marker(&streaming.response_feed)));
        }
    }

    #[test]
    fn broken_page_has_no_composer_left() {
        for (app, scenario) in pages().filter(|(_, it)| it.variant == Variant::Breaking) {
            let page = Page::new(app, &scenario);
            let html = page.html(&scenario);
            let composer = page.labels(Moment::Start).composer;
            match page.breakage.unwrap() {
                Breakage::Canvas => assert!(!html.contains("textbox") && html.contains("<canvas")),
                Breakage::Feedback => assert!(html.contains("\"Feedback\"")),
                Breakage::TwoComposers => {
                    assert_eq!(html.matches("\"textbox\"").count(), 2);
                    assert_eq!(composer, Truth::Ambiguous);
                    continue;
                }
                Breakage::Wall => {
                    let all = page.labels(Moment::Start);
                    assert!(all.all().iter().all(|(_, truth)| **truth == Truth::Missing));
                }
            }
            assert_eq!(composer, Truth::Missing);
        }
    }

    #[test]
    fn baseline_matches_the_selectors_of_the_contract() {
        let html = |app| {
            let page = Page::new(app, &Scenario::default());
            page.html(&Scenario::default()) + &page.script(&Scenario::default()).replace('\\', "")
        };
        for (app, parts) in [
            (
                App::ChatGpt,
                &[
                    "id=\"prompt-textarea\"",
                    "aria-label=\"Message ChatGPT\"",
                    "data-testid=\"model-switcher-dropdown-button\"",
                    "__composer-pill",
                    "data-testid=\"composer-plus-btn\"",
                    "data-testid=\"send-button\"",
                    "data-testid=\"stop-button\"",
                    "data-testid=\"copy-turn-action-button\"",
                    "data-testid=\"model-switcher-gpt-5-5-pro\"",
                    "data-testid=\"profile-button\"",
                    "data-message-author-role=\"assistant\"",
                    "data-turn=\"assistant\"",
                ][..],
            ),
            (
                App::Gemini,
                &[
                    "<rich-textarea",
                    "ql-editor",
                    "data-test-id=\"bard-mode-menu-button\"",
                    "aria-label=\"Open mode picker\"",
                    "aria-label=\"Open upload file menu\"",
                    "<model-response",
                    "<message-actions",
                    "response-footer",
                    "data-test-id=\"copy-button\"",
                    "data-test-id=\"bard-mode-option-thinking\"",
                    "send-button",
                    "aria-label=\"Tools\"",
                    "menuitemcheckbox",
                ][..],
            ),
            (
                App::Grok,
                &[
                    "tiptap ProseMirror",
                    "aria-label=\"Ask Grok anything\"",
                    "aria-label=\"Model select\"",
                    "aria-label=\"Attach\"",
                    "data-testid=\"assistant-message\"",
                    "data-testid=\"user-message\"",
                    "id=\"response-{id}\"",
                    "aria-label=\"Copy\"",
                    "role=\"menuitem\"",
                ][..],
            ),
        ] {
            let html = html(app);
            for part in parts {
                assert!(html.contains(part), "{app:?}: {part}");
            }
        }
    }

    #[test]
    fn obstacles_are_on_the_page() {
        for app in App::ALL {
            let html = |scenario: &Scenario| Page::new(app, scenario).html(scenario);
            let wall = Scenario { logged_out: true, ..Scenario::default() };
            assert!(
                !html(&wall).contains("textbox") && html(&wall).to_lowercase().contains("log in")
            );
            let modal = Scenario { modal: true, ..Scenario::default() };
            assert!(html(&modal).contains("aria-modal=\"true\""));
            let late = Scenario { late_ms: 5, ..Scenario::default() };
            assert!(!html(&late).contains("textbox") && html(&late).contains("aria-busy"));
            let challenge = Interstitial::Cloudflare;
            let challenge = Scenario { interstitial: Some(challenge), ..Scenario::default() };
            assert!(html(&challenge).contains("Ray ID"));
            for scenario in [wall, challenge] {
                let labels = Page::new(app, &scenario).labels(Moment::Start);
                assert!(labels.all().iter().all(|(_, truth)| **truth == Truth::Missing));
            }
        }
    }

    #[test]
    fn no_label_is_in_the_html() {
        for (app, scenario) in pages() {
            let html = Page::new(app, &scenario).html(&scenario);
            for word in ["modelPicker", "uploadSurface", "nth-child", "hook", "decoy"] {
                assert!(!html.contains(word), "{word}");
            }
        }
    }
}
