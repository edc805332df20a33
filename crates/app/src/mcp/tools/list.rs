//! The table of all tools.

use super::super::args::wrong;
use super::super::web_ai::WebAiCall;
use super::build::{
    click, fill_form, margin, point, proxy, screenshot, snapshot, storage_state, tabs, type_text,
    wait_for,
};
use super::{Arg, ArgType, ContextsAction, NewContext, Tool, ToolAction, ToolGroup};
use browser::Command;
use browser::command::{
    Answer, Button, Click, Console, DialogCommand, Drag, Eval, Find, Hover, Mouse, MouseAction,
    Paper, Pdf, Requests, SettleArgs, TargetArgs, Upload,
};
use std::path::PathBuf;

const fn optional(name: &'static str, kind: ArgType) -> Arg {
    Arg { name, kind, description: "", is_required: false, sets: None }
}

const fn required(name: &'static str, kind: ArgType) -> Arg {
    Arg { name, kind, description: "", is_required: true, sets: None }
}

impl Arg {
    const fn hint(self, description: &'static str) -> Self {
        Self { description, ..self }
    }

    /// Sets the verb's field, if its name differs.
    const fn sets(self, field: &'static str) -> Self {
        Self { sets: Some(field), ..self }
    }
}

const REF: Arg = required("ref", ArgType::Ref).sets("target");
const FIELDS: &str = r#"{"type":"array","items":{"type":"object","properties":{"ref":{"type":"string"},"value":{"type":"string"}},"required":["ref","value"]}}"#;
const PROXY: &str = r#"{"type":"object","properties":{"server":{"type":"string"},"username":{"type":"string"},"password":{"type":"string"}},"required":["server"]}"#;
const STORAGE: &str = r#"{"type":["string","object"]}"#;
const TABS: &str = r#"{"enum":["list","new","close","select"]}"#;
const VENDORS: &str = r#"{"type":"string","description":"chatgpt (default), gemini, grok or the id of a vendor file"}"#;
const MARGIN: &str = r#"{"type":["number","object"]}"#;
const LEVELS: &str = r#"{"enum":["error","warning","info","debug"]}"#;

