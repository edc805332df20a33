//! The app that behaves like Grok.

use super::{ARROW, CHEVRON, COPY, PERSON, PLUS, SHARE, SQUARE, THUMB_DOWN, THUMB_UP};
use super::{Choice, Description};
use crate::element::{Element, Hook, div, el, icon};
use crate::scenario::Scenario;

const MODELS: &[Choice] = &[
    model("auto", "Auto", "Chooses Fast or Expert", false),
    model("fast", "Fast", "Quick responses", false),
    model("expert", "Expert", "Thinks hard", false),
    model("grok-4.3", "Grok 4.3", "Beta", false),
    model("heavy", "Heavy", "Team of experts", true),
];

const fn model(id: &'static str, label: &'static str, note: &'static str, is_paid: bool) -> Choice {
    Choice { id, label, note, test_id: "", is_paid }
}

pub(super) fn app(scenario: &Scenario) -> Description {
    let models = super::selectable(MODELS, scenario);
    let mut templates = super::common_templates();
    templates.extend([
        ("userTurn", user_turn()),
        ("assistantTurn", assistant_turn()),
        ("actions", actions()),
        ("status", div("status").text("{placeholder}").hook(Hook::Status)),
        ("stop", send("Stop model response", "button", SQUARE).hook(Hook::Stop)),
        ("modelMenu", super::choice_menu("Models", "menuitem", "data-testid", &models)),
        ("profileMenu", super::profile_menu()),
    ]);
    let shell = div("shell").child(sidebar()).child(main(scenario, models[0].label));
    let body = el("body").class("page grok").child(shell);
    Description { title: "Grok", body, templates, models, tools: Vec::new() }
}

pub(super) fn login_wall() -> Description {
    let log_in = el("button").class("primary").attr("type", "button");
    let sign_up = el("a").class("secondary").attr("href", "/login?signup=1");
    super::login_page(
        "Grok",
        "Log in to Grok",
        [
            log_in.attr("data-testid", "loginButton").attr("data-href", "/login").text("Sign in"),
            sign_up.text("Sign up"),
        ],
    )
}

fn sidebar() -> Element {
    let profile = el("button")
        .class("profile")
        .attr("type", "button")
        .attr("aria-haspopup", "menu")
        .attr("aria-expanded", "false")
        .label("Profile menu")
        .hook(Hook::Profile)
        .child(icon(PERSON))
        .child(el("span").text("Test User"));
    super::sidebar("aside", "History", "Grok").child(profile)
}

fn main(scenario: &Scenario, model: &str) -> Element {
    let top = el("header")
        .class("topbar")
        .hook(Hook::TopBar)
        .child(div("spacer"))
        .child(super::icon_button("Share conversation", SHARE));
    let thread = div("thread")
        .child(el("h1").class("greeting").text("Grok").hook(Hook::Greeting))
        .child(div("turns").hook(Hook::Feed));
    el("main").class("main").child(top).child(thread).child(form(scenario, model))
}

fn form(scenario: &Scenario, model: &str) -> Element {
    let editor = super::composer(
        scenario,
        "tiptap ProseMirror",
        "Ask Grok anything",
        "What do you want to know?",
    );
    let upload = super::icon_button("Attach", PLUS).hook(Hook::Upload);
    let picker = el("button")
        .class("pill")
        .attr("type", "button")
        .attr("id", "model-select-trigger")
        .attr("aria-haspopup", "menu")
        .attr("aria-expanded", "false")
        .label("Model select")
        .hook(Hook::ModelPicker)
        .child(el("span").text(model).hook(Hook::ModelName))
        .child(icon(CHEVRON));
    let bar = div("bar")
        .hook(Hook::ComposerBar)
        .child(upload)
        .child(div("spacer"))
        .child(picker)
        .child(send("Submit", "submit", ARROW).attr("disabled", "").hook(Hook::Send));
    let card = div("card").child(div("chips").hook(Hook::Chips)).child(editor).child(bar);
    el("form")
        .class("composer")
        .hook(Hook::Form)
        .child(card)
        .child(super::file_input().attr("name", "files"))
}

fn send(label: &str, kind: &str, path: &str) -> Element {
    el("button").class("send").attr("type", kind).label(label).child(icon(path))
}

fn user_turn() -> Element {
    let message = div("bubble")
        .attr("data-testid", "user-message")
        .child(div("files").hook(Hook::TurnFiles))
        .child(div("text").hook(Hook::Content));
    div("turn turn-user").attr("id", "response-{id}").child(message)
}

fn assistant_turn() -> Element {
    let message = div("message")
        .attr("data-testid", "assistant-message")
        .child(div("status-slot").hook(Hook::StatusSlot))
        .child(div("markdown").hook(Hook::Content));
    div("turn turn-assistant")
        .attr("id", "response-{id}")
        .attr("role", "group")
        .label("Assistant response")
        .hook(Hook::Turn)
        .child(message)
        .child(div("action-slot").hook(Hook::ActionsSlot))
}

fn actions() -> Element {
    div("actions")
        .hook(Hook::Actions)
        .child(super::icon_button("Copy", COPY).hook(Hook::Copy))
        .child(super::icon_button("Share", SHARE))
        .child(super::icon_button("Like", THUMB_UP))
        .child(super::icon_button("Dislike", THUMB_DOWN))
}
