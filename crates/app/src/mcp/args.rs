//! Arguments of a tool call: lenient parsing, and errors that say what is expected.

use super::tools::Tool;
use browser::page::refs::{Dialect, RefName};
use browser::{Code, Error, Result, TabId, Target};
use rmcp::model::JsonObject;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Arguments that every tool accepts. `element` is a human-readable description of the target.
const COMMON_ARGS: &[&str] = &["page", "context", "element", "startElement", "endElement"];

/// The arguments of one call.
pub(super) struct ToolArgs {
    tool: &'static Tool,
    args: JsonObject,
}

impl ToolArgs {
    /// Checks the names of a call's arguments.
    ///
    /// # Errors
    /// `command.invalid` for unknown and missing arguments.
    pub(super) fn new(tool: &'static Tool, args: Option<JsonObject>) -> Result<Self> {
        let mut args = args.unwrap_or_default();
        // Null means absent.
        args.retain(|_, value| !value.is_null());
        let known = |name: &str| tool.args.iter().any(|arg| arg.name == name);
        if let Some(odd) = args.keys().find(|name| !known(name) && !COMMON_ARGS.contains(&&***name))
        {
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
        match tool.args.iter().find(|arg| arg.is_required && !args.args.contains_key(arg.name)) {
            Some(arg) => Err(wrong(format!(
                "{} needs `{}`: expected {}",
                tool.name,
                arg.name,
                tool.expected()
            ))),
            None => Ok(args),
        }
    }

    fn type_error(&self, name: &str, what: &str, value: &Value) -> Error {
        let mut shown = value.to_string();
        if shown.len() > 80 {
            shown = format!("{}…", browser::page::text::cut_chars(&shown, 80));
        }
        wrong(format!("`{name}` of {} must be {what}, not `{shown}`", self.tool.name))
    }

    /// The called tool.
    pub(super) fn tool(&self) -> &'static Tool {
        self.tool
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.args.contains_key(name)
    }

    /// The raw value.
    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.args.get(name)
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<String>> {
        match self.args.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            Some(Value::Bool(flag)) => Ok(Some(flag.to_string())),
            Some(other) => Err(self.type_error(name, "a text", other)),
        }
    }

    /// Returns a required text; [`ToolArgs::new`] checked that it exists.
    pub(super) fn required_str(&self, name: &str) -> Result<String> {
        Ok(self.text(name)?.unwrap_or_default())
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool> {
        match self.args.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            // Some models write it so.
            Some(Value::String(text)) if text == "true" || text == "false" => Ok(text == "true"),
            Some(other) => Err(self.type_error(name, "true or false", other)),
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
            None => Err(self.type_error(name, "a number from 0", &self.args[name])),
        }
    }

    pub(super) fn count(&self, name: &str) -> Result<Option<u32>> {
        match self.number(name)? {
            None => Ok(None),
            Some(number) if number.fract() == 0.0 && number <= f64::from(u32::MAX) => {
                Ok(Some(number as u32))
            }
            Some(_) => Err(self.type_error(name, "a whole number", &self.args[name])),
        }
    }

    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>> {
        let one = |value: &Value| match value {
            Value::String(text) => Ok(text.clone()),
            Value::Number(number) => Ok(number.to_string()),
            other => Err(self.type_error(name, "a list of texts", other)),
        };
        match self.args.get(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(all)) => all.iter().map(one).collect(),
            Some(single) => Ok(vec![one(single)?]),
        }
    }

    /// Deserializes a value; the default if absent.
    pub(super) fn parse<T: DeserializeOwned + Default>(&self, name: &str) -> Result<T> {
        let Some(value) = self.args.get(name) else { return Ok(T::default()) };
        // Also accepted: other letter case, and a single value in place of a list.
        let low = value.as_str().map(|text| Value::String(text.to_lowercase()));
        let list = value.as_str().map(|text| Value::Array(vec![text.into()]));
        for other in [low, list].into_iter().flatten() {
            if let Ok(value) = serde_json::from_value(other) {
                return Ok(value);
            }
        }
        serde_json::from_value(value.clone())
            .map_err(|error| wrong(format!("invalid `{name}` of {}: {error}", self.tool.name)))
    }

    /// Returns the objects of a list.
    pub(super) fn objects<'a>(&'a self, name: &'a str) -> Result<Vec<ArgObject<'a>>> {
        let value = self.args.get(name);
        let all = value.and_then(Value::as_array).filter(|all| !all.is_empty());
        let Some(all) = all else {
            return Err(self.type_error(name, "a list", value.unwrap_or(&Value::Null)));
        };
        let row = |value: &'_ Value| match value.as_object() {
            Some(_) => Ok(()),
            None => Err(self.type_error(name, "a list of objects", value)),
        };
        all.iter().try_for_each(row)?;
        Ok(all
            .iter()
            .filter_map(Value::as_object)
            .map(|row| ArgObject { args: self, name, row })
            .collect())
    }

    /// Parses an optional target.
    pub(super) fn target(&self, name: &str) -> Result<Option<Target>> {
        self.text(name)?.map(|text| target(&text)).transpose()
    }

    /// Parses a required target; [`ToolArgs::new`] checked that it exists.
    pub(super) fn required_target(&self, name: &str) -> Result<Target> {
        target(&self.required_str(name)?)
    }

    /// The `page` argument.
    pub(super) fn page(&self) -> Result<Option<TabId>> {
        let Some(page) = self.text("page")? else { return Ok(None) };
        let id = page.trim().parse::<TabId>();
        id.map(Some).map_err(|_| {
            wrong(format!("`page` must be an id that a reply gave, such as `t2`, not `{page}`"))
        })
    }

    /// The context: the `context` argument, or the prefix of a ref.
    pub(super) fn context(&self) -> Result<Option<String>> {
        let given = self.text("context")?;
        for name in ["ref", "startRef", "endRef", "root"] {
            let Some(Target::Ref(RefName::Backend { context: Some(context), .. })) =
                self.text(name)?.and_then(|text| target(&text).ok())
            else {
                continue;
            };
            if given.as_ref().is_some_and(|given| *given != context) {
                return Err(wrong(format!(
                    "`{name}` is a ref of context `{context}`, but `context` says otherwise"
                )));
            }
            return Ok(Some(context));
        }
        Ok(given)
    }

    /// The human-readable description of the target.
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

/// Prefixes of selectors and refs.
const TARGET_PREFIXES: &[&str] =
    &["css=", "role=", "text=", "label=", "placeholder=", "testid=", "xy=", "ref="];

/// Parses a target: a ref as in snapshots, or a selector with its prefix.
pub(super) fn target(text: &str) -> Result<Target> {
    let text = text.trim();
    let has_prefix = |text: &str| TARGET_PREFIXES.iter().any(|kind| text.starts_with(kind));
    // A whole snapshot line, or its `[ref=…]`.
    let inside = text.rsplit_once("[ref=").and_then(|(_, rest)| rest.split(']').next());
    let text = inside.filter(|_| !has_prefix(text)).unwrap_or(text);
    // The `@` of the command line is accepted and ignored.
    let text = text.strip_prefix('@').unwrap_or(text);
    let found = match has_prefix(text) {
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
