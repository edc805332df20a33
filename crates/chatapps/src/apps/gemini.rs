//! The app that behaves like Gemini.

use super::{ARROW, CHEVRON, COPY, PERSON, PLUS, SHARE, SLIDERS, SQUARE, THUMB_DOWN, THUMB_UP};
use super::{CROSS, Choice, Description};
use crate::element::{Element, Hook, div, el, icon};
use crate::scenario::Scenario;

const MODELS: &[Choice] = &[
    Choice {
        id: "fast",
        label: "Fast",
        note: "Answers quickly",
        test_id: "bard-mode-option-fast",
        is_paid: false,
    },
    Choice {
        id: "thinking",
        label: "Thinking",
        note: "Solves complex problems",
        test_id: "bard-mode-option-thinking",
        is_paid: false,
    },
    Choice {
        id: "pro",
        label: "Pro",
        note: "Thinks longer for advanced maths and code",
        test_id: "bard-mode-option-pro",
        is_paid: true,
    },
];

const TOOLS: &[Choice] = &[
    tool("deep-research", "Deep Research"),
    tool("deep-think", "Deep think"),
    tool("canvas", "Canvas"),
    tool("create-images", "Create images"),
    tool("guided-learning", "Guided learning"),
];

const fn tool(id: &'static str, label: &'static str) -> Choice {
    Choice { id, label, note: "", test_id: "", is_paid: false }
}

pub(super) fn app(scenario: &Scenario) -> Description {
    let models = super::selectable(MODELS, scenario);
    let chip = el("button")
        .class("pill")
        .attr("type", "button")
        .label("Deselect {name}")
        .hook(Hook::ChipButton)
        .child(el("span").hook(Hook::ChipName))
        .child(icon(CROSS));
    let status = div("status").attr("role", "status").label("Gemini is writing a response");
    let mut templates = super::common_templates();
    templates.extend([
        ("userTurn", user_turn()),
        ("assistantTurn", assistant_turn()),
        ("actions", actions()),
        ("status", status.text("{placeholder}").hook(Hook::Status)),
        ("stop", send("Stop response", SQUARE).class("send send-button stop").hook(Hook::Stop)),
        ("modelMenu", super::choice_menu("Modes", "menuitemradio", "data-test-id", &models)),
        ("toolsMenu", super::choice_menu("Tools", "menuitemcheckbox", "data-test-id", TOOLS)),
        ("toolChip", chip),
        ("uploadMenu", upload_menu()),
        ("profileMenu", super::profile_menu()),
    ]);
    let app = el("chat-app")
        .class("shell")
        .child(super::sidebar("side-navigation", "Chats", "Gemini"))
        .child(main(scenario, models[0].label));
    let body = el("body").class("page gemini").child(app);
    Description { title: "Google Gemini", body, templates, models, tools: TOOLS.to_vec() }
}

pub(super) fn login_wall() -> Description {
    let sign_in = el("a").class("primary").attr("href", "/ServiceLogin?continue=/app");
    let about = el("a").class("secondary").attr("href", "/ServiceLogin?flow=signup");
    super::login_page(
        "Google Gemini",
        "Meet Gemini, your personal AI assistant",
        [sign_in.label("Sign in").text("Sign in"), about.text("Create an account")],
    )
}

fn main(scenario: &Scenario, model: &str) -> Element {
    let account = el("button")
        .class("avatar")
        .attr("type", "button")
        .attr("aria-haspopup", "menu")
        .attr("aria-expanded", "false")
        .label("Google Account: Test User (profile)")
        .hook(Hook::Profile)
        .child(icon(PERSON));
    let top = el("header")
        .class("topbar")
        .hook(Hook::TopBar)
        .child(el("span").class("brand").text("Gemini"))
        .child(div("spacer"))
        .child(account);
    let thread = el("infinite-scroller")
        .class("thread")
        .attr("data-test-id", "chat-history-container")
        .child(el("h1").class("greeting").text("Hello, Test User").hook(Hook::Greeting))
        .child(div("turns").hook(Hook::Feed));
    el("main").class("main").child(top).child(thread).child(form(scenario, model))
}

fn form(scenario: &Scenario, model: &str) -> Element {
    let editor =
        super::composer(scenario, "ql-editor textarea", "Enter a prompt for Gemini", "Ask Gemini");
    let upload = super::icon_button("Open upload file menu", PLUS)
        .attr("aria-haspopup", "menu")
        .attr("aria-expanded", "false")
        .hook(Hook::Upload);
    let tools = super::icon_button("Tools", SLIDERS)
        .attr("aria-haspopup", "menu")
        .attr("aria-expanded", "false")
        .hook(Hook::Tools)
        .child(el("span").text("Tools"));
    let picker = el("button")
        .class("pill")
        .attr("type", "button")
        .attr("data-test-id", "bard-mode-menu-button")
        .attr("aria-haspopup", "menu")
        .attr("aria-expanded", "false")
        .label("Open mode picker")
        .hook(Hook::ModelPicker)
        .child(el("span").text(model).hook(Hook::ModelName))
        .child(icon(CHEVRON));
    let bar = div("bar")
        .hook(Hook::ComposerBar)
        .child(upload)
        .child(tools)
        .child(div("tool-chips").hook(Hook::ToolChips))
        .child(div("spacer"))
        .child(picker)
        .child(send("Send message", ARROW).attr("aria-disabled", "true").hook(Hook::Send));
    let card = div("card")
        .child(div("chips").hook(Hook::Chips))
        .child(el("rich-textarea").class("rich").child(editor))
        .child(bar);
    el("input-area")
        .class("composer")
        .hook(Hook::Form)
        .child(card)
        .child(super::file_input().attr("name", "Filedata"))
        .child(el("p").class("note").text("Gemini can make mistakes, so double-check it."))
}

fn send(label: &str, path: &str) -> Element {
    el("button").class("send send-button").attr("type", "button").label(label).child(icon(path))
}

fn user_turn() -> Element {
    el("user-query")
        .class("turn turn-user")
        .child(div("files").hook(Hook::TurnFiles))
        .child(div("bubble query-text").hook(Hook::Content))
}

fn assistant_turn() -> Element {
    let content = el("message-content")
        .class("message")
        .attr("id", "message-content-id-{id}")
        .child(div("markdown").hook(Hook::Content));
    let footer =
        div("response-footer").hook(Hook::Footer).child(div("action-slot").hook(Hook::ActionsSlot));
    el("model-response")
        .class("turn turn-assistant")
        .attr("role", "article")
        .label("Gemini response")
        .attr("data-response-index", "{index}")
        .hook(Hook::Turn)
        .child(div("status-slot").hook(Hook::StatusSlot))
        .child(content)
        .child(footer)
}

fn actions() -> Element {
    el("message-actions")
        .class("actions")
        .hook(Hook::Actions)
        .child(super::icon_button("Good response", THUMB_UP))
        .child(super::icon_button("Bad response", THUMB_DOWN))
        .child(super::icon_button("Share & export", SHARE))
        .child(
            super::icon_button("Copy", COPY).attr("data-test-id", "copy-button").hook(Hook::Copy),
        )
}

fn upload_menu() -> Element {
    let items = ["Upload files", "Add from Drive", "Import code"];
    super::menu("Upload", items.map(|name| super::menu_item("menuitem", name, "")))
}
