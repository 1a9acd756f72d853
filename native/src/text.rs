//! Texts as Python's `str` treats them: what is white space, and lengths in characters.

use std::borrow::Cow;

/// Says whether `str.isspace` holds of a character.
pub fn is_space(c: char) -> bool {
    matches!(
        c,
        '\t'..='\r'
            | '\x1c'..=' '
            | '\u{85}'
            | '\u{a0}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200a}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202f}'
            | '\u{205f}'
            | '\u{3000}'
    )
}

/// Says the same of markup as serialised, where a carriage return is written as a reference.
pub fn is_space_in_markup(c: char) -> bool {
    c != '\r' && is_space(c)
}

/// Returns the words of a text: `str.split()`.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|word| !word.is_empty())
}

/// Returns `" ".join(text.split())[:most]`.
pub fn collapse(text: &str, most: usize) -> String {
    let mut found = String::with_capacity(text.len().min(4 * most));
    collapse_into(&mut found, text, most);
    found
}

/// Appends that to another text.
pub fn collapse_into(found: &mut String, text: &str, most: usize) {
    let mut left = most;
    for (number, word) in words(text).enumerate() {
        if number > 0 && left > 0 {
            found.push(' ');
            left -= 1;
        }
        let word = prefix(word, left);
        found.push_str(word);
        left -= length(word);
        if left == 0 {
            return;
        }
    }
}

/// Returns the number of characters, in code points.
pub fn length(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.chars().count()
    }
}

/// Returns `text[:most]`.
pub fn prefix(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    match text.char_indices().nth(most) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// Says whether a text is blank as serialised: most of those between tags are.
pub fn is_blank_in_markup(text: &str) -> bool {
    match text.as_bytes().first() {
        Some(b'!'..=b'~') => false,
        _ => text.chars().all(is_space_in_markup),
    }
}

pub fn is_control(c: char) -> bool {
    c < ' ' && !matches!(c, '\t' | '\n' | '\r')
}

/// Returns a text as a serialiser of XML shows it: without control characters.
pub fn without_controls(text: &str) -> Cow<'_, str> {
    if text.contains(is_control) {
        Cow::Owned(text.replace(is_control, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns the value of an attribute as `walk.attributes_of` reads it: with blanks for control characters.
pub fn blanked(value: &str) -> Cow<'_, str> {
    if value.contains(is_control) {
        Cow::Owned(value.replace(is_control, " "))
    } else {
        Cow::Borrowed(value)
    }
}

/// Returns `hash_block`: of the first 32 characters, white space collapsed, of the first 128.
pub fn hash_block(text: &str) -> u64 {
    hash64(&collapse(prefix(text, 4 * PREFIX_CHARS), PREFIX_CHARS))
}

const PREFIX_CHARS: usize = 32; // as `linkscore_scoring.hashing` has it

/// Returns BLAKE2b of a text, 8 bytes, big endian.
pub fn hash64(text: &str) -> u64 {
    use blake2::digest::consts::U8;
    use blake2::{Blake2b, Digest};
    u64::from_be_bytes(Blake2b::<U8>::digest(text.as_bytes()).into())
}

/// Returns class tokens distinct, sorted, joined by a space; of a long attribute those that end before the
/// bound.
pub fn class_tokens(value: &str, most: usize) -> String {
    let mut tokens: Vec<&str> = words(prefix(value, most)).collect();
    let mut around = value.chars().skip(most - 1);
    if let (Some(last), Some(next)) = (around.next(), around.next()) {
        if !is_space(last) && !is_space(next) {
            tokens.pop();
        }
    }
    tokens.sort_unstable();
    tokens.dedup();
    tokens.join(" ")
}
