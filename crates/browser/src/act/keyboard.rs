//! Keyboard input: key names, chords, text.

use super::Action;
use super::pointer::Modifier;
use crate::error::{Code, Error, Result};
use cdp::protocol::input::{DispatchKeyEvent, InsertText};

/// A key with its modifiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chord {
    modifiers: Vec<Modifier>,
    key: Key,
}

/// A key, as in keyboard events.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    name: String,
    code: String,
    number: i64,
    /// The text it types.
    text: Option<String>,
    needs_shift: bool,
}

/// Keys that type nothing, or something other than their name: `key`, `code`, key code, text.
const NAMED: &[(&str, &str, i64, Option<&str>)] = &[
    ("Enter", "Enter", 13, Some("\r")),
    ("Tab", "Tab", 9, None),
    ("Escape", "Escape", 27, None),
    ("Backspace", "Backspace", 8, None),
    ("Delete", "Delete", 46, None),
    ("Insert", "Insert", 45, None),
    ("Home", "Home", 36, None),
    ("End", "End", 35, None),
    ("PageUp", "PageUp", 33, None),
    ("PageDown", "PageDown", 34, None),
    ("ArrowLeft", "ArrowLeft", 37, None),
    ("ArrowUp", "ArrowUp", 38, None),
    ("ArrowRight", "ArrowRight", 39, None),
    ("ArrowDown", "ArrowDown", 40, None),
    ("Space", "Space", 32, Some(" ")),
    ("ContextMenu", "ContextMenu", 93, None),
    ("CapsLock", "CapsLock", 20, None),
    ("Shift", "ShiftLeft", 16, None),
    ("Control", "ControlLeft", 17, None),
    ("Alt", "AltLeft", 18, None),
    ("Meta", "MetaLeft", 91, None),
];

/// Aliases of key names.
const ALIASES: &[(&str, &str)] = &[
    ("esc", "Escape"),
    ("return", "Enter"),
    ("del", "Delete"),
    ("ins", "Insert"),
    ("up", "ArrowUp"),
    ("down", "ArrowDown"),
    ("left", "ArrowLeft"),
    ("right", "ArrowRight"),
    ("spacebar", "Space"),
    ("plus", "+"),
];

/// Keys that are neither letters nor digits: without and with shift, `code`, key code.
const SIGNS: &[(char, char, &str, i64)] = &[
    ('-', '_', "Minus", 189),
    ('=', '+', "Equal", 187),
    ('[', '{', "BracketLeft", 219),
    (']', '}', "BracketRight", 221),
    ('\\', '|', "Backslash", 220),
    (';', ':', "Semicolon", 186),
    ('\'', '"', "Quote", 222),
    ('`', '~', "Backquote", 192),
    (',', '<', "Comma", 188),
    ('.', '>', "Period", 190),
    ('/', '?', "Slash", 191),
];

/// Digits with shift.
const SHIFTED_DIGITS: &str = ")!@#$%^&*(";

impl Key {
    fn named(word: &str) -> Option<Self> {
        let mut letters = word.chars();
        if let (Some(letter), None) = (letters.next(), letters.next()) {
            return Self::of(letter);
        }
        let lower = word.to_lowercase();
        let word = ALIASES.iter().find(|(alias, _)| *alias == lower).map_or(word, |(_, key)| *key);
        if word.len() == 1 {
            return word.chars().next().and_then(Self::of);
        }
        let known = NAMED.iter().find(|(name, ..)| name.eq_ignore_ascii_case(word));
        if let Some((name, code, number, text)) = known {
            return Some(Self {
                name: if *name == "Space" { " ".into() } else { (*name).into() },
                code: (*code).into(),
                number: *number,
                text: text.map(str::to_owned),
                needs_shift: false,
            });
        }
        let function: i64 =
            lower.strip_prefix('f')?.parse().ok().filter(|key| (1..=24).contains(key))?;
        let name = format!("F{function}");
        Some(Self {
            code: name.clone(),
            name,
            number: 111 + function,
            text: None,
            needs_shift: false,
        })
    }

