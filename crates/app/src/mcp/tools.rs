//! Tool definitions: name, arguments, input schema, verb.
//!
//! Names and arguments are those that prompts written for other servers use. The schema of a verb's argument is derived
//! from the verb. The texts are short: every client pays for their tokens before its first call.

mod build;
mod list;

pub(super) use list::TOOLS;

use super::args::ToolArgs;
use super::web_ai::WebAiCall;
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
    pub(super) group: ToolGroup,
    pub(super) description: &'static str,
    pub(super) args: &'static [Arg],
    /// The verb whose fields the arguments set, if it is a verb.
    verb: Option<&'static str>,
    pub(super) build: fn(&ToolArgs) -> Result<ToolAction>,
}

/// A group of tools, enabled with `--caps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ToolGroup {
    /// Tools that nearly every task needs. Always offered.
    Core,
    /// Going back, dragging, scrolling, uploading, finding.
    Input,
    /// Console messages and network requests.
    Network,
    /// Scripts in the page.
    Script,
    /// Contexts with cookie jars of their own.
    Contexts,
    /// Viewport size, closing, installing a browser.
    Window,
    /// The mouse at viewport coordinates.
    Vision,
    /// Printing to PDF.
    Pdf,
    /// Chat apps: ChatGPT, Gemini, Grok.
    WebAi,
    /// All of these.
    All,
}

/// An argument of a tool.
pub(super) struct Arg {
    pub(super) name: &'static str,
    kind: ArgType,
    description: &'static str,
    pub(super) is_required: bool,
    /// The verb's field that it sets, if its name differs.
    sets: Option<&'static str>,
}

/// Type of an argument.
enum ArgType {
    Text,
    Flag,
    Number,
    Texts,
    /// A ref or selector.
    Ref,
    /// The type of the verb's field that it sets.
    Field,
    /// The type of this field of this verb.
    FieldOf(&'static str, &'static str),
    /// This JSON schema.
    Schema(&'static str),
}

/// Action of a tool call.
pub(super) enum ToolAction {
    /// Run a command on a page.
    Run(Command),
    /// Navigate, and take a snapshot.
    Open(String),
    /// Take a snapshot.
    Snapshot(Box<Snapshot>),
    /// Return the rest of a cut reply.
    Continue(String),
    /// Sleep.
    Sleep(Duration),
    /// Wait for a condition.
    Wait(Wait),
    /// Take a screenshot, into the reply or a file of this name.
    Screenshot(Box<Screenshot>, Option<String>),
    /// Print to PDF, into a file of this name.
    Pdf(Pdf, String),
    /// A tab operation.
    Tabs(TabsAction),
    /// A context operation.
    Contexts(ContextsAction),
    /// Close the client's pages.
    Close,
    /// Explain how to install a browser.
    Install,
    /// Drive a chat app.
    WebAi(WebAiCall),
}

impl ToolAction {
    /// True if it may access local files.
    pub(super) fn touches_files(&self) -> bool {
        let is_file = |url: &str| {
            let url = url.trim_start().to_ascii_lowercase();
            url.starts_with('/') || url.contains("file:")
        };
        match self {
            Self::Open(url) | Self::Tabs(TabsAction::New(Some(url))) => is_file(url),
            Self::Run(Command::Upload(_)) => true,
            Self::Contexts(ContextsAction::Create(new)) => {
                new.storage.as_ref().is_some_and(|storage| storage.path.is_some())
            }
            _ => false,
        }
    }
}

/// Tab operations.
pub(super) enum TabsAction {
    List,
    New(Option<String>),
    Select(TabSelector),
    Close(Option<TabSelector>),
}

/// A tab, by id or index.
pub(super) enum TabSelector {
    Id(TabId),
    /// Index in the list, from 0.
    At(usize),
}

/// Context operations.
pub(super) enum ContextsAction {
    List,
    Create(Box<NewContext>),
    Switch(String),
    Close(String),
    /// Save the storage state of a context in a file of this name.
    Save(Option<String>, String),
}

/// Parameters of a new context.
pub(super) struct NewContext {
    pub(super) name: String,
    pub(super) proxy: Option<Proxy>,
    /// Storage state to load.
    pub(super) storage: Option<LoadStorage>,
}

impl Tool {
    /// Finds a tool by name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        TOOLS.iter().find(|tool| tool.name == name)
    }

    /// True if the tool is offered with these groups.
    pub(super) fn is_in(&self, caps: &[ToolGroup]) -> bool {
        self.group == ToolGroup::Core
            || caps.contains(&self.group)
            || caps.contains(&ToolGroup::All)
    }

    /// True if it changes nothing: hosts need no approval for it.
    pub(super) fn is_read_only(&self) -> bool {
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
                | "web_ai_poll"
        )
    }

    /// Describes the arguments, for error messages.
    pub(super) fn expected(&self) -> String {
        let word = |arg: &Arg| match arg.is_required {
            true => format!("`{}`", arg.name),
            false => format!("`{}` (optional)", arg.name),
        };
        let own: Vec<String> = self.args.iter().map(word).collect();
        match own.is_empty() {
            true => "no arguments".to_owned(),
            false => own.join(", "),
        }
    }

    /// Creates a tool from a verb: each argument sets a field of it.
    const fn of_verb(
        name: &'static str,
        group: ToolGroup,
        verb: &'static str,
        description: &'static str,
        args: &'static [Arg],
    ) -> Self {
        Self { name, group, description, args, verb: Some(verb), build: build::command }
    }

    /// Builds the input schema.
    pub(super) fn schema(&self) -> Arc<JsonObject> {
        let mut properties = JsonObject::new();
        for arg in self.args {
            let mut schema = arg.schema(self.verb);
            if !arg.description.is_empty() {
                schema.insert("description".into(), arg.description.into());
            }
            properties.insert(arg.name.into(), schema.into());
        }
        properties.insert("page".into(), json!({ "type": "string" }));
        let needed: Vec<&str> =
            self.args.iter().filter(|arg| arg.is_required).map(|arg| arg.name).collect();
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
            ArgType::FieldOf(verb, field) => field_schema(verb, field).unwrap_or_default(),
        };
        match schema {
            Value::Object(schema) => schema,
            _ => JsonObject::new(),
        }
    }
}

/// Returns the JSON schema of a verb's field, reduced to the keywords that a model needs.
pub(super) fn field_schema(verb: &str, field: &str) -> Option<Value> {
    let schema = Command::schema_of(verb)?;
    let mut found = schema.get("properties")?.get(field)?.clone();
    brief(&mut found);
    Some(found)
}

/// Removes schema keywords that only cost tokens.
fn brief(schema: &mut Value) {
    // Described constants: keep only the values.
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
    // Nullable: `required` tells which arguments may be absent.
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
    fn fields_of_verbs_exist() {
        for tool in TOOLS {
            for arg in tool.args {
                if let ArgType::FieldOf(verb, field) = arg.kind {
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
    fn names_are_unique() {
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
