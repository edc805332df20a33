//! Builders of tool actions from arguments.

use super::super::args::{ToolArgs, wrong};
use super::{ArgType, TabSelector, TabsAction, ToolAction, field_schema};
use browser::command::{
    Button, Click, Expect, Field, Fill, FillForm, ImageFormat, LoadStorage, Margins, Modifier,
    Screenshot, SettleArgs, Snapshot, TargetArgs, TextFormat, Type, Wait,
};
use browser::{Code, Command, Error, Proxy, Result, StorageState, Target};
use serde_json::{Map, Value};
use std::time::Duration;

/// Maximum sleep of `browser_wait_for`.
const MAX_WAIT_SECONDS: f64 = 60.0;

/// Parses margins: a number for all sides, or an object with some of them.
pub(super) fn margin(args: &ToolArgs) -> Result<Option<Margins>> {
    let side = |value: &Value| value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    let sides = match args.value("margin") {
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

/// Builds the command of a tool that is a verb.
pub(super) fn command(args: &ToolArgs) -> Result<ToolAction> {
    let tool = args.tool();
    let verb = tool.verb.unwrap_or_default();
    let mut fields = Map::new();
    fields.insert("verb".into(), verb.into());
    for arg in tool.args.iter().filter(|arg| args.has(arg.name)) {
        let field = arg.field();
        let schema = field_schema(verb, field).unwrap_or_default();
        let value = match (&arg.kind, schema["type"].as_str()) {
            (ArgType::Ref, _) => serde_json::to_value(args.required_target(arg.name)?)
                .map_err(|error| wrong(error.to_string()))?,
            (_, Some("array")) => args.texts(arg.name)?.into(),
            (_, Some("boolean")) => args.flag(arg.name)?.into(),
            (_, Some("integer")) => args.count(arg.name)?.into(),
            (_, Some("number")) => args.number(arg.name)?.into(),
            _ => args.required_str(arg.name)?.into(),
        };
        fields.insert(field.into(), value);
    }
    let command = serde_json::from_value(Value::Object(fields));
    command
        .map(ToolAction::Run)
        .map_err(|error| wrong(format!("invalid arguments of {}: {error}", tool.name)))
}

pub(super) fn snapshot(args: &ToolArgs) -> Result<ToolAction> {
    if let Some(more) = args.text("more")? {
        return Ok(ToolAction::Continue(more));
    }
    Ok(ToolAction::Snapshot(Box::new(Snapshot {
        delta: args.flag("delta")?,
        find: args.text("find")?.filter(|text| !text.is_empty()),
        root: args.target("root")?,
        budget: args.count("budget")?.filter(|budget| *budget > 0),
        all_refs: args.flag("allRefs")?,
        format: TextFormat::Viewpoint,
        ..Snapshot::default()
    })))
}

pub(super) fn click(args: &ToolArgs) -> Result<ToolAction> {
    let target_args = TargetArgs::at(args.required_target("ref")?);
    let button = args.parse::<Button>("button")?;
    let count = if args.flag("doubleClick")? { 2 } else { 1 };
    let modifiers = args.parse::<Vec<Modifier>>("modifiers")?;
    let after = after(args)?;
    Ok(ToolAction::Run(Command::Click(Click {
        target_args,
        button,
        count,
        modifiers,
        hold_ms: None,
        after,
    })))
}

pub(super) fn after(args: &ToolArgs) -> Result<SettleArgs> {
    let expect = args.text("expect")?.map(|text| text.parse::<Expect>()).transpose();
    Ok(SettleArgs { expect: expect.map_err(wrong)?, ..SettleArgs::default() })
}

pub(super) fn type_text(args: &ToolArgs) -> Result<ToolAction> {
    let target_args = TargetArgs::at(args.required_target("ref")?);
    let (text, secret) = (args.text("text")?, args.text("secret")?);
    if text.is_some() == secret.is_some() {
        return Err(wrong("browser_type needs `text` or `secret`, and not both".into()));
    }
    let text = text.map(|text| browser::SecretString::from(&*text));
    let secret = secret.map(|name| secret_name(&name)).transpose()?;
    let (submit, after) = (args.flag("submit")?, SettleArgs::default());
    let command = match args.flag("slowly")? {
        true => {
            let target_args = Some(target_args);
            let mut typed = Type { target_args, text, secret, submit, after };
            typed.look_up()?;
            Command::Type(typed)
        }
        false => {
            let mut fill = Fill { target_args, value: text, secret, submit, after };
            fill.look_up()?;
            Command::Fill(fill)
        }
    };
    Ok(ToolAction::Run(command))
}

/// Prefix of environment variables that clients may use as secrets.
const SECRET_PREFIX: &str = "AGBROWSE_SECRET_";

/// Resolves a secret's name to a prefixed variable, else to a file.
fn secret_name(name: &str) -> Result<String> {
    let variable = match name.starts_with(SECRET_PREFIX) {
        true => name.to_owned(),
        false => format!("{SECRET_PREFIX}{name}"),
    };
    if std::env::var_os(&variable).is_some() {
        return Ok(variable);
    }
    match std::env::var_os(name) {
        Some(_) => Err(Error::new(Code::SecretNotFound)
            .message(format!("`{name}` is not available to clients: set `{variable}`"))),
        None => Ok(name.to_owned()),
    }
}

pub(super) fn fill_form(args: &ToolArgs) -> Result<ToolAction> {
    let mut fields = Vec::new();
    for row in args.objects("fields")? {
        let target = super::super::args::target(&row.required_str("ref")?)?;
        fields.push(Field {
            target,
            value: browser::SecretString::from(&*row.required_str("value")?),
        });
    }
    Ok(ToolAction::Run(Command::FillForm(FillForm { fields, after: SettleArgs::default() })))
}

pub(super) fn wait_for(args: &ToolArgs) -> Result<ToolAction> {
    let (text, text_gone) = (args.text("text")?, args.text("textGone")?);
    let seconds = args.number("time")?;
    let conditions = usize::from(text.is_some())
        + usize::from(text_gone.is_some())
        + usize::from(seconds.is_some());
    if conditions != 1 {
        return Err(wrong(
            "browser_wait_for needs exactly one of `text`, `textGone`, `time`".into(),
        ));
    }
    match seconds {
        Some(seconds) if seconds > MAX_WAIT_SECONDS => {
            Err(wrong(format!("`time` of browser_wait_for goes up to {MAX_WAIT_SECONDS} seconds")))
        }
        Some(seconds) => Ok(ToolAction::Sleep(Duration::from_secs_f64(seconds))),
        None => Ok(ToolAction::Wait(Wait { text, text_gone, ..Wait::default() })),
    }
}

pub(super) fn tabs(args: &ToolArgs) -> Result<ToolAction> {
    let tab = match (args.page()?, args.count("index")?) {
        (Some(id), _) => Some(TabSelector::Id(id)),
        (None, index) => index.map(|index| TabSelector::At(index as usize)),
    };
    let missing = || wrong("browser_tabs select needs `index` or `page`".into());
    Ok(ToolAction::Tabs(match &*args.required_str("action")? {
        "list" => TabsAction::List,
        "new" => TabsAction::New(None),
        "close" => TabsAction::Close(tab),
        "select" => TabsAction::Select(tab.ok_or_else(missing)?),
        other => {
            return Err(wrong(format!(
                "`action` of browser_tabs must be list, new, close or select, not `{other}`"
            )));
        }
    }))
}

pub(super) fn screenshot(args: &ToolArgs) -> Result<ToolAction> {
    let target = args.target("ref")?;
    let full_page = args.flag("fullPage")?;
    if target.is_some() && full_page {
        return Err(wrong("`fullPage` does not go with `ref`".into()));
    }
    let format = match args.has("type") {
        true => Some(args.parse::<ImageFormat>("type")?),
        false => None,
    };
    let shot = Screenshot { target, full_page, format, ..Screenshot::default() };
    Ok(ToolAction::Screenshot(Box::new(shot), args.text("filename")?))
}

/// Parses a proxy: an object or a URL.
pub(super) fn proxy(args: &ToolArgs) -> Result<Option<Proxy>> {
    let Some(value) = args.value("proxy") else { return Ok(None) };
    let read = match value {
        Value::String(text) => text.parse().ok(),
        other => serde_json::from_value(other.clone()).ok(),
    };
    // The value is not in the message: it may hold a password.
    read.map(Some).ok_or_else(|| {
        wrong("`proxy` must be an object with the texts `server`, `username`, `password`".into())
    })
}

/// Parses a storage state: an object or the path of a file.
pub(super) fn storage_state(args: &ToolArgs) -> Result<Option<LoadStorage>> {
    let object = match args.value("storageState") {
        None => return Ok(None),
        Some(Value::String(text)) if !text.trim_start().starts_with('{') => {
            return Ok(Some(LoadStorage { path: Some(text.into()), state: None }));
        }
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let state = StorageState::parse(object.as_bytes()).map_err(|why| {
        Error::new(Code::StorageInvalid)
            .message(format!("`storageState` is not a saved storage state: {why}"))
    })?;
    Ok(Some(LoadStorage { path: None, state: Some(state) }))
}

pub(super) fn point(args: &ToolArgs, x: &str, y: &str) -> Result<Target> {
    let at = |name: &str| args.number(name).map(Option::unwrap_or_default);
    Ok(Target::Point { x: at(x)?, y: at(y)? })
}
