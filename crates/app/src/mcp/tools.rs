//! The tools: what each is called, what it takes, and which verb it is.
//!
//! Names and arguments are those that prompts written for other servers use. What an argument of a verb may be is read
//! off the verb, never written down a second time. Every word of this table is paid for by every client before its
//! first call: they are few.

use super::given::{Given, wrong};
use browser::command::{
    After, Aim, Answer, Back, Button, Can, Click, Console, DialogVerb, Drag, Eval, Expect, Field,
    Fill, FillForm, Find, Hover, ImageFormat, LoadStorage, Margins, Modifier, Paper, Pdf, PressKey,
    Requests, Resize, Screenshot, Scroll, Select, Snapshot, TextFormat, Type, Upload, Wait,
};
use browser::{Code, Command, Error, Proxy, Result, StorageState, TabId, Target};
use clap::ValueEnum;
use rmcp::model::JsonObject;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The longest that `browser_wait_for` sleeps.
const MOST_SECONDS: f64 = 60.0;

/// A tool.
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) cap: Cap,
    pub(super) about: &'static str,
    pub(super) args: &'static [Arg],
    pub(super) plan: fn(&Given) -> Result<Plan>,
}

/// A group of tools that is offered or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Cap {
    /// What nearly every task needs. Always offered.
    Core,
    /// Going back, dragging, scrolling, uploading, finding.
    Input,
    /// What the page said and asked for.
    Network,
    /// Scripts in the page.
    Script,
    /// Contexts with cookie jars of their own.
    Contexts,
    /// The size of the view, closing, getting a browser.
    Window,
    /// The mouse at points of the view.
    Vision,
    /// Printing to PDF.
    Pdf,
    /// All of these.
    All,
}

/// An argument of a tool.
pub(super) struct Arg {
    pub(super) name: &'static str,
    kind: Kind,
    about: &'static str,
    pub(super) is_needed: bool,
}

