//! The fields of a JSON value against the schema of its type: names the unknown or the ill-typed one.
//!
//! `serde` ignores unknown fields of flattened types and does not say which field of them is ill-typed. This only finds
//! fields; `serde` decides what is accepted.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A field that the schema does not have.
#[derive(Debug, PartialEq)]
pub(super) struct UnknownField<'s> {
    /// Its path, such as `fields[1].vlaue`.
    pub(super) path: String,
    /// Its name.
    pub(super) name: String,
    /// The names that the schema has there.
    pub(super) known: Vec<&'s str>,
}

/// Finds a field of a command that its schema does not have. `path` is the path of the command.
pub(super) fn unknown_field<'s>(
    schema: &'s Value,
    command: &Value,
    path: &str,
) -> Option<UnknownField<'s>> {
    let command = command.as_object()?;
    let branches = branches(schema, command);
    unknown_key(&properties(&branches), command, path)
}

/// Finds a field inside of a value. An object whose schema lists no fields may have any.
fn unknown_inside<'s>(schema: &'s Value, value: &Value, path: &str) -> Option<UnknownField<'s>> {
    match value {
        Value::Array(items) => {
            let choices = ["anyOf", "oneOf"].iter().filter_map(|word| schema.get(word)?.as_array());
            let mut lists = std::iter::once(schema).chain(choices.flatten());
            let schema = lists.find_map(|it| it.get("items"))?;
            let mut items = items.iter().enumerate();
            items.find_map(|(at, item)| unknown_inside(schema, item, &format!("{path}[{at}]")))
        }
        Value::Object(map) => {
            let branches = branches(schema, map);
            let properties = properties(&branches);
            let others = branches.iter().filter_map(|it| it.get("additionalProperties"));
            let is_open = properties.is_empty() || others.into_iter().any(|it| *it != false);
            if is_open { None } else { unknown_key(&properties, map, path) }
        }
        _ => None,
    }
}

fn unknown_key<'s>(
    properties: &BTreeMap<&'s str, &'s Value>,
    map: &Map<String, Value>,
    path: &str,
) -> Option<UnknownField<'s>> {
    map.iter().find_map(|(name, value)| {
        let path = join(path, name);
        match properties.get(&**name) {
            Some(schema) => unknown_inside(schema, value, &path),
            None => {
                let known = properties.keys().copied().collect();
                Some(UnknownField { path, name: name.clone(), known })
            }
        }
    })
}

