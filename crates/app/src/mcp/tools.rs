//! The tools: what each is called, what it takes, and which verb it is.
//!
//! Names and arguments are those that prompts written for other servers use. What an argument of a verb may be is read
//! off the verb, never written down a second time. Every word of this table is paid for by every client before its
//! first call: they are few.

mod build;
mod list;

pub(super) use list::TOOLS;

use super::args::ToolArgs;
use browser::command::{LoadStorage, Pdf, Screenshot, Snapshot, Wait};
use browser::{Command, Proxy, Result, TabId};
use clap::ValueEnum;
use rmcp::model::JsonObject;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// A tool.
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) cap: ToolGroup,
    pub(super) about: &'static str,
    pub(super) args: &'static [Arg],
    /// The verb that it is, where its arguments are fields of one.
    verb: Option<&'static str>,
    pub(super) plan: fn(&ToolArgs) -> Result<ToolAction>,
}

/// A group of tools that is offered or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ToolGroup {
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
    kind: ArgType,
    about: &'static str,
    pub(super) is_needed: bool,
    /// The field of the tool's verb that it sets, where that has another name.
    sets: Option<&'static str>,
}

/// What an argument may be.
enum ArgType {
    Text,
    Flag,
    Number,
    Texts,
    /// A ref or selector.
    Ref,
    /// A value of the field of the tool's verb that it sets.
    Field,
    /// What this field of this verb may be.
    Of(&'static str, &'static str),
    /// As this schema says.
    Schema(&'static str),
}

/// What a call asks for.
pub(super) enum ToolAction {
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
    Tabs(TabsAction),
    /// Something about contexts.
    Contexts(ContextsAction),
    /// The end of the client's pages.
    Close,
    /// Say how to get a browser.
    Install,
}

impl ToolAction {
    /// Whether it may be about files of this machine.
    pub(super) fn touches_files(&self) -> bool {
        let is_file = |url: &str| {
            let url = url.trim_start().to_ascii_lowercase();
            url.starts_with('/') || url.contains("file:")
        };
        match self {
            Self::Open(url) | Self::Tabs(TabsAction::New(Some(url))) => is_file(url),
            Self::Do(Command::Upload(_)) => true,
            Self::Contexts(ContextsAction::Create(new)) => {
                new.storage.as_ref().is_some_and(|storage| storage.path.is_some())
            }
            _ => false,
        }
    }
}

/// What to do about tabs.
pub(super) enum TabsAction {
    List,
    New(Option<String>),
    Select(TabSelector),
    Close(Option<TabSelector>),
}

/// Which tab is meant.
pub(super) enum TabSelector {
    Id(TabId),
    /// By its place in the list, from 0.
    At(usize),
}

/// What to do about contexts.
pub(super) enum ContextsAction {
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

impl Tool {
    /// The tool of this name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        TOOLS.iter().find(|tool| tool.name == name)
    }

    /// Whether a client that was given these groups has it.
    pub(super) fn is_in(&self, caps: &[ToolGroup]) -> bool {
        self.cap == ToolGroup::Core || caps.contains(&self.cap) || caps.contains(&ToolGroup::All)
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

    /// A tool that is a verb: each argument sets a field of it.
    const fn of_verb(
        name: &'static str,
        cap: ToolGroup,
        verb: &'static str,
        about: &'static str,
        args: &'static [Arg],
    ) -> Self {
        Self { name, cap, about, args, verb: Some(verb), plan: build::command }
    }

    /// What it takes, as a schema.
    pub(super) fn schema(&self) -> Arc<JsonObject> {
        let mut properties = JsonObject::new();
        for arg in self.args {
            let mut schema = arg.schema(self.verb);
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
    fn field(&self) -> &'static str {
        self.sets.unwrap_or(self.name)
    }

    fn schema(&self, verb: Option<&str>) -> JsonObject {
        let schema = match self.kind {
            ArgType::Field => {
                verb.and_then(|verb| field_schema(verb, self.field())).unwrap_or_default()
            }
            ArgType::Text | ArgType::Ref => json!({ "type": "string" }),
            ArgType::Flag => json!({ "type": "boolean" }),
            ArgType::Number => json!({ "type": "number" }),
            ArgType::Texts => json!({ "type": "array", "items": { "type": "string" } }),
            ArgType::Schema(text) => serde_json::from_str(text).unwrap_or_default(),
            ArgType::Of(verb, field) => field_schema(verb, field).unwrap_or_default(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tool_takes_from_a_verb_is_there() {
        for tool in TOOLS {
            for arg in tool.args {
                if let ArgType::Of(verb, field) = arg.kind {
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
                assert!(!arg.schema(tool.verb).is_empty(), "{} {}", tool.name, arg.name);
                if let Some(verb) = tool.verb {
                    let schema = field_schema(verb, arg.field());
                    assert!(schema.is_some(), "{} sets no field of `{verb}`", arg.name);
                }
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