/// What an argument may be.
enum Kind {
    Text,
    Flag,
    Number,
    Texts,
    /// What this field of this verb may be.
    Of(&'static str, &'static str),
    /// As this schema says.
    Schema(&'static str),
}

/// What a call asks for.
pub(super) enum Plan {
    /// A verb on a page.
    Do(Command),
    /// Go somewhere, and look.
    Open(String),
    /// Look.
    Look(Box<Snapshot>),
    /// The rest of a reply that was cut.
    More(String),
    /// Wait so long.
    Sleep(Duration),
    /// Wait for this.
    Wait(Wait),
    /// A picture, in the reply or in a file of this name.
    Picture(Box<Screenshot>, Option<String>),
    /// A document, in a file of this name.
    Print(Pdf, String),
    /// Something about tabs.
    Tabs(TabsPlan),
    /// Something about contexts.
    Contexts(ContextsPlan),
    /// The end of the client's pages.
    Close,
    /// Say how to get a browser.
    Install,
}

/// What to do about tabs.
pub(super) enum TabsPlan {
    List,
    New(Option<String>),
    Select(Which),
    Close(Option<Which>),
}

/// Which tab is meant.
pub(super) enum Which {
    Id(TabId),
    /// By its place in the list, from 0.
    At(usize),
}

/// What to do about contexts.
pub(super) enum ContextsPlan {
    List,
    Create(Box<NewContext>),
    Switch(String),
    Close(String),
    /// Save what a context keeps in a file of this name.
    Save(Option<String>, String),
}

/// A context to be made.
pub(super) struct NewContext {
    pub(super) name: String,
    pub(super) proxy: Option<Proxy>,
    /// What it shall keep from the start.
    pub(super) storage: Option<LoadStorage>,
}

const fn arg(name: &'static str, kind: Kind) -> Arg {
    Arg { name, kind, about: "", is_needed: false }
}

const fn needs(name: &'static str, kind: Kind) -> Arg {
    Arg { name, kind, about: "", is_needed: true }
}

impl Arg {
    const fn says(self, about: &'static str) -> Self {
        Self { name: self.name, kind: self.kind, about, is_needed: self.is_needed }
    }
}

const REF: Arg = needs("ref", Kind::Text);
const FIELDS: &str = r#"{"type":"array","items":{"type":"object","properties":{"ref":{"type":"string"},"value":{"type":"string"}},"required":["ref","value"]}}"#;
const PROXY: &str = r#"{"type":"object","properties":{"server":{"type":"string"},"username":{"type":"string"},"password":{"type":"string"}},"required":["server"]}"#;
const STORAGE: &str = r#"{"type":["string","object"]}"#;
const TABS: &str = r#"{"enum":["list","new","close","select"]}"#;
const MARGIN: &str = r#"{"type":["number","object"]}"#;
const LEVELS: &str = r#"{"enum":["error","warning","info","debug"]}"#;

/// All tools. Those of [`Cap::Core`] are offered always.
pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "browser_navigate",
        cap: Cap::Core,
        about: "Open a URL. Returns the page id and a short snapshot.",
        args: &[needs("url", Kind::Text)],
        plan: |given| Ok(Plan::Open(given.words("url")?)),
    },
    Tool {
        name: "browser_snapshot",
        cap: Cap::Core,
        about: "See the page: text, and a ref for what you can act on. Refs stay valid until the element changes.",
        args: &[
            arg("delta", Kind::Flag).says("only what changed since the last one"),
            arg("find", Kind::Text).says("only lines with this text"),
            arg("root", Kind::Text).says("one element, texts in full"),
            arg("budget", Kind::Number).says("max tokens"),
            arg("allRefs", Kind::Flag),
            arg("more", Kind::Text).says("id of a cut reply: the rest of it"),
        ],
        plan: snapshot,
    },
    Tool {
        name: "browser_click",
        cap: Cap::Core,
        about: "Click. Returns what it did and what changed. ref: from a snapshot, or css=, text=, label=, role=button[name=\"…\"].",
        args: &[
            REF,
            arg("doubleClick", Kind::Flag),
            arg("button", Kind::Of("click", "button")),
            arg("modifiers", Kind::Of("click", "modifiers")),
            arg("expect", Kind::Text).says("fail unless: changed, navigated, or this text appears"),
        ],
        plan: click,
    },
    Tool {
        name: "browser_type",
        cap: Cap::Core,
        about: "Fill a field, replacing what is in it.",
        args: &[
            REF,
            arg("text", Kind::Text),
            arg("secret", Kind::Text).says("instead of text: name of a secret of the user's"),
            arg("submit", Kind::Flag).says("then press Enter"),
            arg("slowly", Kind::Flag).says("append, key by key"),
        ],
        plan: type_text,
    },
    Tool {
        name: "browser_fill_form",
        cap: Cap::Core,
        about: "Fill several fields. Checkboxes take true or false, lists an option's text.",
        args: &[needs("fields", Kind::Schema(FIELDS))],
        plan: fill_form,
    },
    Tool {
        name: "browser_select_option",
        cap: Cap::Core,
        about: "Choose options of a list or combobox by text or value.",
        args: &[REF, needs("values", Kind::Texts)],
        plan: |given| {
            let (aim, after) = (Aim::at(given.aim("ref")?), After::default());
            let options = given.texts("values")?;
            Ok(Plan::Do(Command::Select(Select { aim, options, after })))
        },
    },
    Tool {
        name: "browser_press_key",
        cap: Cap::Core,
        about: "Press a key where the focus is, such as Enter or Control+A.",
        args: &[needs("key", Kind::Text)],
        plan: |given| {
            let keys = vec![given.words("key")?];
            Ok(Plan::Do(Command::Press(PressKey { keys, on: None, after: After::default() })))
        },
    },
    Tool {
        name: "browser_hover",
        cap: Cap::Core,
        about: "Move the mouse over an element.",
        args: &[REF],
        plan: |given| {
            let (aim, after) = (Aim::at(given.aim("ref")?), After::default());
            Ok(Plan::Do(Command::Hover(Hover { aim, after })))
        },
    },
    Tool {
        name: "browser_wait_for",
        cap: Cap::Core,
        about: "Wait for a text, for its end, or for seconds. Acting tools wait by themselves.",
        args: &[
            arg("text", Kind::Text),
            arg("textGone", Kind::Text),
            arg("time", Kind::Number).says("seconds"),
        ],
        plan: wait_for,
    },
    Tool {
        name: "browser_tabs",
        cap: Cap::Core,
        about: "List, open, close or select tabs.",
        args: &[needs("action", Kind::Schema(TABS)), arg("index", Kind::Number)],
        plan: tabs,
    },
    Tool {
        name: "browser_take_screenshot",
        cap: Cap::Core,
        about: "A picture, for what text cannot tell. Use browser_snapshot to act.",
        args: &[
            arg("ref", Kind::Text),
            arg("fullPage", Kind::Flag),
            arg("filename", Kind::Text).says("save instead of showing"),
            arg("type", Kind::Of("screenshot", "format")),
        ],
        plan: screenshot,
    },
    Tool {
        name: "browser_handle_dialog",
        cap: Cap::Core,
        about: "Answer the alert, confirm or prompt that is open.",
        args: &[needs("accept", Kind::Flag), arg("promptText", Kind::Text)],
        plan: |given| {
            let answer = match given.flag("accept")? {
                true => Answer::Accept { text: given.text("promptText")? },
                false => Answer::Dismiss,
            };
            Ok(Plan::Do(Command::Dialog(DialogVerb { answer })))
        },
    },
    Tool {
        name: "browser_can",
        cap: Cap::Core,
        about: "Whether an action would work now, and if not, why. Does nothing.",
        args: &[needs("action", Kind::Of("can", "action")), REF],
        plan: |given| {
            let action = serde_json::from_value(Value::String(given.words("action")?));
            let action = action.map_err(|error| wrong(format!("`action`: {error}")))?;
            Ok(Plan::Do(Command::Can(Can { action, aim: Aim::at(given.aim("ref")?) })))
        },
    },
    Tool {
        name: "browser_navigate_back",
        cap: Cap::Input,
        about: "Go back in the history.",
        args: &[],
        plan: |_| Ok(Plan::Do(Command::Back(Back::default()))),
    },
    Tool {
        name: "browser_scroll_into_view",
        cap: Cap::Input,
        about: "Scroll until an element is in view.",
        args: &[REF],
        plan: |given| {
            let target = serde_json::to_value(given.aim("ref")?).ok();
            let target = target.and_then(|target| Some(target.as_str()?.to_owned()));
            let after = After::default();
            Ok(Plan::Do(Command::Scroll(Scroll { target, way: None, by: None, after })))
        },
    },
    Tool {
        name: "browser_drag",
        cap: Cap::Input,
        about: "Drag one element onto another.",
        args: &[needs("startRef", Kind::Text), needs("endRef", Kind::Text)],
        plan: |given| {
            let aim = Aim::at(given.aim("startRef")?);
            let (to, after) = (given.aim("endRef")?, After::default());
            Ok(Plan::Do(Command::Drag(Drag { aim, to, after })))
        },
    },
    Tool {
        name: "browser_file_upload",
        cap: Cap::Input,
        about: "Answer the open file chooser; without paths, cancel it. With ref, fill a file field.",
        args: &[arg("paths", Kind::Texts), arg("ref", Kind::Text)],
        plan: |given| {
            let aim = given.target("ref")?.map(Aim::at);
            if aim.is_some() && !given.has("paths") {
                return Err(wrong("`ref` needs `paths`; [] empties the field".into()));
            }
            let paths: Vec<PathBuf> = given.texts("paths")?.into_iter().map(Into::into).collect();
            let (files, chooser) = match aim {
                Some(_) => (paths, None),
                None => (Vec::new(), Some(paths)),
            };
            let mut upload = Upload { aim, files, chooser, after: After::default() };
            upload.resolve();
            Ok(Plan::Do(Command::Upload(upload)))
        },
    },
    Tool {
        name: "browser_find",
        cap: Cap::Input,
        about: "List what has a text, a role or a name, with refs.",
        args: &[arg("text", Kind::Text), arg("role", Kind::Text), arg("name", Kind::Text)],
        plan: |given| {
            let (text, role, name) =
                (given.text("text")?, given.text("role")?, given.text("name")?);
            if text.is_none() && role.is_none() && name.is_none() {
                return Err(wrong("browser_find needs `text`, `role` or `name`".into()));
            }
            Ok(Plan::Do(Command::Find(Find { text, role, name, exact: false })))
        },
    },
    Tool {
        name: "browser_console_messages",
        cap: Cap::Network,
        about: "What the page wrote to its console.",
        args: &[arg("level", Kind::Schema(LEVELS)).says("and what is worse")],
        plan: |given| {
            let level = given.text("level")?.unwrap_or_else(|| "info".into());
            Ok(Plan::Do(Command::Console(Console { level: Some(level), ..Console::default() })))
        },
    },
    Tool {
        name: "browser_network_requests",
        cap: Cap::Network,
        about: "What the page asked of servers.",
        args: &[arg("includeStatic", Kind::Flag).says("pictures, styles and scripts too")],
        plan: |given| {
            let r#type = (!given.flag("includeStatic")?).then(|| {
                "document,xhr,fetch,websocket,eventsource,ping,other,preflight".to_owned()
            });
            Ok(Plan::Do(Command::Requests(Requests { r#type, ..Requests::default() })))
        },
    },
    Tool {
        name: "browser_evaluate",
        cap: Cap::Script,
        about: "Run a JavaScript function in the page and get what it returns.",
        args: &[
            needs("function", Kind::Text).says("() => … or, with ref, (element) => …"),
            arg("ref", Kind::Text),
        ],
        plan: |given| {
            let function = given.words("function")?;
            let on = given.target("ref")?;
            let script = match on {
                // A function is called; anything else is taken as it is.
                None => format!(
                    "((it) => typeof it === 'function' ? it() : it)({}\n)",
                    function.trim().trim_end_matches(';')
                ),
                Some(_) => function,
            };
            Ok(Plan::Do(Command::Eval(Eval { script, gesture: false, isolated: false, on })))
        },
    },
    Tool {
        name: "browser_context_create",
        cap: Cap::Contexts,
        about: "Make a context with cookies of its own, and use it from now on.",
        args: &[
            needs("name", Kind::Text),
            arg("proxy", Kind::Schema(PROXY)),
            arg("storageState", Kind::Schema(STORAGE)).says("path of a saved one, or the object"),
        ],
        plan: |given| {
            let (name, proxy, storage) =
                (given.words("name")?, proxy(given)?, storage_state(given)?);
            let new = Box::new(NewContext { name, proxy, storage });
            Ok(Plan::Contexts(ContextsPlan::Create(new)))
        },
    },
    Tool {
        name: "browser_context_switch",
        cap: Cap::Contexts,
        about: "Use another context from now on.",
        args: &[needs("name", Kind::Text)],
        plan: |given| Ok(Plan::Contexts(ContextsPlan::Switch(given.words("name")?))),
    },
    Tool {
        name: "browser_context_close",
        cap: Cap::Contexts,
        about: "Close a context with its pages and cookies.",
        args: &[needs("name", Kind::Text)],
        plan: |given| Ok(Plan::Contexts(ContextsPlan::Close(given.words("name")?))),
    },
    Tool {
        name: "browser_context_list",
        cap: Cap::Contexts,
        about: "List the contexts.",
        args: &[],
        plan: |_| Ok(Plan::Contexts(ContextsPlan::List)),
    },
    Tool {
        name: "browser_context_save_storage",
        cap: Cap::Contexts,
        about: "Save a context's cookies and local storage, for storageState.",
        args: &[needs("path", Kind::Text), arg("name", Kind::Text)],
        plan: |given| {
            Ok(Plan::Contexts(ContextsPlan::Save(given.text("name")?, given.words("path")?)))
        },
    },
    Tool {
        name: "browser_close",
        cap: Cap::Window,
        about: "Close your pages.",
        args: &[],
        plan: |_| Ok(Plan::Close),
    },
    Tool {
        name: "browser_resize",
        cap: Cap::Window,
        about: "Give the view another size.",
        args: &[
            needs("width", Kind::Of("resize", "width")),
            needs("height", Kind::Of("resize", "height")),
        ],
        plan: |given| {
            let side = |name: &str| given.count(name).map(Option::unwrap_or_default);
            let (width, height) = (side("width")?, side("height")?);
            Ok(Plan::Do(Command::Resize(Resize { width, height })))
        },
    },
    Tool {
        name: "browser_install",
        cap: Cap::Window,
        about: "Say how to get a browser where none is found.",
        args: &[],
        plan: |_| Ok(Plan::Install),
    },
    Tool {
        name: "browser_mouse_click_xy",
        cap: Cap::Vision,
        about: "Click at a point of the view, in CSS pixels.",
        args: &[
            needs("x", Kind::Number),
            needs("y", Kind::Number),
            arg("button", Kind::Of("click", "button")),
            arg("clickCount", Kind::Of("click", "count")),
        ],
        plan: |given| {
            let aim = Aim::at(point(given, "x", "y")?);
            let count = given.count("clickCount")?.unwrap_or(1).clamp(1, 3) as u8;
            let button = given.of::<Button>("button")?;
            let (modifiers, after) = (Vec::new(), After::default());
            Ok(Plan::Do(Command::Click(Click { aim, button, count, modifiers, after })))
        },
    },
    Tool {
        name: "browser_mouse_move_xy",
        cap: Cap::Vision,
        about: "Move the mouse to a point of the view.",
        args: &[needs("x", Kind::Number), needs("y", Kind::Number)],
        plan: |given| {
            let (aim, after) = (Aim::at(point(given, "x", "y")?), After::default());
            Ok(Plan::Do(Command::Hover(Hover { aim, after })))
        },
    },
    Tool {
        name: "browser_mouse_drag_xy",
        cap: Cap::Vision,
        about: "Drag from a point of the view to another.",
        args: &[
            needs("startX", Kind::Number),
            needs("startY", Kind::Number),
            needs("endX", Kind::Number),
            needs("endY", Kind::Number),
        ],
        plan: |given| {
            let aim = Aim::at(point(given, "startX", "startY")?);
            let (to, after) = (point(given, "endX", "endY")?, After::default());
            Ok(Plan::Do(Command::Drag(Drag { aim, to, after })))
        },
    },
    Tool {
        name: "browser_pdf_save",
        cap: Cap::Pdf,
        about: "Save the page as PDF.",
        args: &[
            needs("path", Kind::Text),
            arg("landscape", Kind::Of("pdf", "landscape")),
            arg("pageRanges", Kind::Of("pdf", "pages")),
            arg("printBackground", Kind::Flag),
            arg("format", Kind::Of("pdf", "format")),
            arg("scale", Kind::Of("pdf", "scale")),
            arg("margin", Kind::Schema(MARGIN)).says("inches"),
        ],
        plan: |given| {
            let no_background = given.has("printBackground") && !given.flag("printBackground")?;
            let landscape = given.flag("landscape")?;
            let pdf = Pdf {
                path: None,
                landscape,
                pages: given.text("pageRanges")?,
                no_background,
                format: given.of::<Option<Paper>>("format")?,
                scale: given.number("scale")?,
                margin: margin(given)?,
            };
            Ok(Plan::Print(pdf, given.words("path")?))
        },
    },
];

impl Tool {
    /// The tool of this name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        TOOLS.iter().find(|tool| tool.name == name)
    }

    /// Whether a client that was given these groups has it.
    pub(super) fn is_in(&self, caps: &[Cap]) -> bool {
        self.cap == Cap::Core || caps.contains(&self.cap) || caps.contains(&Cap::All)
    }

    /// Whether it only looks: hosts need not ask anybody about it.
    pub(super) fn only_looks(&self) -> bool {
        matches!(
            self.name,
            "browser_snapshot"
                | "browser_can"
                | "browser_find"
                | "browser_wait_for"
                | "browser_console_messages"
                | "browser_network_requests"
                | "browser_context_list"
                | "browser_install"
        )
    }

    /// What it takes, in words.
    pub(super) fn expected(&self) -> String {
        let word = |arg: &Arg| match arg.is_needed {
            true => format!("`{}`", arg.name),
            false => format!("`{}` (optional)", arg.name),
        };
        let own: Vec<String> = self.args.iter().map(word).collect();
        match own.is_empty() {
            true => "no arguments".to_owned(),
            false => own.join(", "),
        }
    }

    /// What it takes, as a schema.
    pub(super) fn schema(&self) -> Arc<JsonObject> {
        let mut properties = JsonObject::new();
        for arg in self.args {
            let mut schema = arg.schema();
            if !arg.about.is_empty() {
                schema.insert("description".into(), arg.about.into());
            }
            properties.insert(arg.name.into(), schema.into());
        }
        properties.insert("page".into(), json!({ "type": "string" }));
        let needed: Vec<&str> =
            self.args.iter().filter(|arg| arg.is_needed).map(|arg| arg.name).collect();
        let mut schema = JsonObject::new();
        schema.insert("type".into(), "object".into());
        schema.insert("properties".into(), properties.into());
        if !needed.is_empty() {
            schema.insert("required".into(), needed.into());
        }
        Arc::new(schema)
    }
}