/// Finds the field whose value has another type than the schema says; returns its path.
pub(super) fn ill_typed_field(schema: &Value, value: &Value, path: &str) -> Option<String> {
    let here = || Some(path.to_owned());
    let map = schema.as_object()?;
    if map.get("const").is_some_and(|only| only != value) {
        return here();
    }
    if let Some(Value::Array(choices)) = map.get("enum")
        && !choices.contains(value)
    {
        return here();
    }
    let types = match map.get("type") {
        Some(Value::String(name)) => vec![&**name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !types.is_empty() && !types.iter().any(|name| is_type(name, value)) {
        return here();
    }
    let number = |name: &str| map.get(name).and_then(Value::as_f64);
    if let Some(it) = value.as_f64()
        && (number("minimum").is_some_and(|least| it < least)
            || number("maximum").is_some_and(|most| it > most))
    {
        return here();
    }
    for word in ["oneOf", "anyOf"] {
        let Some(Value::Array(choices)) = map.get(word) else { continue };
        let faults: Vec<_> =
            choices.iter().map(|choice| ill_typed_field(choice, value, path)).collect();
        if faults.iter().all(Option::is_some) {
            // The choice that was meant has its fault inside; the others have it at the top or in their tag.
            let is_meant = |choice| value.as_object().is_some_and(|it| is_tagged(choice, it));
            let meant = choices.iter().zip(&faults).find(|(choice, _)| is_meant(choice));
            let deepest = || faults.iter().flatten().max_by_key(|path| path.len()).cloned();
            return meant.map_or_else(deepest, |(_, fault)| fault.clone());
        }
    }
    if let Some(Value::Array(all)) = map.get("allOf")
        && let Some(fault) = all.iter().find_map(|part| ill_typed_field(part, value, path))
    {
        return Some(fault);
    }
    match (value, map.get("properties"), map.get("items")) {
        (Value::Object(fields), Some(Value::Object(properties)), _) => {
            fields.iter().find_map(|(name, value)| {
                ill_typed_field(properties.get(name)?, value, &join(path, name))
            })
        }
        (Value::Array(items), _, Some(schema)) => items
            .iter()
            .enumerate()
            .find_map(|(at, item)| ill_typed_field(schema, item, &format!("{path}[{at}]"))),
        _ => None,
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn is_type(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

/// The schema and its parts that apply to a value: of tagged choices, those with the tag of the value.
fn branches<'s>(schema: &'s Value, value: &Map<String, Value>) -> Vec<&'s Map<String, Value>> {
    let Some(map) = schema.as_object() else { return Vec::new() };
    let mut all = vec![map];
    for word in ["allOf", "oneOf", "anyOf"] {
        let Some(Value::Array(choices)) = map.get(word) else { continue };
        let is_meant = |choice: &&Value| word == "allOf" || is_tagged(choice, value);
        let any_is_meant = choices.iter().any(|choice| is_meant(&choice));
        let meant = choices.iter().filter(|choice| !any_is_meant || is_meant(choice));
        all.extend(meant.flat_map(|choice| branches(choice, value)));
    }
    all
}

/// True if a choice has a tag, and the value has the same.
fn is_tagged(choice: &Value, value: &Map<String, Value>) -> bool {
    let properties = choice.get("properties").and_then(Value::as_object);
    let tags =
        || properties.into_iter().flatten().filter_map(|(k, it)| Some((k, it.get("const")?)));
    tags().count() > 0 && tags().all(|(name, tag)| value.get(name) == Some(tag))
}

/// True if a field chooses among the forms of its object, and this value is one of them: `action` of `tab`.
pub(super) fn is_tag(schema: &Value, name: &str, value: &Value) -> bool {
    let forms = schema.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    let mut tags = forms.filter_map(|form| form.get("properties")?.get(name)?.get("const"));
    tags.any(|tag| tag == value)
}

/// The properties of several schemas.
fn properties<'s>(branches: &[&'s Map<String, Value>]) -> BTreeMap<&'s str, &'s Value> {
    let properties = branches.iter().filter_map(|it| it.get("properties")?.as_object());
    properties.flatten().map(|(name, schema)| (&**name, schema)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use browser::Command;

    fn unknown(json: &str) -> Option<String> {
        let value: Value = serde_json::from_str(json).unwrap();
        let schema = Command::schema_of(value["verb"].as_str().unwrap()).unwrap();
        let mut arguments = value.clone();
        arguments.as_object_mut().unwrap().remove("verb");
        unknown_field(&schema, &arguments, "").map(|it| it.path)
    }

    fn ill_typed(json: &str) -> Option<String> {
        let value: Value = serde_json::from_str(json).unwrap();
        let schema = Command::schema_of(value["verb"].as_str().unwrap()).unwrap();
        ill_typed_field(&schema, &value, "")
    }

    #[test]
    fn unknown_field_is_found_at_any_depth() {
        for (json, expected) in [
            (r#"{"verb":"click","target":"@e1","noWait":true}"#, None),
            (r#"{"verb":"click","target":"@e1","nth":2,"noWait":true,"modifiers":["ctrl"]}"#, None),
            (r#"{"verb":"click","target":"@e1","nowait":true}"#, Some("nowait")),
            (r#"{"verb":"tabs","all":true}"#, Some("all")),
            (r#"{"verb":"tab","action":"switch","id":"t1"}"#, None),
            (r#"{"verb":"tab","action":"switch","id":"t1","url":"x"}"#, Some("url")),
            (r#"{"verb":"tab","action":"new","url":"x"}"#, None),
            (r#"{"verb":"dialog","answer":"accept","text":"x"}"#, None),
            (r#"{"verb":"dialog","answer":"dismiss","text":"x"}"#, Some("text")),
            (r#"{"verb":"fill-form","fields":[{"target":"@e1","value":"x"}]}"#, None),
            (
                r#"{"verb":"fill-form","fields":[{"target":"@e1","value":"x"},{"target":"@e1","vlaue":"x"}]}"#,
                Some("fields[1].vlaue"),
            ),
            (r#"{"verb":"batch","commands":[{"verb":"tabs","x":1}]}"#, None),
            // A file of another program may have more than we know.
            (
                r#"{"verb":"storage","action":"load","state":{"cookies":[],"origins":[],"indexedDB":1}}"#,
                None,
            ),
        ] {
            assert_eq!(unknown(json).as_deref(), expected, "{json}");
        }
    }

    #[test]
    fn ill_typed_field_is_found_at_any_depth() {
        for (json, expected) in [
            (r#"{"verb":"click","target":"@e1","noWait":true}"#, None),
            (r#"{"verb":"click","target":"@e1","noWait":"yes"}"#, Some("noWait")),
            (r#"{"verb":"click","target":5}"#, Some("target")),
            (r#"{"verb":"open","url":"x","until":"soon"}"#, Some("until")),
            (r#"{"verb":"screenshot","quality":-1}"#, Some("quality")),
            (r#"{"verb":"tab","action":"switch","id":1}"#, Some("id")),
            (
                r#"{"verb":"storage","action":"load","state":{"cookies":[{"name":5}],"origins":[]}}"#,
                Some("state.cookies[0].name"),
            ),
            (r#"{"verb":"tab","action":"fly"}"#, Some("action")),
            (
                r#"{"verb":"fill-form","fields":[{"target":"@e1","value":5}]}"#,
                Some("fields[0].value"),
            ),
        ] {
            assert_eq!(ill_typed(json).as_deref(), expected, "{json}");
        }
    }
}
