//! The tree of a page as libxml2 2.14 builds it with `HTMLParser` of lxml, told as a sequence of events.
//!
//! Our own words for what that parser does: tags are read as HTML says, while which elements are implied,
//! ended or ignored follows its older tables (`tags`). Of comments, processing instructions, doctypes and what follows
//! the first root element nothing is told. Each byte is read a bounded number of times.

use crate::entities::Entities;
use crate::tags::{self, Content, Tag, Tags};
use crate::walk::Walk;
use memchr::{memchr, memchr2, memmem};
use std::borrow::Cow;

/// Open elements from which on a page is not read: libxml2 stops at 2,048, and some steps take as long as
/// there are open elements. Chosen, not measured.
const MAX_DEPTH: usize = 500;

/// Bytes of an element name that are kept.
const NAME_BYTES: usize = 100;

/// Reads a page; `Err` says why that was not possible.
pub fn read(markup: &str, entities: &Entities, tags: &mut Tags, walk: &mut Walk) -> Result<(), &'static str> {
    let mut builder = Builder::new(markup, entities, tags, walk);
    builder.content();
    if let Some(reason) = builder.refused {
        return Err(reason);
    }
    while builder.top().is_some() {
        builder.pop();
    }
    Ok(())
}

/// The attributes somebody asks for.
#[derive(Clone, Copy)]
pub enum Attribute {
    Class,
    Href,
    Rel,
    Alt,
    Id,
    Datetime,
    Name,
    Content,
    HttpEquiv,
    Src,
    Title,
    XlinkHref,
    ShadowRootMode,
}

const N_ATTRIBUTES: usize = 13;

/// The attributes of one tag: of several of one name the first counts.
#[derive(Default)]
pub struct Attributes<'a> {
    values: [Option<Cow<'a, str>>; N_ATTRIBUTES],
}

impl<'a> Attributes<'a> {
    /// Returns a value, which is empty if there is none, or None if there is no such attribute.
    pub fn get(&self, name: Attribute) -> Option<&str> {
        self.values[name as usize].as_deref()
    }

    fn clear(&mut self) {
        self.values = Default::default();
    }

    fn set(&mut self, name: Attribute, raw: &'a str, entities: &Entities) {
        let value = &mut self.values[name as usize];
        if value.is_none() {
            *value = Some(entities.decoded(raw));
        }
    }
}

fn asked_for(name: &str) -> Option<Attribute> {
    let (known, found) = match name.len() {
        2 => ("id", Attribute::Id),
        3 if name.as_bytes()[0] | 0x20 == b'r' => ("rel", Attribute::Rel),
        3 if name.as_bytes()[0] | 0x20 == b's' => ("src", Attribute::Src),
        3 => ("alt", Attribute::Alt),
        4 if name.as_bytes()[0] | 0x20 == b'h' => ("href", Attribute::Href),
        4 => ("name", Attribute::Name),
        5 if name.as_bytes()[0] | 0x20 == b'c' => ("class", Attribute::Class),
        5 => ("title", Attribute::Title),
        7 => ("content", Attribute::Content),
        8 => ("datetime", Attribute::Datetime),
        10 if name.as_bytes()[0] | 0x20 == b'h' => ("http-equiv", Attribute::HttpEquiv),
        10 => ("xlink:href", Attribute::XlinkHref),
        14 => ("shadowrootmode", Attribute::ShadowRootMode),
        _ => return None,
    };
    name.eq_ignore_ascii_case(known).then_some(found)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\x0c' | b'\r')
}

struct Builder<'a> {
    markup: &'a str,
    bytes: &'a [u8],
    at: usize,
    entities: &'a Entities,
    tags: &'a mut Tags,
    walk: &'a mut Walk,
    /// Open elements, and how many there are of each name.
    stack: Vec<Tag>,
    open: Vec<u32>,
    content: Content,
    had_head: bool,
    had_body: bool,
    /// Start tags of html, head and body that were ignored: as many of their end tags are.
    ignored: usize,
    is_done: bool,
    /// Why the page is left to the Python reader.
    refused: Option<&'static str>,
    /// Whether it is read what stands in SVG or MathML.
    is_foreign: bool,
    attributes: Attributes<'a>,
}

impl<'a> Builder<'a> {
    fn new(markup: &'a str, entities: &'a Entities, tags: &'a mut Tags, walk: &'a mut Walk) -> Self {
        let markup = markup.strip_prefix('\u{feff}').unwrap_or(markup);
        Builder {
            markup,
            bytes: markup.as_bytes(),
            at: 0,
            entities,
            tags,
            walk,
            stack: Vec::new(),
            open: Vec::new(),
            content: Content::Markup,
            had_head: false,
            had_body: false,
            ignored: 0,
            is_done: false,
            refused: None,
            is_foreign: false,
            attributes: Attributes::default(),
        }
    }