impl Arg {
    fn schema(&self) -> JsonObject {
        let schema = match self.kind {
            Kind::Text => json!({ "type": "string" }),
            Kind::Flag => json!({ "type": "boolean" }),
            Kind::Number => json!({ "type": "number" }),
            Kind::Texts => json!({ "type": "array", "items": { "type": "string" } }),
            Kind::Schema(text) => serde_json::from_str(text).unwrap_or_default(),
            Kind::Of(verb, field) => field_schema(verb, field).unwrap_or_default(),
        };
        match schema {
            Value::Object(schema) => schema,
            _ => JsonObject::new(),
        }
    }
}

/// What a field of a verb may be, without what a model has no use for.
pub(super) fn field_schema(verb: &str, field: &str) -> Option<Value> {
    let schema = Command::schema_of(verb)?;
    let mut found = schema.get("properties")?.get(field)?.clone();
    brief(&mut found);
    Some(found)
}

/// Leaves out of a schema what only costs.
fn brief(schema: &mut Value) {
    // A choice whose words are explained one by one: only the words.
    if let Some(choices) = schema.get("oneOf").and_then(Value::as_array) {
        let words = |choice: &Value| match (choice.get("const"), choice.get("enum")) {
            (Some(word), _) => vec![word.clone()],
            (None, Some(Value::Array(words))) => words.clone(),
            _ => Vec::new(),
        };
        let words: Vec<Vec<Value>> = choices.iter().map(words).collect();
        if words.iter().all(|words| !words.is_empty()) {
            *schema = json!({ "enum": words.concat() });
            return;
        }
    }
    // Something or nothing: that it may be absent is said elsewhere.
    if let Some(choices) = schema.get("anyOf").and_then(Value::as_array) {
        let real: Vec<&Value> =
            choices.iter().filter(|choice| choice.get("type") != Some(&json!("null"))).collect();
        if let [one] = real.as_slice() {
            *schema = (*one).clone();
            return brief(schema);
        }
    }
    let Some(map) = schema.as_object_mut() else { return };
    for word in ["description", "default", "format", "minimum", "maximum", "title"] {
        map.remove(word);
    }
    if let Some(Value::Array(types)) = map.get("type") {
        let real = types.iter().find(|kind| **kind != "null").cloned();
        map.extend(real.map(|kind| ("type".to_owned(), kind)));
    }
    if let Some(items) = map.get_mut("items") {
        brief(items);
    }
}

