//! Seeded mutators: pure functions from one page description to a deviating one.
//!
//! The script drives the deviating page through the hooks, which mutators carry along, so a structural variant works like
//! the baseline.

use crate::apps::{self, Description};
use crate::element::{Element, Hook, Node, div, el};
use crate::rng::Rng;
use crate::scenario::{App, Variant};

/// A mutated page description.
#[derive(Clone, Debug)]
pub(crate) struct Variation {
    pub(crate) description: Description,
    pub(crate) breakage: Option<Breakage>,
}

/// What a breaking variant did to the composer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Breakage {
    /// A canvas took its place.
    Canvas,
    /// It is gone, and a text box for feedback is there.
    Feedback,
    /// There are two, and nothing tells which.
    TwoComposers,
    /// Everything is hidden from assistive technology, behind an opaque wall.
    Wall,
}

/// Deviates a page description.
pub(crate) fn mutate(
    app: App,
    mut description: Description,
    variant: Variant,
    seed: u64,
) -> Variation {
    let mut rng = Rng::new(seed, &format!("{app:?} {variant:?}"));
    let mut breakage = None;
    match variant {
        Variant::Baseline => return Variation { description, breakage },
        Variant::Cosmetic => {}
        Variant::Structural => structural(&mut description, &mut rng),
        Variant::Breaking => {
            let kinds =
                [Breakage::Canvas, Breakage::Feedback, Breakage::TwoComposers, Breakage::Wall];
            let kind = kinds[usize::try_from(seed % 4).unwrap_or_default()];
            if description.body.find_mut(Hook::Composer).is_some() {
                break_composer(&mut description.body, kind);
                breakage = Some(kind);
            }
        }
    }
    if variant != Variant::Structural {
        add_search(&mut description.body, "search", "Search chats");
    }
    shuffle_history(&mut description.body, &mut rng);
    for root in roots(&mut description) {
        decorate(root, &mut rng);
        root.visit_mut(&mut |element| {
            if let Some(classes) = element.get("class") {
                let renamed: Vec<_> =
                    classes.split(' ').map(|class| class_name(class, variant, seed)).collect();
                element.set("class", &renamed.join(" "));
            }
            rng.shuffle(&mut element.attributes);
        });
    }
    Variation { description, breakage }
}

/// Name of a class in a variant. Classes that selectors rely on stay unless the variant is structural.
pub(crate) fn class_name(class: &str, variant: Variant, seed: u64) -> String {
    const CONTRACTUAL: &[&str] = &[
        "ProseMirror",
        "ql-editor",
        "__composer-pill",
        "send-button",
        "response-footer",
        "complete",
        "stop",
    ];
    let stays = match variant {
        Variant::Baseline => true,
        Variant::Cosmetic | Variant::Breaking => CONTRACTUAL.contains(&class),
        Variant::Structural => false,
    };
    if stays { class.to_owned() } else { Rng::new(seed, class).word() }
}

/// Style sheet with the classes' names of a variant.
pub(crate) fn rename_classes(css: &str, variant: Variant, seed: u64) -> String {
    let mut out = String::new();
    let mut rest = css;
    while let Some(dot) = rest.find('.') {
        let (before, after) = rest.split_at(dot + 1);
        out.push_str(before);
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let end = after.find(|c| !is_name(c)).unwrap_or(after.len());
        let (name, after) = after.split_at(end);
        if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            out.push_str(&class_name(name, variant, seed));
        } else {
            out.push_str(name);
        }
        rest = after;
    }
    out + rest
}

fn roots(description: &mut Description) -> impl Iterator<Item = &mut Element> {
    let templates = description.templates.iter_mut().map(|(_, template)| template);
    std::iter::once(&mut description.body).chain(templates)
}

