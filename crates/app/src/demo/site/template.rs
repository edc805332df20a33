//! HTML templates. `{{name}}` in a template is replaced by a value: either text, which is escaped only here, or HTML from
//! this module or our own files.

use std::fmt::{Display, Write};

use axum::response::{IntoResponse, Response};

/// Escaped HTML.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Html(String);

/// Replaces each `{{name}}` in one pass, so placeholders in values are not expanded. Unknown names stay in the page; a test
/// checks that there are none.
pub(super) fn fill(template: &str, values: &[(&str, Html)]) -> Html {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        filled.push_str(before);
        match values.iter().find(|(key, _)| *key == name) {
            Some((_, Html(value))) => filled.push_str(value),
            None => {
                let _ = write!(filled, "{{{{{name}}}}}"); // writing to a String cannot fail
            }
        }
        rest = after;
    }
    filled.push_str(rest);
    Html(filled)
}

/// Escapes untrusted text for element content and quoted attributes.
pub(super) fn text(value: impl Display) -> Html {
    let mut escaped = String::new();
    for character in value.to_string().chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    Html(escaped)
}

/// Wraps trusted HTML: a file of the site or a literal attribute.
pub(super) fn markup(html: &'static str) -> Html {
    Html(html.to_string())
}

/// Returns the trusted HTML if the condition holds, else nothing.
pub(super) fn markup_if(condition: bool, html: &'static str) -> Html {
    if condition { markup(html) } else { Html::default() }
}

impl FromIterator<Html> for Html {
    fn from_iter<I: IntoIterator<Item = Html>>(parts: I) -> Html {
        Html(parts.into_iter().map(|Html(part)| part).collect())
    }
}

impl IntoResponse for Html {
    fn into_response(self) -> Response {
        axum::response::Html(self.0).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Html {
        pub(crate) fn as_str(&self) -> &str {
            &self.0
        }
    }

    #[test]
    fn text_is_escaped() {
        let check = |input: &str, expected: &str| assert_eq!(text(input).as_str(), expected);
        check("plain", "plain");
        check("<b>&", "&lt;b&gt;&amp;");
        check(r#""it's""#, "&quot;it&#39;s&quot;");
    }

    #[test]
    fn placeholders_are_filled_once() {
        let check = |template: &str, expected: &str| {
            let values = [("a", text("{{b}}")), ("b", text("<"))];
            assert_eq!(fill(template, &values).as_str(), expected);
        };
        check("", "");
        check("no slots", "no slots");
        check("{{a}}-{{b}}", "{{b}}-&lt;");
        check("{{unknown}}!", "{{unknown}}!");
        check("{{b", "&lt;");
    }
}