/// Margins: a number for all sides, or an object with some of them.
fn margin(given: &Given) -> Result<Option<Margins>> {
    let side = |value: &Value| value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    let sides = match given.value("margin") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(sides)) => {
            ["top", "right", "bottom", "left"].map(|name| sides.get(name).map_or(Some(0.0), side))
        }
        Some(all) => [side(all); 4],
    };
    match sides.iter().copied().collect::<Option<Vec<f64>>>().as_deref() {
        Some(&[top, right, bottom, left]) => Ok(Some(Margins([top, right, bottom, left]))),
        _ => Err(wrong(
            "`margin` takes inches: a number, or `top`, `right`, `bottom`, `left`".into(),
        )),
    }
}

fn snapshot(given: &Given) -> Result<Plan> {
    if let Some(more) = given.text("more")? {
        return Ok(Plan::More(more));
    }
    Ok(Plan::Look(Box::new(Snapshot {
        delta: given.flag("delta")?,
        find: given.text("find")?.filter(|text| !text.is_empty()),
        root: given.target("root")?,
        budget: given.count("budget")?.filter(|budget| *budget > 0),
        all_refs: given.flag("allRefs")?,
        format: TextFormat::Viewpoint,
        ..Snapshot::default()
    })))
}

fn click(given: &Given) -> Result<Plan> {
    let aim = Aim::at(given.aim("ref")?);
    let button = given.of::<Button>("button")?;
    let count = if given.flag("doubleClick")? { 2 } else { 1 };
    let modifiers = given.of::<Vec<Modifier>>("modifiers")?;
    let after = after(given)?;
    Ok(Plan::Do(Command::Click(Click { aim, button, count, modifiers, after })))
}