    /// The key that types a character on a US keyboard.
    fn of(letter: char) -> Option<Self> {
        let made = |code: String, number: i64, needs_shift: bool| Self {
            name: letter.to_string(),
            code,
            number,
            text: Some(letter.to_string()),
            needs_shift,
        };
        if letter.is_ascii_alphabetic() {
            let upper = letter.to_ascii_uppercase();
            return Some(made(
                format!("Key{upper}"),
                i64::from(u32::from(upper)),
                letter.is_ascii_uppercase(),
            ));
        }
        if letter.is_ascii_digit() {
            return Some(made(format!("Digit{letter}"), i64::from(u32::from(letter)), false));
        }
        if let Some(digit) = SHIFTED_DIGITS.find(letter) {
            return Some(made(format!("Digit{digit}"), 48 + digit as i64, true));
        }
        match letter {
            ' ' => return Self::named("Space"),
            '\n' | '\r' => return Self::named("Enter"),
            '\t' => return Self::named("Tab"),
            _ => {}
        }
        let (plain, _, code, number) =
            SIGNS.iter().find(|(plain, shifted, ..)| *plain == letter || *shifted == letter)?;
        Some(made((*code).to_owned(), *number, *plain != letter))
    }
}

impl Chord {
    /// Parses `Enter`, `Control+A`, `Shift+Tab`, `ctrl+shift+k`, `+`.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let wrong = || {
            Error::new(Code::CommandInvalid).message(format!(
                "`{text}` is not a key: expected a key or chord such as `Enter`, `a`, `Control+A` or `Shift+Tab`"
            ))
        };
        let (held, last) = match text.strip_suffix('+') {
            // The plus key itself.
            Some("") => ("", "+"),
            Some(held) => (held.strip_suffix('+').ok_or_else(wrong)?, "+"),
            None => text.rsplit_once('+').unwrap_or(("", text)),
        };
        let mut modifiers = Vec::new();
        for word in held.split('+').filter(|word| !word.is_empty()) {
            modifiers.push(match &*word.trim().to_lowercase() {
                "ctrl" | "control" => Modifier::Control,
                // One name for both, independent of the platform.
                "controlormeta" | "mod" => Modifier::ControlOrMeta,
                "shift" => Modifier::Shift,
                "alt" | "option" => Modifier::Alt,
                "meta" | "cmd" | "command" | "super" | "win" => Modifier::Meta,
                _ => return Err(wrong()),
            });
        }
        let key = Key::named(last.trim()).or_else(|| Key::named(last)).ok_or_else(wrong)?;
        Ok(Self { modifiers, key })
    }

    /// The key events that press and release the chord.
    fn events(&self) -> Vec<DispatchKeyEvent> {
        let mut events = Vec::new();
        let mut down = 0;
        let modifier = |modifier: Modifier, kind: &str, bits: i64| {
            let word = match modifier {
                Modifier::Alt => "Alt",
                Modifier::ControlOrMeta if cfg!(target_os = "macos") => "Meta",
                Modifier::Control | Modifier::ControlOrMeta => "Control",
                Modifier::Meta => "Meta",
                Modifier::Shift => "Shift",
            };
            let key = Key::named(word).unwrap_or_else(|| unreachable!("modifiers are keys"));
            event(&key, kind, bits, None)
        };
        for held in &self.modifiers {
            down |= held.bit();
            events.push(modifier(*held, "rawKeyDown", down));
        }
        let shift = Modifier::Shift.bit();
        let bits = if self.key.needs_shift { down | shift } else { down };
        // With control, alt or meta, a key is a shortcut and types nothing.
        let types = bits & !shift == 0;
        let mut key = self.key.clone();
        if bits & shift != 0 && key.name.len() == 1 && key.name.is_ascii() {
            key.name = key.name.to_ascii_uppercase();
            key.text = key.text.map(|text| text.to_ascii_uppercase());
        }
        let text = key.text.clone().filter(|_| types);
        let kind = if text.is_some() { "keyDown" } else { "rawKeyDown" };
        let mut pressed = event(&key, kind, bits, text);
        pressed.commands = editing(&self.modifiers, &self.key.code);
        events.push(pressed);
        events.push(event(&key, "keyUp", bits, None));
        for held in self.modifiers.iter().rev() {
            down &= !held.bit();
            events.push(modifier(*held, "keyUp", down));
        }
        events
    }
}

/// The editing command of a chord, where the browser leaves it to the platform.
fn editing(modifiers: &[Modifier], code: &str) -> Option<Vec<String>> {
    let is_order = matches!(modifiers, [Modifier::Control | Modifier::Meta]);
    let word = match code {
        "KeyA" if is_order => "selectAll",
        "KeyC" if is_order => "copy",
        "KeyX" if is_order => "cut",
        "KeyV" if is_order => "paste",
        "KeyZ" if is_order => "undo",
        "KeyY" if is_order => "redo",
        _ => return None,
    };
    Some(vec![word.to_owned()])
}

