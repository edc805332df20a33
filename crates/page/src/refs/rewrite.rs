//! Rewriting of refs in generated text.

use std::ops::Range;

/// The ref numbers in a generated text, in order.
pub fn numbers_in(text: &str) -> Vec<u32> {
    ref_positions(text).map(|(_, number)| number).collect()
}

/// Replaces the refs in a generated text by another spelling, where there is one. Quoted text belongs to the
/// page and is unchanged.
pub fn rewrite_refs(text: &str, spell: impl Fn(u32) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (range, number) in ref_positions(text) {
        if let Some(spelled) = spell(number) {
            out.push_str(&text[done..range.start]);
            out.push_str(&spelled);
            done = range.end;
        }
    }
    out.push_str(&text[done..]);
    out
}

/// Positions of the refs outside of quotes. An unclosed quote ends with its line: no generated name spans
/// lines.
fn ref_positions(text: &str) -> impl Iterator<Item = (Range<usize>, u32)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut is_quoted = false;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            match bytes[at] {
                b'\\' if is_quoted => at += 1,
                b'"' => is_quoted = !is_quoted,
                b'\n' => is_quoted = false,
                b'@' if !is_quoted && bytes.get(at + 1) == Some(&b'e') => {
                    let digits = at + 2;
                    let length =
                        bytes[digits..].iter().take_while(|it| it.is_ascii_digit()).count();
                    let end = digits + length;
                    if let Ok(number) = text[digits..end].parse() {
                        let range = at..end;
                        at = end;
                        return Some((range, number));
                    }
                }
                _ => {}
            }
            at += 1;
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_are_rewritten_outside_of_quotes_only() {
        let text = "click button \"Say \\\"@e1\\\" @e2\" [@e3]: changed\n+ link \"[ref=@e4]\" [ref=@e5]\n\"open @e6\n@e7 @e @ex";
        assert_eq!(numbers_in(text), [3, 5, 7]);
        let spelled =
            rewrite_refs(text, |number| (number != 5).then(|| format!("e{}", number * 100)));
        assert_eq!(
            spelled,
            "click button \"Say \\\"@e1\\\" @e2\" [e300]: changed\n+ link \"[ref=@e4]\" [ref=@e5]\n\"open @e6\ne700 @e @ex"
        );
        assert_eq!(numbers_in("@e99999999999999999999"), [0_u32; 0]);
    }
}
