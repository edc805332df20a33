//! The app that behaves like ChatGPT.

use super::{ARROW, CHEVRON, COPY, MICROPHONE, PERSON, PLUS, SHARE, SQUARE, THUMB_DOWN, THUMB_UP};
use super::{Choice, Description};
use crate::element::{Element, Hook, div, el, icon};
use crate::scenario::{Composer, Scenario};

const MODELS: &[Choice] = &[
    Choice {
        id: "instant",
        label: "Instant",
        note: "Answers right away",
        test_id: "model-switcher-gpt-5-3",
        is_paid: false,
    },
    Choice {
        id: "thinking",
        label: "Thinking",
        note: "Thinks longer for better answers",
        test_id: "model-switcher-gpt-5-5-thinking",
        is_paid: false,
    },
    Choice {
        id: "pro",
        label: "Pro",
        note: "Research-grade intelligence",
        test_id: "model-switcher-gpt-5-5-pro",
        is_paid: true,
    },
];

pub(super) fn app(scenario: &Scenario) -> Description {
    let models = super::selectable(MODELS, scenario);
    let mut templates = super::common_templates();
    templates.extend([
        ("userTurn", user_turn()),
        ("assistantTurn", assistant_turn()),
        ("actions", actions()),
        ("status", div("status").text("{placeholder}").hook(Hook::Status)),
        ("stop", stop()),
        ("modelMenu", super::choice_menu("Models", "menuitemradio", "data-testid", &models)),
        ("uploadMenu", upload_menu()),
        ("profileMenu", super::profile_menu()),
    ]);
    let shell = div("shell").child(sidebar()).child(main(scenario, models[0].label));
    let body = el("body").class("page chatgpt").child(shell);
    Description { title: "ChatGPT", body, templates, models, tools: Vec::new() }
}

pub(super) fn login_wall() -> Description {
    let log_in = el("button").class("primary").attr("type", "button");
    let sign_up = el("a").class("secondary").attr("href", "/auth/login?signup=1");
    super::login_page(
        "ChatGPT",
        "Get started",
        [
            log_in
                .attr("data-testid", "login-button")
                .attr("data-href", "/auth/login")
                .text("Log in"),
            sign_up.text("Sign up for free"),
        ],
    )
}

fn sidebar() -> Element {
    let profile = el("button")
        .class("profile")
        .attr("type", "button")
        .attr("data-testid", "profile-button")
        .attr("aria-haspopup", "menu")
        .attr("aria-expanded", "false")
        .label("Open profile menu")
        .hook(Hook::Profile)
        .child(icon(PERSON))
        .child(el("span").text("Test User"));
    super::sidebar("nav", "Chat history", "ChatGPT").child(profile)
}

fn main(scenario: &Scenario, model: &str) -> Element {
    let picker = el("button")
        .class("pill")
        .attr("type", "button")
        .attr("data-testid", "model-switcher-dropdown-button")
        .attr("aria-haspopup", "menu")
        .attr("aria-expanded", "false")
        .label(&format!("Model selector, current model is {model}"))
        .hook(Hook::ModelPicker)
        .child(el("span").text("ChatGPT "))
        .child(el("span").class("dim").text(model).hook(Hook::ModelName))
        .child(icon(CHEVRON));
    let top = el("header")
        .class("topbar")
        .attr("id", "page-header")
        .hook(Hook::TopBar)
        .child(picker)
        .child(div("spacer"));
    let thread = div("thread")
        .child(el("h1").class("greeting").text("What can I help with?").hook(Hook::Greeting))
        .child(div("turns").hook(Hook::Feed));
    el("main")
        .class("main")
        .attr("id", "main")
        .child(top)
        .child(thread)
        .child(form(scenario, model))
}