/// Adds wrappers and decoration that changes nothing visible.
fn decorate(element: &mut Element, rng: &mut Rng) {
    if !may_hold_anything(element) {
        return;
    }
    for child in element.elements_mut() {
        decorate(child, rng);
    }
    if rng.chance(20) {
        element.set("style", "letter-spacing:0");
    }
    for child in &mut element.children {
        if let Node::Element(inner) = child
            && rng.chance(20)
        {
            let wrapper = el("div").attr("style", "display:contents");
            let inner = std::mem::replace(inner, el("div"));
            *child = Node::Element(wrapper.child(inner));
        }
    }
    if rng.chance(35) {
        let at = rng.below(element.children.len() + 1);
        let decoration = el("span").class("decoration").attr("aria-hidden", "true");
        element.children.insert(at, Node::Element(decoration));
    }
}

/// True if elements may be added among the children: containers without a meaning of their own, except those whose
/// content belongs to the script.
fn may_hold_anything(element: &Element) -> bool {
    let is_container = element.tag.contains('-')
        || matches!(
            element.tag.as_str(),
            "body" | "div" | "main" | "section" | "nav" | "aside" | "header" | "form" | "article"
        );
    let is_neutral =
        element.get("role").is_none_or(|role| matches!(role, "article" | "group" | "main"));
    let belongs_to_script = matches!(
        element.hook,
        Some(
            Hook::Composer
                | Hook::Feed
                | Hook::Chips
                | Hook::ToolChips
                | Hook::Content
                | Hook::TurnFiles
                | Hook::StatusSlot
                | Hook::ActionsSlot
                | Hook::Status
        )
    );
    is_container && is_neutral && !belongs_to_script
}

/// Changes the order of the sidebar's earlier conversations, which are all alike.
fn shuffle_history(body: &mut Element, rng: &mut Rng) {
    body.visit_mut(&mut |element| {
        if element.get("class") == Some("nav-list") {
            rng.shuffle(&mut element.children);
        }
    });
}

/// Adds a search field to the sidebar.
fn add_search(body: &mut Element, kind: &str, label: &str) {
    let search = el("input")
        .class("field search")
        .attr("type", kind)
        .label(label)
        .attr("placeholder", label)
        .hook(Hook::Decoy);
    if let Some(sidebar) = body.find_mut(Hook::Sidebar) {
        sidebar.children.insert(1, Node::Element(search));
    }
}

fn structural(description: &mut Description, rng: &mut Rng) {
    move_controls(&mut description.body, rng);
    change_composer(&mut description.body, rng);
    for root in roots(description) {
        root.visit_mut(&mut |element| {
            rename(element, rng);
            strip_ids(element, rng);
            change_tag(element, rng);
        });
    }
    add_search(&mut description.body, "text", "Search");
    let decoy = |label: &str| {
        el("button").class("secondary").attr("type", "button").text(label).hook(Hook::Decoy)
    };
    if let Some(top) = description.body.find_mut(Hook::TopBar) {
        let at = rng.below(top.children.len() + 1);
        top.children.insert(at, Node::Element(decoy("Copy link")));
    }
    let user_turn = description.templates.iter_mut().find(|(name, _)| *name == "userTurn");
    if let Some((_, turn)) = user_turn.filter(|_| rng.chance(50)) {
        turn.children.push(Node::Element(decoy("Copy prompt")));
    }
}

/// Moves the model picker, the upload button and the send button to other containers.
fn move_controls(body: &mut Element, rng: &mut Rng) {
    for (hook, homes) in [
        (Hook::ModelPicker, [Hook::TopBar, Hook::ComposerBar]),
        (Hook::Upload, [Hook::Form, Hook::TopBar]),
        (Hook::Send, [Hook::Form, Hook::ComposerBar]),
    ] {
        if !rng.chance(50) {
            continue;
        }
        let home = *rng.pick(&homes);
        let Some(control) = body.take(hook) else { continue };
        if let Some(home) = body.find_mut(home) {
            let at = if rng.chance(50) { 0 } else { home.children.len() };
            home.children.insert(at, Node::Element(control));
        }
    }
}