/// All tools. Those of [`ToolGroup::Core`] are always offered.
pub(crate) const TOOLS: &[Tool] = &[
    Tool {
        name: "browser_navigate",
        group: ToolGroup::Core,
        description: "Open a URL. Returns the page id and a short snapshot.",
        args: &[required("url", ArgType::Text)],
        verb: None,
        build: |args| Ok(ToolAction::Open(args.required_str("url")?)),
    },
    Tool {
        name: "browser_snapshot",
        group: ToolGroup::Core,
        description: "See the page: text, and a ref for what you can act on. Refs stay valid until the element changes.",
        args: &[
            optional("delta", ArgType::Flag).hint("only what changed since the last one"),
            optional("find", ArgType::Text).hint("only lines with this text"),
            optional("root", ArgType::Text).hint("one element, texts in full"),
            optional("budget", ArgType::Number).hint("max tokens"),
            optional("allRefs", ArgType::Flag),
            optional("more", ArgType::Text).hint("id of a cut reply: the rest of it"),
        ],
        verb: None,
        build: snapshot,
    },
    Tool {
        name: "browser_click",
        group: ToolGroup::Core,
        description: "Click. Returns what it did and what changed. ref: from a snapshot, or css=, text=, label=, role=button[name=\"…\"].",
        args: &[
            REF,
            optional("doubleClick", ArgType::Flag),
            optional("button", ArgType::FieldOf("click", "button")),
            optional("modifiers", ArgType::FieldOf("click", "modifiers")),
            optional("expect", ArgType::Text)
                .hint("fail unless: changed, navigated, or this text appears"),
        ],
        verb: None,
        build: click,
    },
    Tool {
        name: "browser_type",
        group: ToolGroup::Core,
        description: "Fill a field, replacing what is in it.",
        args: &[
            REF,
            optional("text", ArgType::Text),
            optional("secret", ArgType::Text)
                .hint("instead of text: name of a secret of the user's"),
            optional("submit", ArgType::Flag).hint("then press Enter"),
            optional("slowly", ArgType::Flag).hint("append, key by key"),
        ],
        verb: None,
        build: type_text,
    },
    Tool {
        name: "browser_fill_form",
        group: ToolGroup::Core,
        description: "Fill several fields. Checkboxes take true or false, lists an option's text.",
        args: &[required("fields", ArgType::Schema(FIELDS))],
        verb: None,
        build: fill_form,
    },
    Tool::of_verb(
        "browser_select_option",
        ToolGroup::Core,
        "select",
        "Choose options of a list or combobox by text or value.",
        &[REF, required("values", ArgType::Texts).sets("options")],
    ),
    Tool::of_verb(
        "browser_press_key",
        ToolGroup::Core,
        "press",
        "Press a key where the focus is, such as Enter or Control+A.",
        &[required("key", ArgType::Text).sets("keys")],
    ),
    Tool::of_verb(
        "browser_hover",
        ToolGroup::Core,
        "hover",
        "Move the mouse over an element.",
        &[REF],
    ),
    Tool {
        name: "browser_wait_for",
        group: ToolGroup::Core,
        description: "Wait for a text, for its end, or for seconds. Acting tools wait by themselves.",
        args: &[
            optional("text", ArgType::Text),
            optional("textGone", ArgType::Text),
            optional("time", ArgType::Number).hint("seconds"),
        ],
        verb: None,
        build: wait_for,
    },
    Tool {
        name: "browser_tabs",
        group: ToolGroup::Core,
        description: "List, open, close or select tabs.",
        args: &[required("action", ArgType::Schema(TABS)), optional("index", ArgType::Number)],
        verb: None,
        build: tabs,
    },
    Tool {
        name: "browser_take_screenshot",
        group: ToolGroup::Core,
        description: "A picture, for what text cannot tell. Use browser_snapshot to act.",
        args: &[
            optional("ref", ArgType::Text),
            optional("fullPage", ArgType::Flag),
            optional("filename", ArgType::Text).hint("save instead of showing"),
            optional("type", ArgType::FieldOf("screenshot", "format")),
        ],
        verb: None,
        build: screenshot,
    },
    Tool {
        name: "browser_handle_dialog",
        group: ToolGroup::Core,
        description: "Answer the alert, confirm or prompt that is open.",
        args: &[required("accept", ArgType::Flag), optional("promptText", ArgType::Text)],
        verb: None,
        build: |args| {
            let answer = match args.flag("accept")? {
                true => Answer::Accept { text: args.text("promptText")? },
                false => Answer::Dismiss,
            };
            Ok(ToolAction::Run(Command::Dialog(DialogCommand { answer })))
        },
    },
    Tool::of_verb(
        "browser_can",
        ToolGroup::Core,
        "can",
        "Whether an action would work now, and if not, why. Does nothing.",
        &[required("action", ArgType::Field), REF],
    ),
    Tool::of_verb(
        "browser_navigate_back",
        ToolGroup::Input,
        "back",
        "Go back in the history.",
        &[],
    ),
    Tool::of_verb(
        "browser_scroll_into_view",
        ToolGroup::Input,
        "scroll",
        "Scroll until an element is in view.",
        &[REF],
    ),
    Tool::of_verb(
        "browser_drag",
        ToolGroup::Input,
        "drag",
        "Drag one element onto another.",
        &[
            required("startRef", ArgType::Ref).sets("target"),
            required("endRef", ArgType::Ref).sets("to"),
        ],
    ),
    Tool {
        name: "browser_file_upload",
        group: ToolGroup::Input,
        description: "Answer the open file chooser; without paths, cancel it. With ref, fill a file field.",
        args: &[optional("paths", ArgType::Texts), optional("ref", ArgType::Text)],
        verb: None,
        build: |args| {
            let target_args = args.target("ref")?.map(TargetArgs::at);
            if target_args.is_some() && !args.has("paths") {
                return Err(wrong("`ref` needs `paths`; [] empties the field".into()));
            }
            let paths: Vec<PathBuf> = args.texts("paths")?.into_iter().map(Into::into).collect();
            let (files, chooser) = match target_args {
                Some(_) => (paths, None),
                None => (Vec::new(), Some(paths)),
            };
            let mut upload = Upload { target_args, files, chooser, after: SettleArgs::default() };
            upload.resolve();
            Ok(ToolAction::Run(Command::Upload(upload)))
        },
    },
    Tool {
        name: "browser_find",
        group: ToolGroup::Input,
        description: "List what has a text, a role or a name, with refs.",
        args: &[
            optional("text", ArgType::Text),
            optional("role", ArgType::Text),
            optional("name", ArgType::Text),
        ],
        verb: None,
        build: |args| {
            let (text, role, name) = (args.text("text")?, args.text("role")?, args.text("name")?);
            if text.is_none() && role.is_none() && name.is_none() {
                return Err(wrong("browser_find needs `text`, `role` or `name`".into()));
            }
            Ok(ToolAction::Run(Command::Find(Find { text, role, name, exact: false })))
        },
    },
    Tool {
        name: "browser_console_messages",
        group: ToolGroup::Network,
        description: "What the page wrote to its console.",
        args: &[optional("level", ArgType::Schema(LEVELS)).hint("and what is worse")],
        verb: None,
        build: |args| {
            let level = args.text("level")?.unwrap_or_else(|| "info".into());
            Ok(ToolAction::Run(Command::Console(Console {
                level: Some(level),
                ..Console::default()
            })))
        },
    },
    Tool {
        name: "browser_network_requests",
        group: ToolGroup::Network,
        description: "What the page asked of servers.",
        args: &[optional("includeStatic", ArgType::Flag).hint("pictures, styles and scripts too")],
        verb: None,
        build: |args| {
            let r#type = (!args.flag("includeStatic")?).then(|| {
                "document,xhr,fetch,websocket,eventsource,ping,other,preflight".to_owned()
            });
            Ok(ToolAction::Run(Command::Requests(Requests { r#type, ..Requests::default() })))
        },
    },
    Tool {
        name: "browser_evaluate",
        group: ToolGroup::Script,
        description: "Run a JavaScript function in the page and get what it returns.",
        args: &[
            required("function", ArgType::Text).hint("() => … or, with ref, (element) => …"),
            optional("ref", ArgType::Text),
        ],
        verb: None,
        build: |args| {
            let function = args.required_str("function")?;
            let on = args.target("ref")?;
            let script = match on {
                // A function is called; any other value is returned.
                None => format!(
                    "((it) => typeof it === 'function' ? it() : it)({}\n)",
                    function.trim().trim_end_matches(';')
                ),
                Some(_) => function,
            };
            Ok(ToolAction::Run(Command::Eval(Eval { script, gesture: false, isolated: false, on })))
        },
    },
    Tool {
        name: "browser_context_create",
        group: ToolGroup::Contexts,
        description: "Make a context with cookies of its own, and use it from now on.",
        args: &[
            required("name", ArgType::Text),
            optional("proxy", ArgType::Schema(PROXY)),
            optional("storageState", ArgType::Schema(STORAGE))
                .hint("path of a saved one, or the object"),
        ],
        verb: None,
        build: |args| {
            let (name, proxy, storage) =
                (args.required_str("name")?, proxy(args)?, storage_state(args)?);
            let new = Box::new(NewContext { name, proxy, storage });
            Ok(ToolAction::Contexts(ContextsAction::Create(new)))
        },
    },
    Tool {
        name: "browser_context_switch",
        group: ToolGroup::Contexts,
        description: "Use another context from now on.",
        args: &[required("name", ArgType::Text)],
        verb: None,
        build: |args| Ok(ToolAction::Contexts(ContextsAction::Switch(args.required_str("name")?))),
    },
    Tool {
        name: "browser_context_close",
        group: ToolGroup::Contexts,
        description: "Close a context with its pages and cookies.",
        args: &[required("name", ArgType::Text)],
        verb: None,
        build: |args| Ok(ToolAction::Contexts(ContextsAction::Close(args.required_str("name")?))),
    },
    Tool {
        name: "browser_context_list",
        group: ToolGroup::Contexts,
        description: "List the contexts.",
        args: &[],
        verb: None,
        build: |_| Ok(ToolAction::Contexts(ContextsAction::List)),
    },
    Tool {
        name: "browser_context_save_storage",
        group: ToolGroup::Contexts,
        description: "Save a context's cookies and local storage, for storageState.",
        args: &[required("path", ArgType::Text), optional("name", ArgType::Text)],
        verb: None,
        build: |args| {
            Ok(ToolAction::Contexts(ContextsAction::Save(
                args.text("name")?,
                args.required_str("path")?,
            )))
        },
    },
    Tool {
        name: "browser_close",
        group: ToolGroup::Window,
        description: "Close your pages.",
        args: &[],
        verb: None,
        build: |_| Ok(ToolAction::Close),
    },
    Tool::of_verb(
        "browser_resize",
        ToolGroup::Window,
        "resize",
        "Give the view another size.",
        &[required("width", ArgType::Field), required("height", ArgType::Field)],
    ),
    Tool::of_verb(
        "browser_zoom",
        ToolGroup::Window,
        "zoom",
        "Zoom the page, from 0.25 to 5.",
        &[required("factor", ArgType::Field)],
    ),
    Tool {
        name: "web_ai_status",
        group: ToolGroup::WebAi,
        description: "Check what can be done now on the page of a chat app, before you send: rows with state and next step.",
        args: &[
            optional("vendor", ArgType::Schema(VENDORS)),
            optional("model", ArgType::Text),
            optional("probe", ArgType::Text).hint("only the row of this id"),
        ],
        verb: None,
        build: WebAiCall::status,
    },
    Tool {
        name: "web_ai_query",
        group: ToolGroup::WebAi,
        description: "Send a prompt in the chat app that the page shows, and wait for the answer. Never repeat a call that \
                      may have sent: poll.",
        args: &[
            optional("vendor", ArgType::Schema(VENDORS)),
            required("prompt", ArgType::Text),
            optional("model", ArgType::Text),
            optional("seconds", ArgType::Number).hint("time to wait"),
        ],
        verb: None,
        build: WebAiCall::query,
    },
    Tool {
        name: "web_ai_poll",
        group: ToolGroup::WebAi,
        description: "Wait for the answer of a session.",
        args: &[
            optional("session", ArgType::Text).hint("its id, if several wait"),
            optional("seconds", ArgType::Number).hint("time to wait"),
        ],
        verb: None,
        build: WebAiCall::poll,
    },
    Tool {
        name: "browser_install",
        group: ToolGroup::Window,
        description: "Say how to get a browser where none is found.",
        args: &[],
        verb: None,
        build: |_| Ok(ToolAction::Install),
    },
    Tool {
        name: "browser_mouse_click_xy",
        group: ToolGroup::Vision,
        description: "Click at a point of the view, in CSS pixels.",
        args: &[
            required("x", ArgType::Number),
            required("y", ArgType::Number),
            optional("button", ArgType::FieldOf("click", "button")),
            optional("clickCount", ArgType::FieldOf("click", "count")),
        ],
        verb: None,
        build: |args| {
            let target_args = TargetArgs::at(point(args, "x", "y")?);
            let count = args.count("clickCount")?.unwrap_or(1).clamp(1, 3) as u8;
            let button = args.parse::<Button>("button")?;
            let (modifiers, hold_ms, after) = (Vec::new(), None, SettleArgs::default());
            Ok(ToolAction::Run(Command::Click(Click {
                target_args,
                button,
                count,
                modifiers,
                hold_ms,
                after,
            })))
        },
    },
    Tool {
        name: "browser_mouse_move_xy",
        group: ToolGroup::Vision,
        description: "Move the mouse to a point of the view.",
        args: &[required("x", ArgType::Number), required("y", ArgType::Number)],
        verb: None,
        build: |args| {
            let (target_args, after) =
                (TargetArgs::at(point(args, "x", "y")?), SettleArgs::default());
            Ok(ToolAction::Run(Command::Hover(Hover { target_args, after })))
        },
    },
    Tool {
        name: "browser_mouse_drag_xy",
        group: ToolGroup::Vision,
        description: "Drag from a point of the view to another.",
        args: &[
            required("startX", ArgType::Number),
            required("startY", ArgType::Number),
            required("endX", ArgType::Number),
            required("endY", ArgType::Number),
        ],
        verb: None,
        build: |args| {
            let target_args = TargetArgs::at(point(args, "startX", "startY")?);
            let (to, after) = (point(args, "endX", "endY")?, SettleArgs::default());
            Ok(ToolAction::Run(Command::Drag(Drag { target_args, to, after })))
        },
    },
    Tool {
        name: "browser_mouse_down",
        group: ToolGroup::Vision,
        description: "Press a mouse button where the mouse is, and leave it down.",
        args: &[optional("button", ArgType::FieldOf("click", "button"))],
        verb: None,
        build: |args| {
            let (button, target, after) =
                (args.parse::<Button>("button")?, None, SettleArgs::default());
            let action = MouseAction::Down { target, button, after };
            Ok(ToolAction::Run(Command::Mouse(Mouse { action })))
        },
    },
    Tool {
        name: "browser_mouse_up",
        group: ToolGroup::Vision,
        description: "Release the mouse button that is down.",
        args: &[],
        verb: None,
        build: |_| {
            let action = MouseAction::Up { target: None, after: SettleArgs::default() };
            Ok(ToolAction::Run(Command::Mouse(Mouse { action })))
        },
    },
    Tool {
        name: "browser_mouse_wheel",
        group: ToolGroup::Vision,
        description: "Turn the mouse wheel, in CSS pixels.",
        args: &[optional("deltaX", ArgType::Number), optional("deltaY", ArgType::Number)],
        verb: None,
        build: |args| {
            let delta = |name| args.number(name).map(Option::unwrap_or_default);
            let (delta_x, delta_y) = (delta("deltaX")?, delta("deltaY")?);
            let (target, after) = (None, SettleArgs::default());
            let action = MouseAction::Wheel { delta_y, delta_x, target, after };
            Ok(ToolAction::Run(Command::Mouse(Mouse { action })))
        },
    },
    Tool {
        name: "browser_pdf_save",
        group: ToolGroup::Pdf,
        description: "Save the page as PDF.",
        args: &[
            required("path", ArgType::Text),
            optional("landscape", ArgType::FieldOf("pdf", "landscape")),
            optional("pageRanges", ArgType::FieldOf("pdf", "pages")),
            optional("printBackground", ArgType::Flag),
            optional("format", ArgType::FieldOf("pdf", "format")),
            optional("scale", ArgType::FieldOf("pdf", "scale")),
            optional("margin", ArgType::Schema(MARGIN)).hint("inches"),
        ],
        verb: None,
        build: |args| {
            let no_background = args.has("printBackground") && !args.flag("printBackground")?;
            let landscape = args.flag("landscape")?;
            let pdf = Pdf {
                path: None,
                landscape,
                pages: args.text("pageRanges")?,
                no_background,
                format: args.parse::<Option<Paper>>("format")?,
                scale: args.number("scale")?,
                margin: margin(args)?,
            };
            Ok(ToolAction::Pdf(pdf, args.required_str("path")?))
        },
    },
];
