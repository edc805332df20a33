//! The table of all tools.

use super::super::args::wrong;
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

const fn arg(name: &'static str, kind: ArgType) -> Arg {
    Arg { name, kind, about: "", is_needed: false, sets: None }
}

const fn needs(name: &'static str, kind: ArgType) -> Arg {
    Arg { name, kind, about: "", is_needed: true, sets: None }
}

impl Arg {
    const fn says(self, about: &'static str) -> Self {
        Self { about, ..self }
    }

    /// Sets a field of the tool's verb that has another name.
    const fn sets(self, field: &'static str) -> Self {
        Self { sets: Some(field), ..self }
    }
}

const REF: Arg = needs("ref", ArgType::Ref).sets("target");
const FIELDS: &str = r#"{"type":"array","items":{"type":"object","properties":{"ref":{"type":"string"},"value":{"type":"string"}},"required":["ref","value"]}}"#;
const PROXY: &str = r#"{"type":"object","properties":{"server":{"type":"string"},"username":{"type":"string"},"password":{"type":"string"}},"required":["server"]}"#;
const STORAGE: &str = r#"{"type":["string","object"]}"#;
const TABS: &str = r#"{"enum":["list","new","close","select"]}"#;
const MARGIN: &str = r#"{"type":["number","object"]}"#;
const LEVELS: &str = r#"{"enum":["error","warning","info","debug"]}"#;