    // The bytes ahead; 0 behind the end.

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    fn skip_blanks(&mut self) {
        while self.bytes.get(self.at).is_some_and(|&byte| is_blank(byte)) {
            self.at += 1;
        }
    }

    /// Goes behind the next `>`.
    fn skip_to_gt(&mut self) {
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        self.at = memchr(b'>', rest).map_or(self.bytes.len(), |found| self.at + found + 1);
    }

    // Open elements.

    fn top(&self) -> Option<Tag> {
        self.stack.last().copied()
    }

    fn is_open(&self, tag: Tag) -> bool {
        self.open.get(tag as usize).is_some_and(|&n| n > 0)
    }

    fn push(&mut self, tag: Tag) {
        self.had_head |= tag == tags::HEAD;
        self.had_body |= tag == tags::BODY;
        if self.open.len() <= tag as usize {
            self.open.resize(self.tags.len(), 0);
        }
        self.open[tag as usize] += 1;
        self.stack.push(tag);
        if self.stack.len() > MAX_DEPTH {
            self.refused = Some("depth");
        }
        self.walk.open(tag, self.tags, &self.attributes);
    }

    fn push_implied(&mut self, tag: Tag) {
        self.attributes.clear();
        self.push(tag);
    }

    fn pop(&mut self) {
        if let Some(tag) = self.stack.pop() {
            self.open[tag as usize] -= 1;
            self.walk.close();
            // What follows the first root element belongs to another one.
            self.is_done |= self.stack.is_empty();
        }
    }

    /// Ends the elements that a start tag ends.
    fn end_before(&mut self, new: Tag) {
        while self.top().is_some_and(|old| self.tags.ends(new, old)) {
            self.pop();
        }
    }

    /// Begins the elements that a start tag implies around itself.
    fn imply_around(&mut self, new: Tag) {
        if new == tags::HTML {
            return;
        }
        if self.stack.is_empty() {
            self.push_implied(tags::HTML);
        }
        let of_head = [tags::SCRIPT, tags::STYLE, tags::META, tags::LINK, tags::TITLE, tags::BASE];
        let of_frames = [tags::NOFRAMES, tags::FRAME, tags::FRAMESET];
        if new == tags::BODY || new == tags::HEAD {
        } else if self.stack.len() <= 1 && of_head.contains(&new) {
            if !self.had_head && !self.had_body {
                self.push_implied(tags::HEAD);
            }
        } else if !of_frames.contains(&new) && !self.had_body && !self.is_open(tags::HEAD) {
            self.push_implied(tags::BODY);
        }
    }

    fn imply_around_text(&mut self) {
        if self.top() == Some(tags::HEAD) {
            self.end_before(tags::P);
        }
        self.imply_around(tags::P);
    }

    // Content.

    fn content(&mut self) {
        while !self.is_at_end() && !self.is_done && self.refused.is_none() {
            if self.content != Content::Markup || self.peek(0) != b'<' {
                self.characters();
                continue;
            }
            match self.peek(1) {
                b'/' => self.end_tag(),
                b'!' => self.declaration(),
                b'?' => self.skip_to_gt(),
                next if next.is_ascii_alphabetic() => self.element(),
                _ => {
                    self.imply_around_text();
                    self.walk.text("<");
                    self.at += 1;
                }
            }
        }
    }

    fn characters(&mut self) {
        let start = self.at;
        let end = match self.content {
            Content::Markup => memchr(b'<', &self.bytes[start..]).map(|found| start + found),
            Content::PlainText => None,
            Content::Script => self.end_of_script(),
            Content::EscapableText | Content::RawText => self.end_of_text(),
        };
        let has_references = matches!(self.content, Content::Markup | Content::EscapableText);
        if end.is_some() {
            self.content = Content::Markup;
        }
        self.at = end.unwrap_or(self.bytes.len());
        let (markup, entities) = (self.markup, self.entities);
        let text = &markup[start..self.at];
        if has_references {
            entities.decode(text, false, |piece| self.text(piece));
        } else if self.top() != Some(tags::SCRIPT) {
            if memchr2(b'\r', 0, text.as_bytes()).is_none() {
                self.text(text); // as nearly all are
            } else {
                self.text(&text.replace('\0', "\u{fffd}").replace("\r\n", "\n").replace('\r', "\n"));
            }
        }
    }

