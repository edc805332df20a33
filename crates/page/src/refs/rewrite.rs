//! Refs in texts of ours, written in another way.

use std::ops::Range;

/// The numbers of the refs that a text of ours names, in the order in which they stand there.
pub fn numbers_in(text: &str) -> Vec<u32> {
    places(text).map(|(_, number)| number).collect()
}

/// The text with its refs spelled in another way, where there is one. What is in quotes is a page's and stays.
pub fn rewrite_refs(text: &str, spell: impl Fn(u32) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (place, number) in places(text) {
        if let Some(spelled) = spell(number) {
            out.push_str(&text[done..place.start]);
            out.push_str(&spelled);
            done = place.end;
        }
    }
    out.push_str(&text[done..]);
    out
}

/// Where refs stand outside of quotes. A quote that is not closed ends with its line: no name of ours goes on to
/// the next one.
fn places(text: &str) -> impl Iterator<Item = (Range<usize>, u32)> {
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
                        let place = at..end;
                        at = end;
                        return Some((place, number));
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
    fn refs_are_spelled_anew_but_not_in_what_a_page_says() {
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
