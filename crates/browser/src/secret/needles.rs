//! Search patterns of secrets: their spellings, and masking in texts.

use super::SecretString;
use page::text::MASK;
use serde_json::Value;
use std::borrow::Cow;
use std::cell::Cell;

/// Shortest prefix of a secret that is masked in a truncated text.
const SHORTEST_CUT: usize = 8;

/// All spellings in which secrets may come back from a page, longest first: a secret may be part of another.
pub(super) struct Needles {
    spellings: Vec<String>,
    /// Something was masked.
    pub(super) is_found: Cell<bool>,
}

impl Needles {
    pub(super) fn new(secrets: &[SecretString]) -> Self {
        let mut spellings: Vec<String> =
            secrets.iter().flat_map(|secret| spellings(secret.reveal())).collect();
        spellings.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        spellings.dedup();
        Self { spellings, is_found: Cell::new(false) }
    }

    /// Masks the secrets in a text.
    pub(super) fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut text = Cow::Borrowed(text);
        for spelling in &self.spellings {
            if text.contains(&**spelling) {
                self.is_found.set(true);
                text = Cow::Owned(text.replace(&**spelling, MASK));
            }
        }
        for spelling in self.spellings.iter().filter(|it| it.len() > SHORTEST_CUT) {
            if let Some(masked) = mask_cut(&text, spelling) {
                self.is_found.set(true);
                text = Cow::Owned(masked);
            }
        }
        text
    }

    /// Masks the secrets in JSON of a page; `None` if there are none.
    ///
    /// # Errors
    /// When it is not JSON.
    pub(super) fn mask_json(&self, json: &str) -> serde_json::Result<Option<String>> {
        let mut value: Value = serde_json::from_str(json)?;
        let was_found = self.is_found.replace(false);
        self.mask_value(&mut value);
        let is_found = self.is_found.get();
        self.is_found.set(was_found || is_found);
        Ok(is_found.then(|| value.to_string()))
    }

    fn mask_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(masked) = self.mask(text) {
                    *text = masked;
                }
            }
            // A number on the page may be a typed secret.
            Value::Number(number) => {
                if let Cow::Owned(masked) = self.mask(&number.to_string()) {
                    *value = Value::String(masked);
                }
            }
            Value::Array(all) => all.iter_mut().for_each(|it| self.mask_value(it)),
            Value::Object(fields) => {
                for (key, mut value) in std::mem::take(fields) {
                    self.mask_value(&mut value);
                    fields.insert(self.mask(&key).into_owned(), value);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

/// Masks the prefix of a secret before `…` in a truncated text; `None` if there is none.
fn mask_cut(text: &str, secret: &str) -> Option<String> {
    let begins = |end: usize| {
        let mut lengths = secret.char_indices().map(|(at, _)| at).rev();
        lengths.find(|at| *at >= SHORTEST_CUT && text[..end].ends_with(&secret[..*at]))
    };
    let ends: Vec<usize> = text.match_indices('…').map(|(end, _)| end).collect();
    let (mut masked, mut unmasked) = (None, text.len());
    // Backwards: earlier positions stay valid.
    for end in ends.into_iter().rev() {
        if let Some(length) = begins(end).filter(|_| end <= unmasked) {
            unmasked = end - length;
            masked.get_or_insert_with(|| text.to_owned()).replace_range(unmasked..end, MASK);
        }
    }
    masked
}

/// A secret as typed, and as written in JSON, in nested quotes, in URLs, in HTML, and with collapsed white space.
fn spellings(secret: &str) -> Vec<String> {
    let escaped = |text: &str| {
        let mut quoted = String::new();
        page::text::quote(&mut quoted, text);
        quoted[1..quoted.len() - 1].to_owned()
    };
    let encoded = |kept: &[u8], space: &str| -> String {
        secret
            .bytes()
            .map(|byte| match byte {
                b' ' => space.to_owned(),
                byte if byte.is_ascii_alphanumeric() || kept.contains(&byte) => {
                    char::from(byte).to_string()
                }
                byte => format!("%{byte:02X}"),
            })
            .collect()
    };
    let html = secret.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let once = escaped(secret);
    let mut all = vec![
        escaped(&once),
        once,
        html.replace('"', "&quot;"),
        html,
        encoded(b"-_.!~*'()", "%20"),
        encoded(b"-_.*", "+"),
        encoded(b"-_.~", "%20"),
        page::text::collapse(secret).trim().to_owned(),
        secret.trim().to_owned(),
        secret.to_owned(),
    ];
    all.retain(|spelling| spelling.len() >= super::SHORTEST);
    all
}