    /// Tells a text; around one in `html` or `head`, blanks aside, there has to be a body.
    fn text(&mut self, text: &str) {
        if !matches!(self.top(), None | Some(tags::HTML | tags::HEAD)) {
            self.walk.text(text);
            return;
        }
        let rest = text.trim_start_matches(|c: char| c.is_ascii() && is_blank(c as u8));
        let blanks = &text[..text.len() - rest.len()];
        if !blanks.is_empty() && self.top().is_some() {
            self.walk.text(blanks);
        }
        if !rest.is_empty() {
            self.imply_around_text();
            self.walk.text(rest);
        }
    }

    /// Finds the end tag of the innermost element.
    fn end_of_text(&self) -> Option<usize> {
        let starts = memmem::find_iter(&self.bytes[self.at..], b"</");
        let mut starts = starts.map(|start| self.at + start);
        starts.find(|start| self.names_top(start + 2))
    }

    /// Says whether the name of the innermost element stands at a place, and ends there.
    fn names_top(&self, at: usize) -> bool {
        let name = self.top().map_or("", |top| self.tags.name(top)).as_bytes();
        let Some(found) = self.bytes.get(at..at + name.len()) else {
            return false;
        };
        let is_same = found.iter().zip(name).all(|(byte, of_name)| byte | 0x20 == *of_name);
        let next = self.bytes.get(at + name.len());
        is_same && next.is_some_and(|&next| next == b'>' || next == b'/' || is_blank(next))
    }

    /// Finds the end tag of a script, which in a comment may hold another one (WHATWG HTML, 13.2.5.18).
    fn end_of_script(&self) -> Option<usize> {
        let (mut is_comment, mut is_nested) = (false, false);
        let mut at = self.at;
        loop {
            let found = if is_comment {
                memchr2(b'<', b'-', &self.bytes[at..])
            } else {
                memchr(b'<', &self.bytes[at..])
            };
            at += found?;
            let rest = &self.bytes[at..];
            if rest.starts_with(b"-->") {
                (is_comment, is_nested) = (false, false);
            } else if !is_comment && rest.starts_with(b"<!--") {
                is_comment = true;
            } else if rest.starts_with(b"</") && self.names_top(at + 2) {
                if !is_nested {
                    return Some(at);
                }
                is_nested = false;
            } else if is_comment && !is_nested && rest[0] == b'<' && self.names_top(at + 1) {
                is_nested = true;
            }
            at += 1;
        }
    }

    /// Skips a comment, a doctype or another declaration.
    fn declaration(&mut self) {
        let rest = &self.bytes[self.at..];
        if rest.len() > 8 && rest[2..9].eq_ignore_ascii_case(b"doctype") {
            self.at += 9;
            self.skip_to_gt();
            return;
        }
        if !rest.starts_with(b"<!--") {
            self.at += 2;
            self.skip_to_gt();
            return;
        }
        self.at += 4;
        if self.peek(0) == b'>' {
            self.at += 1;
        } else if self.peek(0) == b'-' && self.peek(1) == b'>' {
            self.at += 2;
        } else {
            self.at = self.end_of_comment();
        }
    }

    fn end_of_comment(&self) -> usize {
        let mut at = self.at;
        while let Some(found) = memchr(b'-', &self.bytes[at..]) {
            at += found + 1;
            let rest = &self.bytes[at..];
            if rest.starts_with(b"->") {
                return at + 2;
            }
            if rest.starts_with(b"-!>") {
                return at + 3;
            }
        }
        self.bytes.len()
    }

    // Tags.

    fn element(&mut self) {
        let tag = self.start_tag();
        let is_closed = self.peek(0) == b'/' && self.peek(1) == b'>';
        if matches!(tag, tags::SVG | tags::MATH) {
            self.is_foreign = !is_closed;
        }
        let Some(top) = self.top() else { return };
        if is_closed {
            self.at += 2;
            if self.is_foreign || !self.is_never_empty(tag) {
                self.pop();
            } else {
                self.content = self.tags.content(tag);
            }
        } else if self.peek(0) == b'>' {
            self.at += 1;
            if self.tags.is_empty(top) {
                self.pop();
            } else {
                self.content = self.tags.content(top);
            }
        }
    }

    /// Says whether an element is open after `<tag/>`, as browsers have it: its content is no markup, or not read.
    fn is_never_empty(&self, tag: Tag) -> bool {
        matches!(tag, tags::NOSCRIPT | tags::TEMPLATE) || self.tags.content(tag) != Content::Markup
    }

