//! `GET /api/openapi.json`: the OpenAPI description, made from the types of verbs, replies and errors.

use super::command::RequestOptions;
use super::reply;
use super::status::http_status;
use crate::VERSION;
use crate::output::{ErrorEnvelope, ReplyEnvelope};
use axum::http::StatusCode;
use axum::response::Response;
use browser::{Code, Command};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Where OpenAPI has its schemas.
const SCHEMAS: &str = "/components/schemas";

/// Serves the description.
pub(super) async fn get() -> Response {
    reply::json(StatusCode::OK, document().to_string())
}

fn document() -> Value {
    let command = json!({
        "summary": "Run a command",
        "description": "Runs a command in the session's browser. When the connection is closed before the reply, the \
                        command is cancelled.",
        "operationId": "runCommand",
        "requestBody": {
            "required": true,
            "content": {
                "application/json": {
                    "schema": reference("Command"),
                    "examples": {
                        "open": { "value": { "verb": "open", "url": "https://example.com" } },
                        "click": { "value": { "verb": "click", "target": "@e3", "timeoutMs": 5000 } },
                    },
                },
            },
        },
        "responses": command_responses(),
    });
    let description = json!({
        "summary": "This description",
        "operationId": "getOpenapi",
        "responses": {
            "200": response("The OpenAPI description", &json!({ "type": "object" })),
            "default": error_response("The request is refused"),
        },
    });
    let health = json!({
        "summary": "Check that the server runs",
        "description": "Needs no token. Does not start a browser.",
        "operationId": "getHealth",
        "security": [],
        "responses": {
            "200": response("The server runs", &reference("Health")),
            "default": error_response("The request is refused"),
        },
    });
    let filter =
        |name: &str, schema: Value| json!({ "name": name, "in": "query", "schema": schema });
    let capabilities = json!({
        "summary": "List the capabilities of chat apps",
        "description": "What is implemented, planned or refused, from a fixed catalogue. Needs no browser.",
        "operationId": "listWebAiCapabilities",
        "parameters": [
            filter("vendor", json!({ "type": "string" })),
            filter("family", reference("CapabilityFamily")),
            filter("frontendStatus", reference("FrontendStatus")),
        ],
        "responses": {
            "200": response("The rows", &reference("Catalogue")),
            "400": error_response("A filter has an unknown value"),
            "default": error_response("The request is refused"),
        },
    });
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "agbrowse",
            "version": VERSION,
            "description": "The verbs of agbrowse over HTTP. Replies and errors are those of `--json` on the command line.",
        },
        "servers": [{ "url": "/" }],
        "security": [{ "token": [] }],
        "paths": {
            "/api/command": { "post": command },
            "/api/browser/web-ai/capabilities": { "get": capabilities },
            "/api/openapi.json": { "get": description },
            "/healthz": { "get": health },
        },
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": schemas(),
        },
    })
}

/// The responses to a command: the reply, and each status of an error with its codes.
fn command_responses() -> Map<String, Value> {
    let mut codes: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    for code in Code::ALL {
        codes.entry(http_status(*code).as_u16()).or_default().push(code.as_str());
    }
    let errors = codes.into_iter().map(|(status, codes)| {
        (status.to_string(), error_response(&format!("`{}`", codes.join("`, `"))))
    });
    let refusals = [
        ("401", "The token is missing"),
        ("415", "The body has another media type than `application/json`"),
        ("default", "The request is refused"),
    ];
    let refusals = refusals.map(|(status, why)| (status.to_owned(), error_response(why)));
    let done = response("The command is done", &reference("ReplyEnvelope"));
    std::iter::once(("200".to_owned(), done)).chain(errors).chain(refusals).collect()
}

fn response(description: &str, schema: &Value) -> Value {
    json!({ "description": description, "content": { "application/json": { "schema": schema } } })
}

fn error_response(description: &str) -> Value {
    response(description, &reference("ErrorEnvelope"))
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#{SCHEMAS}/{name}") })
}