fn after(given: &Given) -> Result<After> {
    let expect = given.text("expect")?.map(|text| text.parse::<Expect>()).transpose();
    Ok(After { expect: expect.map_err(wrong)?, ..After::default() })
}

fn type_text(given: &Given) -> Result<Plan> {
    let aim = Aim::at(given.aim("ref")?);
    let (text, secret) = (given.text("text")?, given.text("secret")?);
    if text.is_some() == secret.is_some() {
        return Err(wrong("browser_type needs `text` or `secret`, and not both".into()));
    }
    let text = text.map(|text| browser::Hidden::from(&*text));
    let secret = secret.map(|name| secret_name(&name)).transpose()?;
    let (submit, after) = (given.flag("submit")?, After::default());
    let command = match given.flag("slowly")? {
        true => {
            let mut typed = Type { aim, text, secret, submit, after };
            typed.look_up()?;
            Command::Type(typed)
        }
        false => {
            let mut fill = Fill { aim, value: text, secret, submit, after };
            fill.look_up()?;
            Command::Fill(fill)
        }
    };
    Ok(Plan::Do(command))
}

/// What variables for clients begin with: not everything in the environment is meant for pages.
const SECRET: &str = "AGBROWSE_SECRET_";

/// The variable or the file that a client may have typed.
fn secret_name(name: &str) -> Result<String> {
    let variable = match name.starts_with(SECRET) {
        true => name.to_owned(),
        false => format!("{SECRET}{name}"),
    };
    if std::env::var_os(&variable).is_some() {
        return Ok(variable);
    }
    match std::env::var_os(name) {
        Some(_) => Err(Error::new(Code::SecretNotFound)
            .message(format!("`{name}` is not meant for pages: `{variable}` would be"))),
        None => Ok(name.to_owned()),
    }
}

