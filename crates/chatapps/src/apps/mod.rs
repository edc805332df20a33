//! Baseline descriptions of the three apps, and what they have in common.

mod chatgpt;
mod gemini;
mod grok;

use crate::element::{Element, Hook, div, el, icon};
use crate::scenario::{App, Composer, Interstitial, Models, Scenario};

/// A page and everything its script may add to it.
#[derive(Clone, Debug)]
pub(crate) struct Description {
    /// Title of the document.
    pub(crate) title: &'static str,
    pub(crate) body: Element,
    /// Elements that the script adds, by name.
    pub(crate) templates: Vec<(&'static str, Element)>,
    /// Models in the order of the menu; the first is selected.
    pub(crate) models: Vec<Choice>,
    /// Tools in the order of their menu.
    pub(crate) tools: Vec<Choice>,
}

/// Entry of a menu that can be selected.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub(crate) struct Choice {
    pub(crate) id: &'static str,
    pub(crate) label: &'static str,
    #[serde(skip)]
    note: &'static str,
    #[serde(skip)]
    test_id: &'static str,
    #[serde(skip)]
    is_paid: bool,
}

/// Describes the page of an app in a scenario, without deviation.
pub(crate) fn describe(app: App, scenario: &Scenario) -> Description {
    if let Some(kind) = scenario.interstitial {
        return interstitial(kind);
    }
    let mut description = match (app, scenario.logged_out) {
        (App::ChatGpt, false) => chatgpt::app(scenario),
        (App::Gemini, false) => gemini::app(scenario),
        (App::Grok, false) => grok::app(scenario),
        (App::ChatGpt, true) => chatgpt::login_wall(),
        (App::Gemini, true) => gemini::login_wall(),
        (App::Grok, true) => grok::login_wall(),
    };
    if scenario.modal && !scenario.logged_out {
        description.body = description.body.child(modal());
    }
    description
}

/// Describes the page that the links of a login wall lead to.
pub(crate) fn sign_in(app: App) -> Description {
    let name = match app {
        App::ChatGpt => "ChatGPT",
        App::Gemini => "Google",
        App::Grok => "Grok",
    };
    let form = el("form")
        .class("sign-in")
        .child(el("h1").text("Log in"))
        .child(el("p").text(&format!("Log in to continue to {name}.")))
        .child(
            el("input")
                .class("field")
                .attr("type", "email")
                .attr("autocomplete", "username")
                .label("Email address"),
        )
        .child(el("button").class("primary").attr("type", "button").text("Continue"));
    page("Log in", el("body").class("page centred").child(form))
}

fn page(title: &'static str, body: Element) -> Description {
    Description { title, body, templates: Vec::new(), models: Vec::new(), tools: Vec::new() }
}

fn interstitial(kind: Interstitial) -> Description {
    let body = el("body").class("page centred");
    match kind {
        Interstitial::Cloudflare => {
            let main = el("main")
                .class("sign-in")
                .child(el("h1").text("Just a moment..."))
                .child(el("p").text("Checking if the site connection is secure"))
                .child(el("p").text("Enable JavaScript and cookies to continue"))
                .child(el("p").class("note").text("Ray ID: 8f2c51d07aa3e6b4"));
            page("Just a moment...", body.child(main))
        }
        Interstitial::Empty => page("", body.child(div("shell"))),
        Interstitial::Loading => {
            let status = div("loading").attr("role", "status").text("Loading…");
            page("Loading", body.child(status))
        }
    }
}

/// Dialog that covers the whole page.
fn modal() -> Element {
    let heading = el("h2").text("Welcome back");
    let text = el("p").text("Take a moment to review what has changed since your last visit.");
    let close = el("button").class("primary").attr("type", "button").hook(Hook::ModalClose);
    let dialog = div("modal")
        .attr("role", "dialog")
        .attr("aria-modal", "true")
        .label("Welcome back")
        .all([heading, text, close.text("Continue")]);
    div("veil").hook(Hook::Modal).child(dialog)
}

/// Button with an icon and a name for assistive technology.
fn icon_button(label: &str, path: &str) -> Element {
    el("button").class("icon-button").attr("type", "button").label(label).child(icon(path))
}

/// Link to the page that begins a conversation. The page's script adds the scenario.
fn link(class: &str, text: &str) -> Element {
    el("a").class(class).attr("href", "{start}").text(text)
}

/// Column with earlier conversations.
fn sidebar(tag: &str, label: &str, brand: &str) -> Element {
    let titles = ["Trip to the coast", "Bread without kneading", "Names for a boat"];
    let history = titles.map(|title| link("nav-link history", title));
    el(tag)
        .class("sidebar")
        .label(label)
        .hook(Hook::Sidebar)
        .child(div("brand").text(brand))
        .child(link("nav-link", "New chat"))
        .child(div("nav-list").all(history))
        .child(div("spacer"))
}

/// The composer's element, of the kind that the scenario asks for.
fn composer(scenario: &Scenario, classes: &str, label: &str, placeholder: &str) -> Element {
    match scenario.composer {
        Composer::Textarea => textarea(label, placeholder),
        Composer::Rich => rich_editor(classes, label, placeholder),
    }
}

/// Composer that is a `textarea`.
pub(crate) fn textarea(label: &str, placeholder: &str) -> Element {
    el("textarea")
        .class("editor")
        .attr("rows", "1")
        .label(label)
        .attr("placeholder", placeholder)
        .hook(Hook::Composer)
}