/// Turns a rich text editor into a `textarea` or the other way round.
fn change_composer(body: &mut Element, rng: &mut Rng) {
    let Some(composer) = body.find_mut(Hook::Composer) else { return };
    if !rng.chance(40) {
        return;
    }
    let label = composer.get("aria-label").unwrap_or_default().to_owned();
    *composer = if composer.tag == "textarea" {
        apps::rich_editor("ProseMirror", &label, "Write something")
    } else {
        apps::textarea(&label, "Write something")
    };
}

/// Names for assistive technology that mean the same. All stay within the words that identify the element.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("Message ChatGPT", &["Send a message to ChatGPT", "Write a message", "Prompt for ChatGPT"]),
    ("Enter a prompt for Gemini", &["Ask Gemini", "Type your prompt here", "Message Gemini"]),
    ("Ask Grok anything", &["Message Grok", "Type a prompt", "Ask a question"]),
    ("Model selector, current model is Instant", &["Choose a model", "Model menu", "Switch model"]),
    ("Open mode picker", &["Choose a model", "Select mode", "Model picker"]),
    ("Model select", &["Choose model", "Model menu", "Change the model"]),
    ("Add files and more", &["Upload a file", "Attach files", "Add a file"]),
    ("Open upload file menu", &["Attach a file", "Upload files", "Add or upload files"]),
    ("Attach", &["Upload a file", "Attach files", "Add files or upload"]),
    ("Assistant response", &["Response", "Assistant message", "Response from the assistant"]),
    ("Gemini response", &["Response", "Answer by Gemini", "Response from Gemini"]),
    ("Copy", &["Copy response", "Copy to clipboard", "Copy text"]),
    ("Stop streaming", &["Stop generating", "Stop response", "Stop"]),
    ("Stop response", &["Stop generating", "Stop", "Stop answering"]),
    ("Stop model response", &["Stop generating", "Stop", "Stop response"]),
    ("Send prompt", &["Send message", "Submit prompt", "Send"]),
    ("Send message", &["Send prompt", "Submit", "Send"]),
    ("Submit", &["Send", "Send message", "Submit prompt"]),
    ("Good response", &["Helpful", "I like this response"]),
    ("Share", &["Share this", "Export"]),
];

fn rename(element: &mut Element, rng: &mut Rng) {
    let Some(label) = element.get("aria-label") else { return };
    let Some((_, names)) = SYNONYMS.iter().find(|(name, _)| *name == label) else { return };
    let name: &str = rng.pick::<&str>(names);
    element.set("aria-label", name);
}

/// Removes or renames test ids, ids and other attributes that selectors rely on.
fn strip_ids(element: &mut Element, rng: &mut Rng) {
    for name in ["data-testid", "data-test-id", "id", "name"] {
        if element.get(name).is_some() {
            if rng.chance(60) {
                element.remove(name);
            } else {
                // One word per element, also where a template is used many times.
                let word = format!("ui-{}", rng.word());
                element.remove(name);
                element.set(if name == "id" { "data-ui" } else { name }, &word);
            }
        }
    }
    for name in [
        "data-message-author-role",
        "data-message-id",
        "data-message-model-slug",
        "data-turn",
        "data-turn-id",
        "data-response-index",
        "data-virtualkeyboard",
        "data-id",
        "data-type",
    ] {
        element.remove(name);
    }
}

