//! Tags of very many attributes, which the Python reader takes from a page before it is parsed.

use memchr::{memchr, memmem};

/// Elements that hold text, behind whose end tag the search goes on.
const TEXTS: [&[u8]; 8] =
    [b"script", b"style", b"title", b"textarea", b"xmp", b"iframe", b"noembed", b"noframes"];

/// Says whether a tag has so many attributes, as `features.html.without_crowds` counts them.
pub fn has_crowd(markup: &[u8], crowd: usize) -> bool {
    let mut search = Search { markup, at: 0, no_quote_from: [usize::MAX; 2] };
    while let Some(found) = memchr(b'<', &markup[search.at..]) {
        search.at += found + 1;
        if search.rest().starts_with(b"!--") {
            search.skip_comment();
        } else if search.rest().first().is_some_and(u8::is_ascii_alphabetic) {
            let name = search.name();
            if search.attributes() >= crowd {
                return true;
            }
            if TEXTS.contains(&&*name) {
                search.skip_text(&name);
            }
        }
    }
    false
}

struct Search<'a> {
    markup: &'a [u8],
    at: usize,
    /// Where on there is none of `"` and `'` any more.
    no_quote_from: [usize; 2],
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0b' | b'\x0c')
}

impl Search<'_> {
    fn rest(&self) -> &[u8] {
        &self.markup[self.at..]
    }

    fn skip_while(&mut self, goes_on: impl Fn(u8) -> bool) {
        while self.markup.get(self.at).is_some_and(|&byte| goes_on(byte)) {
            self.at += 1;
        }
    }

    fn skip_comment(&mut self) {
        self.at += 3;
        let rest = self.rest();
        if rest.starts_with(b">") || rest.starts_with(b"->") {
            return;
        }
        let mut from = self.at;
        while let Some(found) = memchr(b'-', &self.markup[from..]) {
            from += found + 1;
            let rest = &self.markup[from..];
            if rest.starts_with(b"->") || rest.starts_with(b"-!>") {
                self.at = from;
                return;
            }
        }
        self.at = self.markup.len();
    }

    /// Reads a name up to a blank or `>` or, other than the regular expression, `/`: both come to the same.
    fn name(&mut self) -> Vec<u8> {
        let start = self.at;
        self.skip_while(|byte| !is_blank(byte) && byte != b'/' && byte != b'>');
        self.markup[start..self.at].to_ascii_lowercase()
    }

    fn attributes(&mut self) -> usize {
        let mut n = 0;
        loop {
            let start = self.at;
            self.skip_while(|byte| is_blank(byte) || byte == b'/');
            if self.at == self.markup.len() || self.rest()[0] == b'>' {
                self.at = start;
                return n;
            }
            n += 1;
            self.at += 1;
            self.skip_while(|byte| !is_blank(byte) && !matches!(byte, b'/' | b'>' | b'='));
            self.value();
        }
    }

    fn value(&mut self) {
        let start = self.at;
        self.skip_while(is_blank);
        if self.rest().first() != Some(&b'=') {
            self.at = start;
            return;
        }
        self.at += 1;
        let behind = self.at;
        self.skip_while(is_blank);
        match self.rest().first().copied() {
            Some(quote @ (b'"' | b'\'')) => match self.closing(quote) {
                Some(end) => self.at = end + 1,
                None => self.at = behind,
            },
            Some(b'>') | None => self.at = behind,
            Some(_) => self.skip_while(|byte| !is_blank(byte) && byte != b'>'),
        }
    }

    fn closing(&mut self, quote: u8) -> Option<usize> {
        let none_from = &mut self.no_quote_from[usize::from(quote == b'"')];
        let from = self.at + 1;
        if from >= *none_from {
            return None;
        }
        let found = memchr(quote, &self.markup[from..]);
        if found.is_none() {
            *none_from = from;
        }
        found.map(|found| from + found)
    }

    fn skip_text(&mut self, name: &[u8]) {
        let found = memmem::find_iter(self.rest(), b"</").find(|start| {
            let end = self.rest().get(start + 2..start + 2 + name.len());
            end.is_some_and(|end| end.eq_ignore_ascii_case(name))
        });
        self.at += found.unwrap_or(self.rest().len());
    }
}