    fn start_tag(&mut self) -> Tag {
        self.at += 1;
        let tag = self.tag_name();
        self.end_before(tag);
        self.imply_around(tag);
        let is_misplaced = match tag {
            tags::HTML => usize::from(!self.stack.is_empty()),
            tags::HEAD => usize::from(self.stack.len() != 1),
            tags::BODY => self.open.get(tag as usize).copied().unwrap_or(0) as usize,
            _ => 0,
        };
        self.ignored += is_misplaced;
        self.read_attributes();
        if !self.is_at_end() && is_misplaced == 0 {
            self.push(tag);
        }
        tag
    }

    fn end_tag(&mut self) {
        self.at += 2;
        if self.is_at_end() {
            self.imply_around_text();
            self.walk.text("</");
            return;
        }
        if self.peek(0) == b'>' {
            self.at += 1;
            return;
        }
        if !self.peek(0).is_ascii_alphabetic() {
            self.skip_to_gt();
            return;
        }
        let tag = self.tag_name();
        self.is_foreign &= !matches!(tag, tags::SVG | tags::MATH);
        self.read_attributes();
        if self.is_at_end() {
            return;
        }
        self.at += if self.peek(0) == b'>' { 1 } else { 2 };
        if self.ignored > 0 && matches!(tag, tags::HTML | tags::BODY | tags::HEAD) {
            self.ignored -= 1;
        } else if self.is_open(tag) && !self.is_shielded(tag) {
            while self.top().is_some_and(|top| top != tag) {
                self.pop();
            }
            self.pop();
        }
    }

    /// Says whether an element of higher rank stands between the end tag and the element it names.
    fn is_shielded(&self, tag: Tag) -> bool {
        let rank = self.tags.rank(tag);
        let inside = self.stack.iter().rev().take_while(|&&open| open != tag);
        inside.into_iter().any(|&open| self.tags.rank(open) > rank)
    }

    /// Reads the name of a tag, which begins with a letter.
    fn tag_name(&mut self) -> Tag {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(|&byte| !matches!(byte, b'/' | b'>') && !is_blank(byte)) {
            self.at += 1;
        }
        let raw = &self.markup[start..self.at];
        if raw.bytes().any(|byte| byte == 0 || byte.is_ascii_uppercase()) || raw.len() > NAME_BYTES {
            let name = kept_name(raw);
            self.tags.tag(&name)
        } else {
            self.tags.tag(raw)
        }
    }

    fn read_attributes(&mut self) {
        self.attributes.clear();
        self.skip_blanks();
        let mut n = 0;
        while !self.is_at_end() && self.peek(0) != b'>' && !(self.peek(0) == b'/' && self.peek(1) == b'>') {
            if self.peek(0) == b'/' {
                self.at += 1;
            } else {
                self.read_attribute();
                n += 1;
            }
            self.skip_blanks();
        }
        if n >= self.walk.bounds.attributes && self.bytes.len() > self.walk.bounds.crowded_bytes {
            self.refused = Some("attributes");
        }
    }

    fn read_attribute(&mut self) {
        let start = self.at;
        self.at += 1;
        let ends = |byte: u8| matches!(byte, b'/' | b'>' | b'=') || is_blank(byte);
        while self.bytes.get(self.at).is_some_and(|&byte| !ends(byte)) {
            self.at += 1;
        }
        let name = asked_for(&self.markup[start..self.at]);
        self.skip_blanks();
        let mut value = "";
        if self.peek(0) == b'=' {
            self.at += 1;
            self.skip_blanks();
            value = self.attribute_value();
        }
        if let Some(name) = name {
            self.attributes.set(name, value, self.entities);
        }
    }

    fn attribute_value(&mut self) -> &'a str {
        let quote = self.peek(0);
        let is_quoted = quote == b'"' || quote == b'\'';
        let start = self.at + usize::from(is_quoted);
        let rest = &self.bytes[start.min(self.bytes.len())..];
        let end = if is_quoted {
            memchr(quote, rest)
        } else {
            rest.iter().position(|&byte| byte == b'>' || is_blank(byte))
        };
        if is_quoted && end.is_none() && self.bytes.len() > self.walk.bounds.crowded_bytes {
            self.refused = Some("attributes"); // the Python reader takes what follows for attributes
        }
        let end = end.map_or(self.bytes.len(), |found| start + found);
        self.at = (end + usize::from(is_quoted)).min(self.bytes.len());
        &self.markup[start.min(end)..end]
    }
}

/// Returns an element name in lower case, without characters that no longer fit.
fn kept_name(raw: &str) -> String {
    let mut name = String::with_capacity(raw.len().min(NAME_BYTES));
    for c in raw.chars() {
        let c = if c == '\0' { '\u{fffd}' } else { c.to_ascii_lowercase() };
        if name.len() + c.len_utf8() <= NAME_BYTES {
            name.push(c);
        }
    }
    name
}