/// Replaces a tag by another that is presented with the same role.
fn change_tag(element: &mut Element, rng: &mut Rng) {
    if element.hook == Some(Hook::Composer) {
        return;
    }
    match element.tag.as_str() {
        "button" if rng.chance(45) => {
            element.remove("type");
            if element.remove("disabled").is_some() {
                element.set("aria-disabled", "true");
            }
            if element.get("role").is_none() {
                element.set("role", "button");
                element.set("tabindex", "0");
            }
            "div".clone_into(&mut element.tag);
        }
        "article" => {
            let tag = *rng.pick(&["div", "section"]);
            tag.clone_into(&mut element.tag);
            element.set("role", "article");
        }
        "main" => {
            "div".clone_into(&mut element.tag);
            element.set("role", "main");
        }
        "form" | "header" | "nav" | "aside" if rng.chance(60) => {
            "div".clone_into(&mut element.tag);
        }
        tag if tag.contains('-') => "div".clone_into(&mut element.tag),
        _ => {}
    }
}

fn break_composer(body: &mut Element, kind: Breakage) {
    // The element around it would give it away.
    body.visit_mut(&mut |element| {
        if element.tag == "rich-textarea" && kind != Breakage::Wall {
            "div".clone_into(&mut element.tag);
        }
    });
    match kind {
        Breakage::Canvas => {
            if let Some(composer) = body.find_mut(Hook::Composer) {
                *composer = el("canvas")
                    .class("editor")
                    .attr("width", "600")
                    .attr("height", "40")
                    .attr("role", "img")
                    .label("Drawing surface");
            }
        }
        Breakage::Feedback => {
            body.take(Hook::Send);
            if let Some(composer) = body.find_mut(Hook::Composer) {
                *composer = el("textarea")
                    .class("editor")
                    .attr("rows", "1")
                    .label("Feedback")
                    .attr("placeholder", "Tell us what you think of this page")
                    .hook(Hook::Decoy);
            }
        }
        Breakage::TwoComposers => {
            if let Some(bar) = body.find_mut(Hook::Composer) {
                bar.remove("id");
                let twin = bar.clone();
                let first = std::mem::replace(bar, el("div"));
                *bar = div("twins").child(first).child(twin);
            }
        }
        Breakage::Wall => {
            for element in body.elements_mut() {
                element.set("aria-hidden", "true");
            }
            let text = el("p").text("This conversation is paused for a review of your account.");
            let heading = el("h1").text("Please wait");
            let dialog = div("modal").attr("role", "dialog").label("Please wait");
            let wall = div("veil opaque").child(dialog.child(heading).child(text));
            body.children.push(Node::Element(wall));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Composer, Scenario};

    fn page(app: App, variant: Variant, seed: u64) -> Variation {
        mutate(app, apps::describe(app, &Scenario::default()), variant, seed)
    }

    fn html(mutated: &Variation) -> String {
        let templates = mutated.description.templates.iter().map(|(_, it)| it.html());
        std::iter::once(mutated.description.body.html()).chain(templates).collect()
    }

    #[test]
    fn same_seed_gives_the_same_page_and_another_seed_another() {
        for app in App::ALL {
            for variant in [Variant::Cosmetic, Variant::Structural, Variant::Breaking] {
                let first = html(&page(app, variant, 1));
                assert_eq!(first, html(&page(app, variant, 1)));
                for seed in 2..20 {
                    assert_ne!(
                        first,
                        html(&page(app, variant, seed)),
                        "{app:?} {variant:?} {seed}"
                    );
                }
            }
            assert_eq!(
                html(&page(app, Variant::Baseline, 1)),
                html(&page(app, Variant::Baseline, 2))
            );
        }
    }

    /// Attribute values of all elements of page and templates.
    fn values(mutated: &mut Variation, name: &str) -> Vec<String> {
        let mut out = Vec::new();
        for root in roots(&mut mutated.description) {
            root.visit_mut(&mut |element| out.extend(element.get(name).map(str::to_owned)));
        }
        out.sort();
        out
    }

    #[test]
    fn cosmetic_keeps_roles_names_and_test_ids() {
        for app in App::ALL {
            for seed in 0..20 {
                let mut baseline = page(app, Variant::Baseline, 0);
                let mut cosmetic = page(app, Variant::Cosmetic, seed);
                for name in ["role", "data-testid", "data-test-id", "id", "contenteditable"] {
                    assert_eq!(values(&mut baseline, name), values(&mut cosmetic, name), "{name}");
                }
                let mut names = values(&mut cosmetic, "aria-label");
                names.retain(|name| name != "Search chats");
                assert_eq!(values(&mut baseline, "aria-label"), names);
                assert_ne!(values(&mut baseline, "class"), values(&mut cosmetic, "class"));
            }
        }
    }

    #[test]
    fn structural_leaves_no_id_and_every_hook() {
        for app in App::ALL {
            for seed in 0..50 {
                let mut baseline = page(app, Variant::Baseline, 0);
                let mut structural = page(app, Variant::Structural, seed);
                assert_eq!(values(&mut structural, "id"), Vec::<String>::new());
                for value in values(&mut structural, "data-testid") {
                    assert!(value.starts_with("ui-"), "{value}");
                }
                let count = |mutated: &mut Variation| {
                    let mut hooks: Vec<_> = roots(&mut mutated.description)
                        .flat_map(|root| root.hooks())
                        .map(|(hook, _)| hook)
                        .filter(|hook| *hook != Hook::Decoy)
                        .collect();
                    hooks.sort();
                    hooks
                };
                assert_eq!(count(&mut baseline), count(&mut structural));
            }
        }
    }

    #[test]
    fn structural_names_stay_within_the_contract() {
        /// Words of the name patterns, by the baseline's name.
        const WORDS: &[(&str, &[&str])] = &[
            ("Message ChatGPT", &["message", "prompt", "chatgpt"]),
            ("Enter a prompt for Gemini", &["prompt", "message", "ask"]),
            ("Ask Grok anything", &["message", "prompt", "ask", "grok"]),
            ("Model selector, current model is Instant", &["model", "gpt"]),
            ("Open mode picker", &["model", "mode", "picker"]),
            ("Model select", &["model"]),
            ("Add files and more", &["attach", "upload", "file", "add"]),
            ("Open upload file menu", &["upload", "file", "attach"]),
            ("Attach", &["upload", "attach", "file"]),
            ("Assistant response", &["assistant", "response"]),
            ("Gemini response", &["response", "gemini"]),
            ("Copy", &["copy"]),
            ("Stop streaming", &["stop"]),
            ("Stop response", &["stop"]),
            ("Stop model response", &["stop"]),
            ("Send prompt", &["send", "submit"]),
            ("Send message", &["send", "submit"]),
            ("Submit", &["send", "submit"]),
        ];
        for (name, words) in WORDS {
            let (_, synonyms) = SYNONYMS.iter().find(|(it, _)| it == name).unwrap();
            for synonym in *synonyms {
                let synonym = synonym.to_lowercase();
                assert!(words.iter().any(|word| synonym.contains(word)), "{name}: {synonym}");
            }
        }
    }

    #[test]
    fn structural_turns_composers_both_ways() {
        for kind in [Composer::Rich, Composer::Textarea] {
            let scenario = Scenario { composer: kind, ..Scenario::default() };
            let tags: std::collections::BTreeSet<String> = (0..30)
                .map(|seed| {
                    let description = apps::describe(App::Grok, &scenario);
                    let mut page = mutate(App::Grok, description, Variant::Structural, seed);
                    page.description.body.find_mut(Hook::Composer).unwrap().tag.clone()
                })
                .collect();
            assert_eq!(tags.len(), 2, "{tags:?}");
        }
    }

    #[test]
    fn class_names_of_the_style_sheet_follow() {
        let name = class_name("card", Variant::Cosmetic, 3);
        let css = rename_classes(".card>.send-button{margin:.5rem 1.5em}", Variant::Cosmetic, 3);
        assert_eq!(css, format!(".{name}>.send-button{{margin:.5rem 1.5em}}"));
    }
}