/// All tools. Those of [`ToolGroup::Core`] are offered always.
pub(crate) const TOOLS: &[Tool] = &[
    Tool {
        name: "browser_navigate",
        cap: ToolGroup::Core,
        about: "Open a URL. Returns the page id and a short snapshot.",
        args: &[needs("url", ArgType::Text)],
        verb: None,
        plan: |args| Ok(ToolAction::Open(args.required_str("url")?)),
    },
    Tool {
        name: "browser_snapshot",
        cap: ToolGroup::Core,
        about: "See the page: text, and a ref for what you can act on. Refs stay valid until the element changes.",
        args: &[
            arg("delta", ArgType::Flag).says("only what changed since the last one"),
            arg("find", ArgType::Text).says("only lines with this text"),
            arg("root", ArgType::Text).says("one element, texts in full"),
            arg("budget", ArgType::Number).says("max tokens"),
            arg("allRefs", ArgType::Flag),
            arg("more", ArgType::Text).says("id of a cut reply: the rest of it"),
        ],
        verb: None,
        plan: snapshot,
    },
    Tool {
        name: "browser_click",
        cap: ToolGroup::Core,
        about: "Click. Returns what it did and what changed. ref: from a snapshot, or css=, text=, label=, role=button[name=\"…\"].",
        args: &[
            REF,
            arg("doubleClick", ArgType::Flag),
            arg("button", ArgType::Of("click", "button")),
            arg("modifiers", ArgType::Of("click", "modifiers")),
            arg("expect", ArgType::Text)
                .says("fail unless: changed, navigated, or this text appears"),
        ],
        verb: None,
        plan: click,
    },
    Tool {
        name: "browser_type",
        cap: ToolGroup::Core,
        about: "Fill a field, replacing what is in it.",
        args: &[
            REF,
            arg("text", ArgType::Text),
            arg("secret", ArgType::Text).says("instead of text: name of a secret of the user's"),
            arg("submit", ArgType::Flag).says("then press Enter"),
            arg("slowly", ArgType::Flag).says("append, key by key"),
        ],
        verb: None,
        plan: type_text,
    },
    Tool {
        name: "browser_fill_form",
        cap: ToolGroup::Core,
        about: "Fill several fields. Checkboxes take true or false, lists an option's text.",
        args: &[needs("fields", ArgType::Schema(FIELDS))],
        verb: None,
        plan: fill_form,
    },
    Tool::of_verb(
        "browser_select_option",
        ToolGroup::Core,
        "select",
        "Choose options of a list or combobox by text or value.",
        &[REF, needs("values", ArgType::Texts).sets("options")],
    ),
    Tool::of_verb(
        "browser_press_key",
        ToolGroup::Core,
        "press",
        "Press a key where the focus is, such as Enter or Control+A.",
        &[needs("key", ArgType::Text).sets("keys")],
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
        cap: ToolGroup::Core,
        about: "Wait for a text, for its end, or for seconds. Acting tools wait by themselves.",
        args: &[
            arg("text", ArgType::Text),
            arg("textGone", ArgType::Text),
            arg("time", ArgType::Number).says("seconds"),
        ],
        verb: None,
        plan: wait_for,
    },
    Tool {
        name: "browser_tabs",
        cap: ToolGroup::Core,
        about: "List, open, close or select tabs.",
        args: &[needs("action", ArgType::Schema(TABS)), arg("index", ArgType::Number)],
        verb: None,
        plan: tabs,
    },
    Tool {
        name: "browser_take_screenshot",
        cap: ToolGroup::Core,
        about: "A picture, for what text cannot tell. Use browser_snapshot to act.",
        args: &[
            arg("ref", ArgType::Text),
            arg("fullPage", ArgType::Flag),
            arg("filename", ArgType::Text).says("save instead of showing"),
            arg("type", ArgType::Of("screenshot", "format")),
        ],
        verb: None,
        plan: screenshot,
    },
    Tool {
        name: "browser_handle_dialog",
        cap: ToolGroup::Core,
        about: "Answer the alert, confirm or prompt that is open.",
        args: &[needs("accept", ArgType::Flag), arg("promptText", ArgType::Text)],
        verb: None,
        plan: |args| {
            let answer = match args.flag("accept")? {
                true => Answer::Accept { text: args.text("promptText")? },
                false => Answer::Dismiss,
            };
            Ok(ToolAction::Do(Command::Dialog(DialogCommand { answer })))
        },
    },
    Tool::of_verb(
        "browser_can",
        ToolGroup::Core,
        "can",
        "Whether an action would work now, and if not, why. Does nothing.",
        &[needs("action", ArgType::Field), REF],
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
        &[needs("startRef", ArgType::Ref).sets("target"), needs("endRef", ArgType::Ref).sets("to")],
    ),
    Tool {
        name: "browser_file_upload",
        cap: ToolGroup::Input,
        about: "Answer the open file chooser; without paths, cancel it. With ref, fill a file field.",
        args: &[arg("paths", ArgType::Texts), arg("ref", ArgType::Text)],
        verb: None,
        plan: |args| {
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
            Ok(ToolAction::Do(Command::Upload(upload)))
        },
    },
    Tool {
        name: "browser_find",
        cap: ToolGroup::Input,
        about: "List what has a text, a role or a name, with refs.",
        args: &[arg("text", ArgType::Text), arg("role", ArgType::Text), arg("name", ArgType::Text)],
        verb: None,
        plan: |args| {
            let (text, role, name) = (args.text("text")?, args.text("role")?, args.text("name")?);
            if text.is_none() && role.is_none() && name.is_none() {
                return Err(wrong("browser_find needs `text`, `role` or `name`".into()));
            }
            Ok(ToolAction::Do(Command::Find(Find { text, role, name, exact: false })))
        },
    },
    Tool {
        name: "browser_console_messages",
        cap: ToolGroup::Network,
        about: "What the page wrote to its console.",
        args: &[arg("level", ArgType::Schema(LEVELS)).says("and what is worse")],
        verb: None,
        plan: |args| {
            let level = args.text("level")?.unwrap_or_else(|| "info".into());
            Ok(ToolAction::Do(Command::Console(Console {
                level: Some(level),
                ..Console::default()
            })))
        },
    },
    Tool {
        name: "browser_network_requests",
        cap: ToolGroup::Network,
        about: "What the page asked of servers.",
        args: &[arg("includeStatic", ArgType::Flag).says("pictures, styles and scripts too")],
        verb: None,
        plan: |args| {
            let r#type = (!args.flag("includeStatic")?).then(|| {
                "document,xhr,fetch,websocket,eventsource,ping,other,preflight".to_owned()
            });
            Ok(ToolAction::Do(Command::Requests(Requests { r#type, ..Requests::default() })))
        },
    },
    Tool {
        name: "browser_evaluate",
        cap: ToolGroup::Script,
        about: "Run a JavaScript function in the page and get what it returns.",
        args: &[
            needs("function", ArgType::Text).says("() => … or, with ref, (element) => …"),
            arg("ref", ArgType::Text),
        ],
        verb: None,
        plan: |args| {
            let function = args.required_str("function")?;
            let on = args.target("ref")?;
            let script = match on {
                // A function is called; anything else is taken as it is.
                None => format!(
                    "((it) => typeof it === 'function' ? it() : it)({}\n)",
                    function.trim().trim_end_matches(';')
                ),
                Some(_) => function,
            };
            Ok(ToolAction::Do(Command::Eval(Eval { script, gesture: false, isolated: false, on })))
        },
    },
    Tool {
        name: "browser_context_create",
        cap: ToolGroup::Contexts,
        about: "Make a context with cookies of its own, and use it from now on.",
        args: &[
            needs("name", ArgType::Text),
            arg("proxy", ArgType::Schema(PROXY)),
            arg("storageState", ArgType::Schema(STORAGE))
                .says("path of a saved one, or the object"),
        ],
        verb: None,
        plan: |args| {
            let (name, proxy, storage) =
                (args.required_str("name")?, proxy(args)?, storage_state(args)?);
            let new = Box::new(NewContext { name, proxy, storage });
            Ok(ToolAction::Contexts(ContextsAction::Create(new)))
        },
    },
    Tool {
        name: "browser_context_switch",
        cap: ToolGroup::Contexts,
        about: "Use another context from now on.",
        args: &[needs("name", ArgType::Text)],
        verb: None,
        plan: |args| Ok(ToolAction::Contexts(ContextsAction::Switch(args.required_str("name")?))),
    },
    Tool {
        name: "browser_context_close",
        cap: ToolGroup::Contexts,
        about: "Close a context with its pages and cookies.",
        args: &[needs("name", ArgType::Text)],
        verb: None,
        plan: |args| Ok(ToolAction::Contexts(ContextsAction::Close(args.required_str("name")?))),
    },
    Tool {
        name: "browser_context_list",
        cap: ToolGroup::Contexts,
        about: "List the contexts.",
        args: &[],
        verb: None,
        plan: |_| Ok(ToolAction::Contexts(ContextsAction::List)),
    },
    Tool {
        name: "browser_context_save_storage",
        cap: ToolGroup::Contexts,
        about: "Save a context's cookies and local storage, for storageState.",
        args: &[needs("path", ArgType::Text), arg("name", ArgType::Text)],
        verb: None,
        plan: |args| {
            Ok(ToolAction::Contexts(ContextsAction::Save(
                args.text("name")?,
                args.required_str("path")?,
            )))
        },
    },
    Tool {
        name: "browser_close",
        cap: ToolGroup::Window,
        about: "Close your pages.",
        args: &[],
        verb: None,
        plan: |_| Ok(ToolAction::Close),
    },
    Tool::of_verb(
        "browser_resize",
        ToolGroup::Window,
        "resize",
        "Give the view another size.",
        &[needs("width", ArgType::Field), needs("height", ArgType::Field)],
    ),
    Tool::of_verb(
        "browser_zoom",
        ToolGroup::Window,
        "zoom",
        "Zoom the page, from 0.25 to 5.",
        &[needs("factor", ArgType::Field)],
    ),
    Tool {
        name: "browser_install",
        cap: ToolGroup::Window,
        about: "Say how to get a browser where none is found.",
        args: &[],
        verb: None,
        plan: |_| Ok(ToolAction::Install),
    },
    Tool {
        name: "browser_mouse_click_xy",
        cap: ToolGroup::Vision,
        about: "Click at a point of the view, in CSS pixels.",
        args: &[
            needs("x", ArgType::Number),
            needs("y", ArgType::Number),
            arg("button", ArgType::Of("click", "button")),
            arg("clickCount", ArgType::Of("click", "count")),
        ],
        verb: None,
        plan: |args| {
            let target_args = TargetArgs::at(point(args, "x", "y")?);
            let count = args.count("clickCount")?.unwrap_or(1).clamp(1, 3) as u8;
            let button = args.parse::<Button>("button")?;
            let (modifiers, hold_ms, after) = (Vec::new(), None, SettleArgs::default());
            Ok(ToolAction::Do(Command::Click(Click {
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
        cap: ToolGroup::Vision,
        about: "Move the mouse to a point of the view.",
        args: &[needs("x", ArgType::Number), needs("y", ArgType::Number)],
        verb: None,
        plan: |args| {
            let (target_args, after) =
                (TargetArgs::at(point(args, "x", "y")?), SettleArgs::default());
            Ok(ToolAction::Do(Command::Hover(Hover { target_args, after })))
        },
    },
    Tool {
        name: "browser_mouse_drag_xy",
        cap: ToolGroup::Vision,
        about: "Drag from a point of the view to another.",
        args: &[
            needs("startX", ArgType::Number),
            needs("startY", ArgType::Number),
            needs("endX", ArgType::Number),
            needs("endY", ArgType::Number),
        ],
        verb: None,
        plan: |args| {
            let target_args = TargetArgs::at(point(args, "startX", "startY")?);
            let (to, after) = (point(args, "endX", "endY")?, SettleArgs::default());
            Ok(ToolAction::Do(Command::Drag(Drag { target_args, to, after })))
        },
    },
    Tool {
        name: "browser_mouse_down",
        cap: ToolGroup::Vision,
        about: "Press a mouse button where the mouse is, and leave it down.",
        args: &[arg("button", ArgType::Of("click", "button"))],
        verb: None,
        plan: |args| {
            let (button, target, after) =
                (args.parse::<Button>("button")?, None, SettleArgs::default());
            let action = MouseAction::Down { target, button, after };
            Ok(ToolAction::Do(Command::Mouse(Mouse { action })))
        },
    },
    Tool {
        name: "browser_mouse_up",
        cap: ToolGroup::Vision,
        about: "Release the mouse button that is down.",
        args: &[],
        verb: None,
        plan: |_| {
            let action = MouseAction::Up { target: None, after: SettleArgs::default() };
            Ok(ToolAction::Do(Command::Mouse(Mouse { action })))
        },
    },
    Tool {
        name: "browser_mouse_wheel",
        cap: ToolGroup::Vision,
        about: "Turn the mouse wheel, in CSS pixels.",
        args: &[arg("deltaX", ArgType::Number), arg("deltaY", ArgType::Number)],
        verb: None,
        plan: |args| {
            let delta = |name| args.number(name).map(Option::unwrap_or_default);
            let (delta_x, delta_y) = (delta("deltaX")?, delta("deltaY")?);
            let (target, after) = (None, SettleArgs::default());
            let action = MouseAction::Wheel { delta_y, delta_x, target, after };
            Ok(ToolAction::Do(Command::Mouse(Mouse { action })))
        },
    },
    Tool {
        name: "browser_pdf_save",
        cap: ToolGroup::Pdf,
        about: "Save the page as PDF.",
        args: &[
            needs("path", ArgType::Text),
            arg("landscape", ArgType::Of("pdf", "landscape")),
            arg("pageRanges", ArgType::Of("pdf", "pages")),
            arg("printBackground", ArgType::Flag),
            arg("format", ArgType::Of("pdf", "format")),
            arg("scale", ArgType::Of("pdf", "scale")),
            arg("margin", ArgType::Schema(MARGIN)).says("inches"),
        ],
        verb: None,
        plan: |args| {
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
            Ok(ToolAction::Print(pdf, args.required_str("path")?))
        },
    },
];
