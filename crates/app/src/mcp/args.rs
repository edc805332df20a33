//! The arguments of a call, read with patience and refused with a sentence that says what is expected.

use super::tools::Tool;
use browser::page::refs::{Dialect, RefName};
use browser::{Code, Error, Result, TabId, Target};
use rmcp::model::JsonObject;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Arguments that every tool takes beside its own. `element` is what a person calls the thing that is meant.
const ALWAYS: &[&str] = &["page", "context", "element", "startElement", "endElement"];

/// The arguments of one call.
pub(super) struct ToolArgs {
    tool: &'static Tool,
    args: JsonObject,
}

impl ToolArgs {
    /// Takes the arguments of a call.
    ///
    /// # Errors
    /// `command.invalid` when there is one that the tool does not know, or one is missing.
    pub(super) fn new(tool: &'static Tool, args: Option<JsonObject>) -> Result<Self> {
        let mut args = args.unwrap_or_default();
        // Who has nothing to say may say null.
        args.retain(|_, value| !value.is_null());
        let known = |name: &str| tool.args.iter().any(|arg| arg.name == name);
        if let Some(odd) = args.keys().find(|name| !known(name) && !ALWAYS.contains(&&***name)) {
            let near = tool.args.iter().map(|arg| arg.name).chain(["page", "context"]);
            let near = near.min_by_key(|name| strsim::damerau_levenshtein(name, odd));
            let near = near.filter(|name| strsim::damerau_levenshtein(name, odd) <= 2);
            let near = near.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
            return Err(wrong(format!(
                "`{odd}` is no argument of {}: expected {}{near}",
                tool.name,
                tool.expected()
            )));
        }
        let args = Self { tool, args };
        match tool.args.iter().find(|arg| arg.is_needed && !args.args.contains_key(arg.name)) {
            Some(arg) => Err(wrong(format!(
                "{} needs `{}`: expected {}",
                tool.name,
                arg.name,
                tool.expected()
            ))),
            None => Ok(args),
        }
    }

    fn not_a(&self, name: &str, what: &str, value: &Value) -> Error {
        let mut shown = value.to_string();
        if shown.len() > 80 {
            shown = format!("{}…", browser::page::text::cut_chars(&shown, 80));
        }
        wrong(format!("`{name}` of {} must be {what}, not `{shown}`", self.tool.name))
    }

