//! Character references as libxml2 2.14 reads them, which is as HTML says but for a few details.

use crate::text::is_control;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// The named characters of HTML: name without semicolon to what it stands for, and whether it needs one.
pub struct Entities {
    known: FxHashMap<String, Entity>,
    longest: usize,
}

struct Entity {
    stands_for: String,
    semicolon_optional: bool,
}

impl Entities {
    /// Takes the names that Python knows.
    pub fn of_html(py: Python<'_>) -> PyResult<Self> {
        let names = py.import("html.entities")?.getattr("html5")?;
        let names: FxHashMap<String, String> = names.cast_into::<PyDict>()?.extract()?;
        Ok(Entities::new(names))
    }

    /// Takes the names as `html.entities.html5` has them: with semicolon, and again without if it may miss.
    fn new(names: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut known: FxHashMap<String, Entity> = FxHashMap::default();
        for (name, stands_for) in names {
            let bare = name.strip_suffix(';').unwrap_or(&name).to_owned();
            let semicolon_optional = !name.ends_with(';');
            let entity = known.entry(bare).or_insert(Entity { stands_for, semicolon_optional });
            entity.semicolon_optional |= semicolon_optional;
        }
        let longest = known.keys().map(String::len).max().unwrap_or(0);
        Entities { known, longest }
    }

    /// Returns the value of an attribute as it is meant.
    pub fn decoded<'a>(&self, raw: &'a str) -> Cow<'a, str> {
        if memchr::memchr3(b'&', b'\r', 0, raw.as_bytes()).is_none() {
            return Cow::Borrowed(raw);
        }
        let mut found = String::with_capacity(raw.len());
        self.decode(raw, true, |piece| found.push_str(piece));
        Cow::Owned(found)
    }

    /// Hands over a text piece by piece, with references replaced and line ends as one line feed.
    pub fn decode(&self, text: &str, is_attribute: bool, mut hand: impl FnMut(&str)) {
        let bytes = text.as_bytes();
        let mut done = 0;
        let mut from = 0;
        while let Some(found) = memchr::memchr3(b'&', b'\r', 0, &bytes[from..]) {
            let at = from + found;
            from = at + 1;
            let mut buffer = [0; 4];
            let (instead, end) = match bytes[at] {
                b'&' => match self.reference(&text[at..], is_attribute, &mut buffer) {
                    Some((instead, chars)) => (instead, at + chars),
                    None => continue,
                },
                b'\r' if bytes.get(at + 1) == Some(&b'\n') => ("", at + 1),
                b'\r' => ("\n", at + 1),
                _ => ("\u{fffd}", at + 1),
            };
            if at > done {
                hand(&text[done..at]);
            }
            if !instead.is_empty() {
                hand(instead);
            }
            done = end;
            from = end;
        }
        if done < text.len() {
            hand(&text[done..]);
        }
    }

    /// Reads the reference a text begins with: what it stands for, and how many bytes it takes.
    fn reference<'a>(
        &'a self,
        text: &str,
        is_attribute: bool,
        buffer: &'a mut [u8; 4],
    ) -> Option<(&'a str, usize)> {
        if text.as_bytes().get(1) == Some(&b'#') {
            let (c, chars) = numeric(text.as_bytes())?;
            Some((c.encode_utf8(buffer), chars))
        } else {
            self.named(text.as_bytes(), is_attribute)
        }
    }

    /// The longest name that ends where one may end: at a semicolon, or anywhere if none is needed. In an
    /// attribute, a letter, a digit or an equals sign must not follow where the semicolon misses.
    fn named(&self, text: &[u8], is_attribute: bool) -> Option<(&str, usize)> {
        let run = text[1..].iter().take(self.longest);
        let run = run.take_while(|byte| byte.is_ascii_alphanumeric()).count();
        for chars in (2..=run).rev() {
            let name = std::str::from_utf8(&text[1..=chars]).unwrap_or_default();
            let Some(entity) = self.known.get(name) else {
                continue;
            };
            let next = text.get(chars + 1).copied().unwrap_or(0);
            if next == b';' {
                return Some((&entity.stands_for, chars + 2));
            }
            let goes_on = next.is_ascii_alphanumeric() || next == b'=';
            if entity.semicolon_optional && !(is_attribute && goes_on) {
                return Some((&entity.stands_for, chars + 1));
            }
        }
        None
    }
}

/// Says whether a page has control characters, written as such or by number.
pub fn has_controls(markup: &[u8]) -> bool {
    // Without an end in between, so that many bytes are looked at at once.
    let is_written = markup.iter().fold(false, |found, &byte| found | is_control(byte as char));
    let mut numbers = memchr::memmem::find_iter(markup, b"&#");
    is_written || numbers.any(|at| numeric(&markup[at..]).is_some_and(|(c, _)| is_control(c)))
}

/// Reads `&#38;` or `&#x26;`, with or without semicolon.
fn numeric(text: &[u8]) -> Option<(char, usize)> {
    let hex = text.get(2).is_some_and(|byte| byte | 0x20 == b'x');
    let (radix, digits) = if hex { (16, 3) } else { (10, 2) };
    let mut at = digits;
    let mut code = 0;
    while let Some(digit) = text.get(at).and_then(|&byte| (byte as char).to_digit(radix)) {
        code = (code * radix + digit).min(BEYOND_UNICODE);
        at += 1;
    }
    if at == digits {
        return None;
    }
    let end = at + usize::from(text.get(at) == Some(&b';'));
    Some((character(code), end))
}

const BEYOND_UNICODE: u32 = 0x11_0000;

/// What bytes 80 to 9F mean in windows-1252, which is what references to them mean (WHATWG HTML, 13.2.5.80).
const C1: [char; 32] = [
    '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}', '\u{2c6}',
    '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}', '\u{90}', '\u{2018}',
    '\u{2019}', '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}', '\u{2dc}', '\u{2122}', '\u{161}',
    '\u{203a}', '\u{153}', '\u{9d}', '\u{17e}', '\u{178}',
];

fn character(code: u32) -> char {
    match code {
        0 => '\u{fffd}',
        0x80..=0x9f => C1[code as usize - 0x80],
        _ => char::from_u32(code).unwrap_or('\u{fffd}'),
    }
}