fn fill_form(given: &Given) -> Result<Plan> {
    let mut fields = Vec::new();
    for row in given.rows("fields")? {
        let target = super::given::target(&row.words("ref")?)?;
        fields.push(Field { target, value: browser::Hidden::from(&*row.words("value")?) });
    }
    Ok(Plan::Do(Command::FillForm(FillForm { fields, after: After::default() })))
}

fn wait_for(given: &Given) -> Result<Plan> {
    let (text, text_gone) = (given.text("text")?, given.text("textGone")?);
    let seconds = given.number("time")?;
    let asked = usize::from(text.is_some())
        + usize::from(text_gone.is_some())
        + usize::from(seconds.is_some());
    if asked != 1 {
        return Err(wrong(
            "browser_wait_for needs exactly one of `text`, `textGone`, `time`".into(),
        ));
    }
    match seconds {
        Some(seconds) if seconds > MOST_SECONDS => {
            Err(wrong(format!("`time` of browser_wait_for goes up to {MOST_SECONDS} seconds")))
        }
        Some(seconds) => Ok(Plan::Sleep(Duration::from_secs_f64(seconds))),
        None => Ok(Plan::Wait(Wait { text, text_gone, ..Wait::default() })),
    }
}

fn tabs(given: &Given) -> Result<Plan> {
    let which = match (given.page()?, given.count("index")?) {
        (Some(id), _) => Some(Which::Id(id)),
        (None, index) => index.map(|index| Which::At(index as usize)),
    };
    let needed = || wrong("browser_tabs select needs `index` or `page`".into());
    Ok(Plan::Tabs(match &*given.words("action")? {
        "list" => TabsPlan::List,
        "new" => TabsPlan::New(None),
        "close" => TabsPlan::Close(which),
        "select" => TabsPlan::Select(which.ok_or_else(needed)?),
        other => {
            return Err(wrong(format!(
                "`action` of browser_tabs must be list, new, close or select, not `{other}`"
            )));
        }
    }))
}