    /// The tool that is called.
    pub(super) fn tool(&self) -> &'static Tool {
        self.tool
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.args.contains_key(name)
    }

    /// As it was given.
    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.args.get(name)
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<String>> {
        match self.args.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            Some(Value::Bool(flag)) => Ok(Some(flag.to_string())),
            Some(other) => Err(self.not_a(name, "a text", other)),
        }
    }

    /// A text that is there: [`ToolArgs::new`] has seen to it.
    pub(super) fn required_str(&self, name: &str) -> Result<String> {
        Ok(self.text(name)?.unwrap_or_default())
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool> {
        match self.args.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            // As models sometimes write it.
            Some(Value::String(text)) if text == "true" || text == "false" => Ok(text == "true"),
            Some(other) => Err(self.not_a(name, "true or false", other)),
        }
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<f64>> {
        let number = match self.args.get(name) {
            None => return Ok(None),
            Some(Value::Number(number)) => number.as_f64(),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(_) => None,
        };
        match number.filter(|number| number.is_finite() && *number >= 0.0) {
            Some(number) => Ok(Some(number)),
            None => Err(self.not_a(name, "a number from 0", &self.args[name])),
        }
    }

    pub(super) fn count(&self, name: &str) -> Result<Option<u32>> {
        match self.number(name)? {
            None => Ok(None),
            Some(number) if number.fract() == 0.0 && number <= f64::from(u32::MAX) => {
                Ok(Some(number as u32))
            }
            Some(_) => Err(self.not_a(name, "a whole number", &self.args[name])),
        }
    }

    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>> {
        let one = |value: &Value| match value {
            Value::String(text) => Ok(text.clone()),
            Value::Number(number) => Ok(number.to_string()),
            other => Err(self.not_a(name, "a list of texts", other)),
        };
        match self.args.get(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(all)) => all.iter().map(one).collect(),
            Some(single) => Ok(vec![one(single)?]),
        }
    }

    /// A value of one of our own types, as its own words say it; the default when there is none.
    pub(super) fn parse<T: DeserializeOwned + Default>(&self, name: &str) -> Result<T> {
        let Some(value) = self.args.get(name) else { return Ok(T::default()) };
        // As other servers spell it, or one where several may be.
        let low = value.as_str().map(|text| Value::String(text.to_lowercase()));
        let list = value.as_str().map(|text| Value::Array(vec![text.into()]));
        for other in [low, list].into_iter().flatten() {
            if let Ok(value) = serde_json::from_value(other) {
                return Ok(value);
            }
        }
        serde_json::from_value(value.clone()).map_err(|error| {
            wrong(format!("`{name}` of {} is not understood: {error}", self.tool.name))
        })
    }

    /// The objects of a list.
    pub(super) fn rows<'a>(&'a self, name: &'a str) -> Result<Vec<ArgObject<'a>>> {
        let value = self.args.get(name);
        let all = value.and_then(Value::as_array).filter(|all| !all.is_empty());
        let Some(all) = all else {
            return Err(self.not_a(name, "a list", value.unwrap_or(&Value::Null)));
        };
        let row = |value: &'_ Value| match value.as_object() {
            Some(_) => Ok(()),
            None => Err(self.not_a(name, "a list of objects", value)),
        };
        all.iter().try_for_each(row)?;
        Ok(all
            .iter()
            .filter_map(Value::as_object)
            .map(|row| ArgObject { args: self, name, row })
            .collect())
    }

    /// What a ref points at.
    pub(super) fn target(&self, name: &str) -> Result<Option<Target>> {
        self.text(name)?.map(|text| target(&text)).transpose()
    }

    /// What a ref points at, which is there: [`ToolArgs::new`] has seen to it.
    pub(super) fn required_target(&self, name: &str) -> Result<Target> {
        target(&self.required_str(name)?)
    }

    /// The page that is meant, if it is said.
    pub(super) fn page(&self) -> Result<Option<TabId>> {
        let Some(page) = self.text("page")? else { return Ok(None) };
        let id = page.trim().parse::<TabId>();
        id.map(Some).map_err(|_| {
            wrong(format!("`page` must be an id that a reply gave, such as `t2`, not `{page}`"))
        })
    }

    /// The context that is meant: said, or named by a ref.
    pub(super) fn context(&self) -> Result<Option<String>> {
        let said = self.text("context")?;
        for name in ["ref", "startRef", "endRef", "root"] {
            let Some(Target::Ref(RefName::Backend { context: Some(context), .. })) =
                self.text(name)?.and_then(|text| target(&text).ok())
            else {
                continue;
            };
            if said.as_ref().is_some_and(|said| *said != context) {
                return Err(wrong(format!(
                    "`{name}` is a ref of context `{context}`, but `context` says otherwise"
                )));
            }
            return Ok(Some(context));
        }
        Ok(said)
    }

    /// What a person calls the thing that is meant.
    pub(super) fn element(&self) -> Option<&str> {
        self.args.get("element").or_else(|| self.args.get("startElement"))?.as_str()
    }
}

/// One object of a list.
pub(super) struct ArgObject<'a> {
    args: &'a ToolArgs,
    name: &'a str,
    row: &'a JsonObject,
}

impl ArgObject<'_> {
    pub(super) fn required_str(&self, key: &str) -> Result<String> {
        match self.row.get(key) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(Value::Number(number)) => Ok(number.to_string()),
            Some(Value::Bool(flag)) => Ok(flag.to_string()),
            _ => Err(wrong(format!(
                "each of `{}` of {} needs `{key}`",
                self.name, self.args.tool.name
            ))),
        }
    }
}

/// Ways of pointing that are no refs, and the one that says so.
const KINDS: &[&str] =
    &["css=", "role=", "text=", "label=", "placeholder=", "testid=", "xy=", "ref="];

/// What a text points at: a ref in the spelling of snapshots, or another way of pointing with its kind before it.
pub(super) fn target(text: &str) -> Result<Target> {
    let text = text.trim();
    let is_kind = |text: &str| KINDS.iter().any(|kind| text.starts_with(kind));
    // As it stands in a snapshot, or the whole line of it.
    let inside = text.rsplit_once("[ref=").and_then(|(_, rest)| rest.split(']').next());
    let text = inside.filter(|_| !is_kind(text)).unwrap_or(text);
    // The command line's own spelling is not known here: who writes it means what snapshots here say.
    let text = text.strip_prefix('@').unwrap_or(text);
    let found = match is_kind(text) {
        true => text.parse(),
        false => RefName::parse(text, Dialect::Mcp).map(Target::Ref).map_err(|bad| {
            format!("{bad}; or `text=…`, `label=…`, `css=…`, `role=button[name=\"…\"]`")
        }),
    };
    found.map_err(|message| Error::new(Code::CommandInvalid).message(message).evidence("ref", text))
}

pub(super) fn wrong(message: String) -> Error {
    Error::new(Code::CommandInvalid).message(message)
}