/// Composer that is a rich text editor.
pub(crate) fn rich_editor(classes: &str, label: &str, placeholder: &str) -> Element {
    div(&format!("editor {classes}"))
        .attr("contenteditable", "true")
        .attr("role", "textbox")
        .attr("aria-multiline", "true")
        .label(label)
        .attr("data-placeholder", placeholder)
        .hook(Hook::Composer)
        .child(el("p").child(el("br")))
}

/// Hidden input for files.
fn file_input() -> Element {
    el("input")
        .class("file-input")
        .attr("type", "file")
        .attr("multiple", "")
        .attr("tabindex", "-1")
        .attr("aria-hidden", "true")
        .hook(Hook::FileInput)
}

/// Models of a scenario.
fn selectable(models: &[Choice], scenario: &Scenario) -> Vec<Choice> {
    let all = scenario.models == Models::All;
    models.iter().copied().filter(|model| all || !model.is_paid).collect()
}

/// Menu of choices. `test_attribute` names the attribute with the choices' test ids.
fn choice_menu(label: &str, role: &str, test_attribute: &str, choices: &[Choice]) -> Element {
    let items = choices.iter().map(|choice| {
        let mut item = menu_item(role, choice.label, choice.note);
        if !choice.test_id.is_empty() {
            item = item.attr(test_attribute, choice.test_id);
        }
        if role == "menuitem" { item } else { item.attr("aria-checked", "false") }
    });
    menu(label, items)
}

fn menu(label: &str, items: impl IntoIterator<Item = Element>) -> Element {
    div("menu").attr("role", "menu").label(label).all(items)
}

fn menu_item(role: &str, name: &str, note: &str) -> Element {
    let mut item = el("button")
        .class("menu-item")
        .attr("type", "button")
        .attr("role", role)
        .attr("tabindex", "-1")
        .hook(Hook::Item)
        .child(el("span").class("item-name").text(name));
    if !note.is_empty() {
        item = item.child(el("span").class("item-note").text(note));
    }
    let check = icon(CHECK).attr("style", "visibility:hidden").hook(Hook::ItemCheck);
    item.child(check)
}

/// Templates that are alike in all apps.
fn common_templates() -> Vec<(&'static str, Element)> {
    let remove = icon_button("Remove file", CROSS).hook(Hook::ChipButton);
    let chip = div("chip")
        .attr("role", "group")
        .label("{name}")
        .attr("aria-busy", "true")
        .child(el("span").class("chip-name").hook(Hook::ChipName))
        .child(el("progress").class("progress").label("Uploading"))
        .child(remove);
    let file = div("file").child(el("span").class("chip-name").hook(Hook::ChipName));
    let code = div("code")
        .child(
            div("code-head").child(el("span").hook(Hook::CodeLanguage)).child(
                el("button")
                    .class("code-copy")
                    .attr("type", "button")
                    .text("Copy code")
                    .hook(Hook::ChipButton),
            ),
        )
        .child(el("pre").class("pre").child(el("code").hook(Hook::CodeText)));
    let error = div("error")
        .attr("role", "alert")
        .child(el("span").text("Something went wrong while generating the response."))
        .child(
            el("button")
                .class("secondary")
                .attr("type", "button")
                .text("Retry")
                .hook(Hook::ChipButton),
        );
    vec![("chip", chip), ("file", file), ("code", code), ("error", error)]
}

/// Menu of the account.
fn profile_menu() -> Element {
    menu("Account", ["Settings", "Help", "Log out"].map(|name| menu_item("menuitem", name, "")))
}

/// Wall with links to log in, instead of the app.
fn login_page(title: &'static str, headline: &str, controls: [Element; 2]) -> Description {
    let text = el("p").text("Log in or sign up to get answers, upload files and keep your chats.");
    let card = el("main").class("sign-in").child(el("h1").text(headline)).child(text);
    page(title, el("body").class("page centred").child(card.all(controls)))
}

const PLUS: &str = "M11 5h2v6h6v2h-6v6h-2v-6H5v-2h6z";
const CROSS: &str =
    "M6.4 5 12 10.6 17.6 5 19 6.4 13.4 12l5.6 5.6-1.4 1.4-5.6-5.6L6.4 19 5 17.6 10.6 12 5 6.4z";
const CHECK: &str = "M9.5 17.2 4.3 12l1.4-1.4 3.8 3.8 8.8-8.8L19.7 7z";
const ARROW: &str = "M11 19V8.8l-4.3 4.3-1.4-1.4L12 5l6.7 6.7-1.4 1.4L13 8.8V19z";
const SQUARE: &str = "M7 7h10v10H7z";
const COPY: &str = "M8 4h11v13H8zM10 6v9h7V6zM5 8h2v11h9v2H5z";
const THUMB_UP: &str = "M4 10h3v10H4zM9 20V10l4-7 2 1-1 5h6v4l-3 7z";
const THUMB_DOWN: &str = "M4 4h3v10H4zM9 4v10l4 7 2-1-1-5h6v-4l-3-7z";
const SHARE: &str = "M12 3l5 5-1.4 1.4L13 6.8V15h-2V6.8L8.4 9.4 7 8zM5 13h2v6h10v-6h2v8H5z";
const MICROPHONE: &str =
    "M10 4h4v9h-4zM6 11h2c0 5 8 5 8 0h2c0 4-2.500 5.700-5 6v3h-2v-3c-2.500-.300-5-2-5-6z";
const PERSON: &str = "M12 4a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM4 20c0-8 16-8 16 0z";
const CHEVRON: &str = "M12 15.500 6.500 10 8 8.600l4 4 4-4 1.500 1.400z";
const SLIDERS: &str = "M4 7h10v2H4zM16 5h2v6h-2zM4 15h4v2H4zM10 13h2v6h-2zM14 15h6v2h-6z";