fn screenshot(given: &Given) -> Result<Plan> {
    let target = given.target("ref")?;
    let full_page = given.flag("fullPage")?;
    if target.is_some() && full_page {
        return Err(wrong("`fullPage` does not go with `ref`".into()));
    }
    let format = match given.has("type") {
        true => Some(given.of::<ImageFormat>("type")?),
        false => None,
    };
    let shot = Screenshot { target, full_page, format, ..Screenshot::default() };
    Ok(Plan::Picture(Box::new(shot), given.text("filename")?))
}

/// A proxy, as an object or as its address.
fn proxy(given: &Given) -> Result<Option<Proxy>> {
    let Some(value) = given.value("proxy") else { return Ok(None) };
    let read = match value {
        Value::String(text) => text.parse().ok(),
        other => serde_json::from_value(other.clone()).ok(),
    };
    // What it is not told: a password may be in it.
    read.map(Some).ok_or_else(|| {
        wrong("`proxy` must be an object with the texts `server`, `username`, `password`".into())
    })
}

/// A saved storage, as an object or as the path of a file.
fn storage_state(given: &Given) -> Result<Option<LoadStorage>> {
    let object = match given.value("storageState") {
        None => return Ok(None),
        Some(Value::String(text)) if !text.trim_start().starts_with('{') => {
            return Ok(Some(LoadStorage { path: Some(text.into()), state: None }));
        }
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let state = StorageState::parse(object.as_bytes()).map_err(|why| {
        Error::new(Code::StorageInvalid)
            .message(format!("`storageState` is no saved storage: {why}"))
    })?;
    Ok(Some(LoadStorage { path: None, state: Some(state) }))
}

fn point(given: &Given, x: &str, y: &str) -> Result<Target> {
    let at = |name: &str| given.number(name).map(Option::unwrap_or_default);
    Ok(Target::Point { x: at(x)?, y: at(y)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tool_takes_from_a_verb_is_there() {
        for tool in TOOLS {
            for arg in tool.args {
                if let Kind::Of(verb, field) = arg.kind {
                    let schema = field_schema(verb, field);
                    assert!(
                        schema
                            .as_ref()
                            .is_some_and(|it| it.get("type").is_some() || it.get("enum").is_some()),
                        "{} takes `{}` from `{verb} {field}`, which is {schema:?}",
                        tool.name,
                        arg.name
                    );
                }
                assert!(!arg.schema().is_empty(), "{} {}", tool.name, arg.name);
            }
        }
    }

    #[test]
    fn names_are_told_once() {
        for (index, tool) in TOOLS.iter().enumerate() {
            assert!(TOOLS[..index].iter().all(|other| other.name != tool.name), "{}", tool.name);
            for (index, arg) in tool.args.iter().enumerate() {
                assert!(tool.args[..index].iter().all(|it| it.name != arg.name), "{}", arg.name);
            }
        }
    }

    #[test]
    fn schemas_have_only_what_a_model_needs() {
        let modifiers = field_schema("click", "modifiers").unwrap();
        assert_eq!(modifiers["type"], "array");
        assert!(modifiers["items"]["enum"].is_array() && modifiers.get("description").is_none());
        assert_eq!(
            field_schema("screenshot", "format").unwrap(),
            json!({ "enum": ["png", "jpeg", "webp"] })
        );
        assert_eq!(field_schema("pdf", "pages").unwrap(), json!({ "type": "string" }));
        assert_eq!(field_schema("click", "nothing"), None);
    }
}