/// All schemas: a command per verb, their union, and the envelopes with the types of their replies.
fn schemas() -> Map<String, Value> {
    // Optional are fields of a request that may be left out, and fields of a reply that may be missing.
    let mut replies = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = SCHEMAS.into())
        .for_serialize()
        .into_generator();
    replies.subschema_for::<ReplyEnvelope<'_>>();
    replies.subschema_for::<ErrorEnvelope<'_>>();
    replies.subschema_for::<webai::Catalogue>();
    let mut all = replies.take_definitions(true);

    let mut choices = Vec::new();
    let mut mapping = Map::new();
    for verb in Command::NAMES {
        let name = component_name(verb);
        choices.push(reference(&name));
        mapping.insert((*verb).to_owned(), format!("#{SCHEMAS}/{name}").into());
        all.insert(name, command_schema(verb));
    }
    let command = json!({
        "description": "A command: a verb with its arguments, and the options of its request.",
        "oneOf": choices,
        "discriminator": { "propertyName": "verb", "mapping": mapping },
    });
    all.insert("Command".into(), command);
    let health = json!({
        "type": "object",
        "properties": {
            "ok": { "const": true },
            "version": { "type": "string" },
            "session": { "type": "string" },
        },
        "required": ["ok", "version", "session"],
    });
    all.insert("Health".into(), health);
    all
}

/// The name of a verb's schema: `fill-form` is `FillFormCommand`.
fn component_name(verb: &str) -> String {
    let words = verb.split('-').map(|word| word[..1].to_uppercase() + &word[1..]);
    words.collect::<String>() + "Command"
}

/// The schema of a body with this verb.
fn command_schema(verb: &str) -> Value {
    let mut schema = Command::schema_of(verb).unwrap_or_default();
    let options = schemars::schema_for!(RequestOptions).to_value();
    let Some(map) = schema.as_object_mut() else { return schema };
    map.remove("$schema");
    map.remove("title");
    if let Value::Object(properties) = map.entry("properties").or_insert_with(|| json!({})) {
        properties.insert("verb".into(), json!({ "const": verb }));
        let options = options.get("properties").and_then(Value::as_object);
        let options = options.into_iter().flatten();
        properties.extend(options.map(|(name, schema)| (name.clone(), schema.clone())));
    }
    if let Value::Array(required) = map.entry("required").or_insert_with(|| json!([])) {
        required.insert(0, "verb".into());
    }
    map.insert("unevaluatedProperties".into(), false.into());
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All references of a value.
    fn references(value: &Value) -> Vec<&str> {
        match value {
            Value::Object(map) => map
                .iter()
                .flat_map(|(name, value)| match (&**name, value) {
                    ("$ref", Value::String(to)) => vec![&**to],
                    ("mapping", Value::Object(all)) => {
                        all.values().filter_map(Value::as_str).collect()
                    }
                    _ => references(value),
                })
                .collect(),
            Value::Array(all) => all.iter().flat_map(references).collect(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn references_lead_to_schemas() {
        let document = document();
        let all = references(&document);
        assert!(all.len() > 100, "{}", all.len());
        for to in all {
            let pointer = to.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{to}");
        }
    }

    #[test]
    fn every_verb_has_a_schema_with_its_help() {
        let schemas = schemas();
        for verb in Command::NAMES {
            let schema = &schemas[&component_name(verb)];
            assert_eq!(schema["properties"]["verb"]["const"], *verb);
            assert_eq!(schema["required"][0], "verb", "{schema}");
            let help = schema["description"].as_str().unwrap_or_default();
            assert!(help.ends_with('.'), "`{verb}`: {help:?}");
        }
        let click = &schemas["ClickCommand"]["properties"];
        assert!(click["noWait"]["description"].is_string(), "{click}");
        assert_eq!(click["timeoutMs"]["minimum"], 1, "{click}");
    }
}