fn form(scenario: &Scenario, model: &str) -> Element {
    let editor = super::composer(scenario, "ProseMirror", "Message ChatGPT", "Ask anything")
        .attr("id", "prompt-textarea");
    let editor = match scenario.composer {
        Composer::Rich => editor.attr("data-virtualkeyboard", "true").attr("translate", "no"),
        Composer::Textarea => editor
            .attr("data-id", "prompt-textarea")
            .attr("name", "prompt-textarea")
            .attr("placeholder", "Send a message"),
    };
    let upload = super::icon_button("Add files and more", PLUS)
        .attr("id", "composer-plus-btn")
        .attr("data-testid", "composer-plus-btn")
        .attr("aria-haspopup", "menu")
        .attr("aria-expanded", "false")
        .hook(Hook::Upload);
    let pill = el("button")
        .class("pill __composer-pill")
        .attr("type", "button")
        .attr("aria-haspopup", "menu")
        .attr("aria-expanded", "false")
        .hook(Hook::ModelPicker)
        .child(el("span").text(model).hook(Hook::ModelName))
        .child(icon(CHEVRON));
    let send = el("button")
        .class("send")
        .attr("type", "submit")
        .attr("id", "composer-submit-button")
        .attr("data-testid", "send-button")
        .label("Send prompt")
        .attr("disabled", "")
        .hook(Hook::Send)
        .child(icon(ARROW));
    let bar = div("bar")
        .hook(Hook::ComposerBar)
        .child(upload)
        .child(div("tool-chips").hook(Hook::ToolChips))
        .child(div("spacer"))
        .child(pill)
        .child(super::icon_button("Dictate", MICROPHONE))
        .child(send);
    let card = div("card").child(div("chips").hook(Hook::Chips)).child(editor).child(bar);
    el("form")
        .class("composer")
        .attr("data-type", "unified-composer")
        .hook(Hook::Form)
        .child(card)
        .child(super::file_input())
        .child(el("p").class("note").text("ChatGPT can make mistakes. Check important info."))
}

fn stop() -> Element {
    el("button")
        .class("send")
        .attr("type", "button")
        .attr("id", "composer-submit-button")
        .attr("data-testid", "stop-button")
        .label("Stop streaming")
        .hook(Hook::Stop)
        .child(icon(SQUARE))
}

fn user_turn() -> Element {
    let message = div("message")
        .attr("data-message-author-role", "user")
        .attr("data-message-id", "{id}")
        .child(div("files").hook(Hook::TurnFiles))
        .child(div("bubble").hook(Hook::Content));
    turn("user", "You said:", message)
}

fn assistant_turn() -> Element {
    let message = div("message")
        .attr("data-message-author-role", "assistant")
        .attr("data-message-id", "{id}")
        .attr("data-message-model-slug", "{model}")
        .child(div("status-slot").hook(Hook::StatusSlot))
        .child(div("markdown prose").hook(Hook::Content));
    turn("assistant", "ChatGPT said:", message)
        .label("Assistant response")
        .hook(Hook::Turn)
        .child(div("action-slot").hook(Hook::ActionsSlot))
}

fn turn(author: &str, heading: &str, message: Element) -> Element {
    el("article")
        .class(&format!("turn turn-{author}"))
        .attr("data-testid", "conversation-turn-{n}")
        .attr("data-turn", author)
        .attr("data-turn-id", "{id}")
        .child(el("h5").class("sr-only").text(heading))
        .child(message)
}

fn actions() -> Element {
    let button = |label: &str, path: &str, test_id: &str| {
        let button = super::icon_button(label, path);
        if test_id.is_empty() { button } else { button.attr("data-testid", test_id) }
    };
    div("actions")
        .hook(Hook::Actions)
        .child(button("Copy", COPY, "copy-turn-action-button").hook(Hook::Copy))
        .child(button("Good response", THUMB_UP, "good-response-turn-action-button"))
        .child(button("Bad response", THUMB_DOWN, "bad-response-turn-action-button"))
        .child(button("Share", SHARE, ""))
}

fn upload_menu() -> Element {
    let items = ["Add photos & files", "Take a screenshot", "Create an image"];
    super::menu("Add", items.map(|name| super::menu_item("menuitem", name, "")))
}
