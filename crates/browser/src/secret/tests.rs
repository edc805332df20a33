use super::*;
use crate::command::{EvalReply, Json};
use crate::note::Note;
use proptest::prelude::*;
use serde_json::Value;

fn scrubber(secrets: &[&str]) -> SecretScrubber {
    let scrubber = SecretScrubber::default();
    for secret in secrets {
        scrubber.add(&SecretString::from(*secret));
    }
    scrubber
}

fn evaluated(value: &Value) -> Reply {
    let json = serde_json::value::to_raw_value(value).unwrap();
    Reply::Eval(EvalReply {
        r#type: "object".into(),
        value: Some(Json(json)),
        unserializable: Some(value.to_string()),
    })
}

/// True if a secret is in a string, a key or a number of a value.
fn holds(value: &Value, secret: &str) -> bool {
    match value {
        Value::String(text) => text.contains(secret),
        Value::Number(number) => number.to_string().contains(secret),
        Value::Array(all) => all.iter().any(|it| holds(it, secret)),
        Value::Object(fields) => {
            fields.iter().any(|(key, value)| key.contains(secret) || holds(value, secret))
        }
        Value::Null | Value::Bool(_) => false,
    }
}

/// A page's value with its secrets masked.
fn scrubbed(scrubber: &SecretScrubber, value: &Value) -> Value {
    match scrubber.scrub_reply(evaluated(value)).unwrap() {
        Reply::Eval(EvalReply { value: Some(json), .. }) => {
            serde_json::from_str(json.0.get()).unwrap()
        }
        other => panic!("{other:?}"),
    }
}

/// Secrets that are awkward in JSON, that are words of our own replies, or that are numbers.
fn secret() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z\"\\\\]{4,12}",
        "[0-9]{4,8}",
        "\\PC{4,12}",
        "[a-z]{3} [a-z&<>%+]{3,8}\"",
        proptest::sample::select(vec![
            "value", "type", "message", "result", "verb", "eval", "true"
        ])
        .prop_map(str::to_owned),
    ]
    .prop_filter("shorter ones are not kept", |secret| secret.len() >= SHORTEST)
}

/// JSON of a page with the secret somewhere in it.
fn page_json(secret: &str) -> impl Strategy<Value = Value> + use<> {
    let text = ("\\PC{0,6}", "\\PC{0,6}").prop_map({
        let secret = secret.to_owned();
        move |(before, after)| format!("{before}{secret}{after}")
    });
    let number = secret.parse::<u32>().ok().map_or(Value::Null, Value::from);
    let leaf = prop_oneof![
        any::<i64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        text.clone().prop_map(Value::from),
        Just(number),
    ];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(text.clone(), inner, 0..3)
                .prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn secrets_are_masked_in_any_reply(
        (secret, value) in secret().prop_flat_map(|it| (Just(it.clone()), page_json(&it))),
    ) {
        // The mask itself is no secret.
        prop_assume!(!page::text::MASK.contains(&*secret));
        let scrubber = scrubber(&[&secret]);
        prop_assert!(!holds(&scrubbed(&scrubber, &value), &secret));
        let Reply::Eval(plain) = scrubber.scrub_reply(evaluated(&value)).unwrap() else { unreachable!() };
        prop_assert!(!plain.unserializable.unwrap().contains(&*secret));
        let notes = scrubber.scrub(vec![Note::new("cut", format!("it says {secret:?} {secret}"))]).unwrap();
        prop_assert!(!notes[0].message.contains(&*secret));
        let error = Error::new(Code::EvalThrew).message(value.to_string()).evidence("thrown", &*secret);
        let error = scrubber.scrub(error).unwrap();
        prop_assert_eq!(error.code(), Code::EvalThrew);
        prop_assert!(!error.details().message.contains(&*secret));
        let Some(crate::Evidence::Text(thrown)) = error.details().evidence.iter().flatten().map(|it| it.1).next() else {
            unreachable!()
        };
        prop_assert!(!thrown.contains(&*secret));
    }

    #[test]
    fn reply_without_secret_is_unchanged(secret in "[0-9]{6}x", value in page_json("other")) {
        let text = value.to_string();
        prop_assume!(!text.contains(&*secret));
        prop_assert_eq!(scrubbed(&scrubber(&[&secret]), &value), value);
    }
}

#[test]
fn own_numbers_and_field_names_are_not_masked() {
    let scrubber = scrubber(&["1234", "evaluate", "eval.threw", "retryHint"]);
    let error = Error::new(Code::EvalThrew).message("1234 is thrown").evidence("ms", 1234_u32);
    let error = scrubber.scrub(error).unwrap();
    assert_eq!(error.code(), Code::EvalThrew);
    assert_eq!(error.details().message, format!("{} is thrown", page::text::MASK));
    assert!(serde_json::to_string(&error).unwrap().contains("\"ms\":1234"));
}

#[test]
fn every_spelling_of_a_secret_is_masked() {
    let secret = "pa\"ss & <word> 100%";
    let scrubber = scrubber(&[secret, "pa\"s"]);
    for spelling in [
        "pa\"ss & <word> 100%",
        "pa\\\"ss & <word> 100%",
        "pa\\\\\\\"ss & <word> 100%",
        "pa%22ss%20%26%20%3Cword%3E%20100%25",
        "pa%22ss+%26+%3Cword%3E+100%25",
        "pa\"ss &amp; &lt;word&gt; 100%",
        "pa&quot;ss &amp; &lt;word&gt; 100%",
    ] {
        let note = scrubber.scrub(Note::new("cut", format!("<{spelling}>"))).unwrap();
        assert_eq!(note.message, format!("<{}>", page::text::MASK), "{spelling}");
    }
}

#[test]
fn truncated_secret_is_masked() {
    let scrubber = scrubber(&["correct horse battery staple"]);
    let note = scrubber.scrub(Note::new("cut", "it is correct horse ba… and correct…")).unwrap();
    assert_eq!(note.message, format!("it is {}… and correct…", page::text::MASK));
}

#[test]
fn value_that_cannot_be_masked_is_withheld() {
    #[derive(Debug, PartialEq, Eq)]
    struct Id(u32);
    impl Serialize for Id {
        fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
            to.collect_str(&self.0)
        }
    }
    impl<'de> Deserialize<'de> for Id {
        fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
            String::deserialize(from)?.parse().map(Self).map_err(serde::de::Error::custom)
        }
    }
    let withheld = scrubber(&["4711"]).scrub(Id(14711)).unwrap_err();
    assert_eq!(withheld.code(), Code::SecretWithheld);
    assert_eq!(scrubber(&["4711"]).scrub(Id(1)), Ok(Id(1)));
}

#[test]
fn secret_serializes_in_clear_only_inside_in_clear() {
    let secret = SecretString::from("hunter2");
    let clear = |it: &SecretString| serde_json::to_string(&InClear(it)).unwrap();
    assert_eq!(clear(&secret), "\"hunter2\"");
    for text in [serde_json::to_string(&secret).unwrap(), format!("{secret:?}")] {
        assert!(!text.contains("hunter2"), "{text}");
    }
    // Also after a value that cannot be serialized.
    struct Broken;
    impl Serialize for Broken {
        fn serialize<S: Serializer>(&self, _: S) -> std::result::Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("no"))
        }
    }
    assert!(serde_json::to_string(&InClear(&Broken)).is_err());
    assert!(!serde_json::to_string(&secret).unwrap().contains("hunter2"));
}