fn event(key: &Key, kind: &str, modifiers: i64, text: Option<String>) -> DispatchKeyEvent {
    DispatchKeyEvent {
        r#type: kind.into(),
        modifiers: Some(modifiers),
        unmodified_text: text.clone(),
        text,
        code: Some(key.code.clone()),
        key: Some(key.name.clone()),
        windows_virtual_key_code: Some(key.number),
        ..DispatchKeyEvent::default()
    }
}

impl Action<'_> {
    /// Presses chords in sequence.
    pub(crate) async fn press(&mut self, chords: &[Chord]) -> Result<()> {
        let mut sent = Vec::new();
        for event in chords.iter().flat_map(Chord::events) {
            sent.push(self.tab.channel.start(&event).map_err(|error| self.tab.explain(error))?);
        }
        self.await_input_acks(sent).await;
        self.mark_dispatched();
        Ok(())
    }

    /// Types a text key by key; characters without a key are inserted.
    pub(crate) async fn type_keys(&mut self, text: &str) -> Result<()> {
        let explain = |error| self.tab.explain(error);
        let (mut keys, mut inserted) = (Vec::new(), Vec::new());
        for letter in text.replace("\r\n", "\n").chars() {
            match Key::of(letter) {
                Some(key) => {
                    for event in (Chord { modifiers: Vec::new(), key }).events() {
                        keys.push(self.tab.channel.start(&event).map_err(explain)?);
                    }
                }
                None => {
                    let insert = InsertText { text: letter.to_string() };
                    inserted.push(self.tab.channel.start(&insert).map_err(explain)?);
                }
            }
        }
        self.await_input_acks(keys).await;
        self.await_input_acks(inserted).await;
        self.mark_dispatched();
        Ok(())
    }

    /// Inserts a text at once.
    pub(crate) async fn insert(&mut self, text: &str) -> Result<()> {
        let insert = InsertText { text: text.to_owned() };
        let sent = self.tab.channel.start(&insert).map_err(|error| self.tab.explain(error))?;
        self.await_input_acks(vec![sent]).await;
        self.mark_dispatched();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Vec<String> {
        let chord = Chord::parse(text).unwrap();
        let line = |event: DispatchKeyEvent| {
            format!(
                "{} {} {} {}{}",
                event.r#type,
                event.key.unwrap(),
                event.code.unwrap(),
                event.modifiers.unwrap(),
                event.text.map(|text| format!(" {text:?}")).unwrap_or_default()
            )
        };
        chord.events().into_iter().map(line).collect()
    }

    #[test]
    fn chords_press_and_release_in_order() {
        assert_eq!(shape("a"), ["keyDown a KeyA 0 \"a\"", "keyUp a KeyA 0"]);
        assert_eq!(shape("A"), ["keyDown A KeyA 8 \"A\"", "keyUp A KeyA 8"]);
        assert_eq!(shape("Enter"), ["keyDown Enter Enter 0 \"\\r\"", "keyUp Enter Enter 0"]);
        assert_eq!(
            shape("ctrl+k"),
            [
                "rawKeyDown Control ControlLeft 2",
                "rawKeyDown k KeyK 2",
                "keyUp k KeyK 2",
                "keyUp Control ControlLeft 0"
            ]
        );
        assert_eq!(
            shape("Shift+Tab"),
            [
                "rawKeyDown Shift ShiftLeft 8",
                "rawKeyDown Tab Tab 8",
                "keyUp Tab Tab 8",
                "keyUp Shift ShiftLeft 0"
            ]
        );
        assert_eq!(shape("+")[0], "keyDown + Equal 8 \"+\"");
        assert_eq!(shape("ctrl++")[1], "rawKeyDown + Equal 10");
        assert_eq!(shape("F5")[0], "rawKeyDown F5 F5 0");
        assert_eq!(shape("%")[0], "keyDown % Digit5 8 \"%\"");
        assert_eq!(shape("Space")[0], "keyDown   Space 0 \" \"");
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for wrong in ["", "Enterr", "Ctrl+", "Foo+A", "F25", "ü+a"] {
            assert!(Chord::parse(wrong).is_err(), "{wrong}");
        }
    }
}
