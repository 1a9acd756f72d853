//! One walk over the elements and texts of a page, as `features.walk.PageWalk` does it over markup.

use crate::html::{Attribute, Attributes};
use crate::outline::{Marks, Outline};
use crate::paths::{Node, PathTree, StepId, Texts};
use crate::tags::{self, Tag, Tags};
use crate::text::{
    blanked, collapse_into, hash_block, is_blank_in_markup, is_space, is_space_in_markup, length, prefix,
    without_controls, words,
};
use pyo3::FromPyObject;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Elements whose content is not looked at.
const SKIPPED: [Tag; 7] =
    [tags::SCRIPT, tags::STYLE, tags::NOSCRIPT, tags::NOFRAMES, tags::NOEMBED, tags::TEMPLATE, tags::HEAD];

/// Elements in which nothing is said of the page itself.
const INERT: [Tag; 3] = [tags::NOSCRIPT, tags::SVG, tags::TEMPLATE];

/// Bounds of what is read of a page; Python has their values and what they mean.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Bounds {
    pub elements: usize,
    pub depth: usize,
    pub links: usize,
    pub path_nodes: usize,
    pub anchor_chars: usize,
    pub path_chars: usize,
    pub name_chars: usize,
    pub class_chars: usize,
    pub rel_chars: usize,
    pub alt_chars: usize,
    pub block_chars: usize,
    pub link_paths: usize,
    pub link_paths_chars: usize,
    pub link_path_chars: usize,
    pub other_link_path: String,
    pub attributes: usize,
    pub crowded_bytes: usize,
    pub remembered: usize,
}

/// What a walk collects, in document order. One walk reads page after page, and remembers what they share.
pub struct Walk {
    pub bounds: Arc<Bounds>,
    pub paths: PathTree,
    pub head: Head,
    pub anchors: Vec<Anchor>,
    pub rels: Texts,
    pub block_hashes: Vec<u64>,
    pub block_chars: Vec<usize>,
    pub text_chars: usize,
    pub is_begun: bool,
    pub is_cut: bool,
    /// What is where, if a layout is asked for.
    pub outline: Option<Outline>,
    /// Why the page cannot be read here.
    pub refused: Option<&'static str>,
    /// The hrefs and alternative texts of anchors and images, one after the other.
    values: String,
    anchor_text: String,
    text: String,
    node: Node,
    open_anchors: Vec<Node>,
    /// An element that began and holds nothing yet.
    pending: Option<Element>,
    /// Open elements within one that is skipped, itself included.
    skipping: usize,
    /// The same within one that is inert.
    inert: usize,
    /// Open elements, and how many there were when SVG began (true) or HTML in it (false).
    depth: usize,
    svg: Vec<(bool, usize)>,
    is_title: bool,
    had_body: bool,
    n_tags: usize,
    has_controls: bool,
    rels_as_written: FxHashMap<String, u32>,
}

/// `<base href>`, `<link rel=canonical>`, `<meta http-equiv=refresh>`, `<title>`, and whether searches shall not list the page.
#[derive(Default)]
pub struct Head {
    pub base: Option<String>,
    pub canonical: String,
    pub noindex: bool,
    pub refresh: String,
    pub title: Option<String>,
}

/// A part of `Walk::values`.
type Span = Range<usize>;

pub struct Anchor {
    pub node: Node,
    pub rel: u32,
    pub blocks_before: usize,
    href: Span,
    text_start: usize,
    alt: Span,
    image_alt: Span,
}

struct Element {
    step: StepId,
    leaf: Leaf,
    marks: Marks,
    /// A frame in the text, of which the text inside is not displayed.
    is_iframe: bool,
}

enum Leaf {
    No,
    Image { alt: Span },
    Link { href: Span, rel: u32, alt: Span, is_leaf: bool },
}

impl Leaf {
    fn is_link(&self) -> bool {
        matches!(self, Leaf::Link { .. })
    }
}

impl Walk {
    pub fn new(bounds: Arc<Bounds>) -> Self {
        Walk {
            paths: PathTree::new(&bounds),
            bounds,
            head: Head::default(),
            anchors: Vec::new(),
            rels: Texts::default(),
            block_hashes: Vec::new(),
            block_chars: Vec::new(),
            text_chars: 0,
            is_begun: false,
            is_cut: false,
            outline: None,
            refused: None,
            values: String::new(),
            anchor_text: String::new(),
            text: String::new(),
            node: 0,
            open_anchors: Vec::new(),
            pending: None,
            skipping: 0,
            inert: 0,
            depth: 0,
            svg: Vec::new(),
            is_title: false,
            had_body: false,
            n_tags: 0,
            has_controls: false,
            rels_as_written: FxHashMap::default(),
        }
    }

    /// Begins a page, which may have control characters or has none; with an outline if a layout is asked for.
    pub fn begin(&mut self, has_controls: bool, layout: bool) {
        self.paths.begin();
        self.head = Head::default();
        self.anchors.clear();
        self.block_hashes.clear();
        self.block_chars.clear();
        self.values.clear();
        self.anchor_text.clear();
        self.text.clear();
        self.open_anchors.clear();
        (self.text_chars, self.n_tags, self.skipping) = (0, 0, 0);
        (self.is_begun, self.is_cut, self.refused) = (false, false, None);
        (self.inert, self.depth, self.is_title, self.had_body) = (0, 0, false, false);
        self.svg.clear();
        self.outline = layout.then(Outline::new);
        (self.node, self.pending, self.has_controls) = (0, None, has_controls);
    }

    /// Returns how much it remembers from page to page.
    pub fn entries(&self) -> usize {
        let rels = self.rels.entries() + self.rels_as_written.len();
        self.paths.entries() + rels
    }

    pub fn href(&self, anchor: &Anchor) -> &str {
        &self.values[anchor.href.clone()]
    }

    /// Appends the text of each anchor, white space collapsed: its texts, else `alt` of its first image; and
    /// where it ends.
    pub fn anchor_texts(&self, texts: &mut String, ends: &mut Vec<usize>) {
        let most = self.bounds.anchor_chars;
        for (number, anchor) in self.anchors.iter().enumerate() {
            let end = self.anchors.get(number + 1).map_or(self.anchor_text.len(), |next| next.text_start);
            let before = texts.len();
            collapse_into(texts, &self.anchor_text[anchor.text_start..end], most);
            if texts.len() == before {
                let alt = if anchor.image_alt.is_empty() { &anchor.alt } else { &anchor.image_alt };
                texts.push_str(prefix(&self.values[alt.clone()], most));
            }
            ends.push(texts.len());
        }
    }

    /// Keeps a value; it is the last one.
    fn keep(&mut self, value: &str) -> Span {
        let start = self.values.len();
        self.values.push_str(value);
        start..self.values.len()
    }

    fn keep_alt(&mut self, attributes: &Attributes, name: Attribute) -> Span {
        let most = self.bounds.alt_chars;
        let alt = self.blanked(attributes.get(name).unwrap_or(""));
        let start = self.values.len();
        collapse_into(&mut self.values, prefix(&alt, most), most);
        start..self.values.len()
    }

    fn without_controls<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.has_controls {
            without_controls(text)
        } else {
            Cow::Borrowed(text)
        }
    }

    fn blanked<'a>(&self, value: &'a str) -> Cow<'a, str> {
        if self.has_controls {
            blanked(value)
        } else {
            Cow::Borrowed(value)
        }
    }

    /// Counts a tag, after the text before it; says whether it is still to be looked at.
    fn meets_tag(&mut self) -> bool {
        self.take_text();
        self.n_tags += 1;
        // Pieces of markup, of which every tag is two: tag and text behind it.
        self.is_cut |= self.n_tags >= 2 * self.bounds.elements;
        !self.is_cut
    }

    /// Begins the pending element, which is not empty.
    fn enter(&mut self) {
        let Some(element) = self.pending.take() else { return };
        if !self.meets_tag() {
            return;
        }
        if let Some(outline) = &mut self.outline {
            outline.enter(element.step, &self.paths.steps, element.leaf.is_link(), element.marks);
        }
        let node = self.paths.below(self.node, element.step);
        if element.leaf.is_link() {
            self.add_leaf(node, element.leaf);
            self.open_anchors.push(node);
        }
        self.node = node;
    }

    fn add_empty(&mut self, element: Element) {
        if !self.meets_tag() {
            return;
        }
        if let Some(outline) = &mut self.outline {
            outline.add_empty(element.step, &self.paths.steps, element.leaf.is_link(), element.marks);
        }
        if let Leaf::No = element.leaf {
            if !self.open_anchors.is_empty() {
                self.anchor_text.push(' ');
            }
        } else {
            let node = self.paths.below(self.node, element.step);
            self.add_leaf(node, element.leaf);
        }
    }

    fn leave(&mut self) {
        if !self.meets_tag() {
            return;
        }
        if let Some(outline) = &mut self.outline {
            outline.leave();
        }
        if self.open_anchors.last() == Some(&self.node) {
            self.open_anchors.pop();
        }
        self.node = self.paths.parent(self.node);
    }

    fn add_leaf(&mut self, node: Node, leaf: Leaf) {
        match leaf {
            Leaf::No => {}
            Leaf::Image { alt } => {
                self.paths.display(node, false);
                let anchor = self.anchors.last_mut().filter(|_| !self.open_anchors.is_empty());
                if let Some(anchor) = anchor.filter(|anchor| anchor.image_alt.is_empty()) {
                    anchor.image_alt = alt;
                }
            }
            Leaf::Link { href, rel, alt, is_leaf } => {
                if is_leaf {
                    self.paths.display(node, false);
                }
                self.anchors.push(Anchor {
                    node,
                    href,
                    rel,
                    blocks_before: self.block_hashes.len(),
                    text_start: self.anchor_text.len(),
                    alt,
                    image_alt: 0..0,
                });
            }
        }
    }

    /// Takes in the text before a tag.
    fn take_text(&mut self) {
        if self.text.is_empty() {
            return;
        }
        let text = std::mem::take(&mut self.text);
        if !self.is_cut {
            self.add_text(&self.without_controls(&text));
        }
        self.text = text;
        self.text.clear();
    }

    fn add_text(&mut self, text: &str) {
        let is_blank = is_blank_in_markup(text);
        if !is_blank {
            self.paths.display(self.node, true);
            if let Some(outline) = &mut self.outline {
                outline.add_text(text, &self.paths.steps);
            }
        }
        if !self.open_anchors.is_empty() {
            self.add_anchor_text(if is_blank { " " } else { text }, is_blank);
        } else if !is_blank {
            self.add_plain_text(text.trim_matches(is_space_in_markup));
        }
    }

    fn add_anchor_text(&mut self, text: &str, is_blank: bool) {
        let runs_on = is_blank || self.paths.steps.is_inline(self.paths.step(self.node));
        let gap = if runs_on { "" } else { " " };
        self.anchor_text.extend([gap, text, gap]);
    }

    fn add_plain_text(&mut self, text: &str) {
        let chars = length(text);
        self.text_chars += chars;
        if chars >= self.bounds.block_chars {
            self.block_chars.push(chars);
            self.block_hashes.push(hash_block(text));
        }
    }

    fn element(&mut self, tag: Tag, tags: &mut Tags, attributes: &Attributes) -> Element {
        let classes = self.blanked(attributes.get(Attribute::Class).unwrap_or(""));
        let step = self.paths.steps.step(tag, &classes, tags);
        let leaf = match (tag, self.target(tag, attributes)) {
            (tags::IMG, _) => Leaf::Image { alt: self.keep_alt(attributes, Attribute::Alt) },
            (_, None) => Leaf::No,
            (tags::FRAME | tags::IFRAME, Some(src)) => Leaf::Link {
                rel: self.rel(""),
                alt: self.keep_alt(attributes, Attribute::Title),
                is_leaf: false,
                href: self.keep(&self.blanked(src)),
            },
            (_, Some(href)) => Leaf::Link {
                rel: self.rel(attributes.get(Attribute::Rel).unwrap_or("")),
                alt: if tag == tags::AREA { self.keep_alt(attributes, Attribute::Alt) } else { 0..0 },
                is_leaf: tag == tags::A,
                href: self.keep(&self.blanked(href)),
            },
        };
        let marks = if self.outline.is_some() { Marks::of(attributes) } else { Marks::default() };
        Element { step, leaf, marks, is_iframe: tag == tags::IFRAME }
    }

    /// Returns where an element leads, None if it is no link.
    fn target<'a>(&self, tag: Tag, attributes: &'a Attributes) -> Option<&'a str> {
        match tag {
            tags::A => attributes.get(Attribute::Href).or_else(|| {
                let is_svg = self.svg.last().is_some_and(|&(is_svg, _)| is_svg);
                attributes.get(Attribute::XlinkHref).filter(|_| is_svg)
            }),
            tags::AREA => attributes.get(Attribute::Href),
            tags::FRAME if self.had_body => None, // browsers ignore a frameset in a body
            tags::FRAME | tags::IFRAME => attributes.get(Attribute::Src),
            _ => None,
        }
    }

    fn rel(&mut self, value: &str) -> u32 {
        if value.is_empty() {
            return self.rels.number("");
        }
        if let Some(&known) = self.rels_as_written.get(value) {
            return known;
        }
        if !value.is_ascii() {
            // Lower case of other letters depends on the version of Unicode.
            self.refused = Some("rel");
        }
        let short = prefix(value, self.bounds.rel_chars);
        let tokens = blanked(short).to_ascii_lowercase();
        let number = self.rels.number(&words(&tokens).collect::<Vec<_>>().join(" "));
        if short.len() == value.len() && value.is_ascii() {
            self.rels_as_written.insert(value.to_owned(), number);
        }
        number
    }

    fn read_head(&mut self, tag: Tag, attributes: &Attributes) {
        let get = |name| attributes.get(name).unwrap_or("");
        let head = &mut self.head;
        if tag == tags::BASE && head.base.is_none() {
            head.base = attributes.get(Attribute::Href).map(str::to_owned);
        } else if tag == tags::LINK && head.canonical.is_empty() {
            if words(get(Attribute::Rel)).any(|token| token.eq_ignore_ascii_case("canonical")) {
                head.canonical = get(Attribute::Href).to_owned();
            }
        } else if tag == tags::TITLE && head.title.is_none() {
            head.title = Some(String::new());
            self.is_title = true;
        } else if tag == tags::META {
            if get(Attribute::Name).trim_matches(is_space).eq_ignore_ascii_case("robots") {
                let content = get(Attribute::Content).replace(',', " ");
                let forbids =
                    |word: &str| word.eq_ignore_ascii_case("noindex") || word.eq_ignore_ascii_case("none");
                head.noindex |= words(&content).any(forbids);
            }
            if head.refresh.is_empty() && get(Attribute::HttpEquiv).eq_ignore_ascii_case("refresh") {
                head.refresh = get(Attribute::Content).to_owned();
            }
        }
    }

    /// Counts an element that begins; says whether what it and others hold is displayed.
    fn is_skipped(&mut self, tag: Tag, attributes: &Attributes) -> bool {
        self.depth += 1;
        if matches!(tag, tags::SVG | tags::FOREIGN_OBJECT) {
            self.svg.push((tag == tags::SVG, self.depth));
        }
        if self.inert > 0 || INERT.contains(&tag) {
            self.inert += 1;
        }
        self.skipping > 0 || (SKIPPED.contains(&tag) && !is_shadow_root(tag, attributes))
    }

    // What the parser tells.

    pub fn open(&mut self, tag: Tag, tags: &mut Tags, attributes: &Attributes<'_>) {
        self.is_begun = true;
        self.had_body |= tag == tags::BODY;
        if self.inert == 0 && matches!(tag, tags::BASE | tags::LINK | tags::META | tags::TITLE) {
            self.read_head(tag, attributes);
        }
        if self.is_skipped(tag, attributes) {
            self.skipping += 1;
        } else if !self.is_cut {
            self.enter();
            self.pending = Some(self.element(tag, tags, attributes));
        }
    }

    pub fn text(&mut self, text: &str) {
        if self.is_title {
            self.head.title.get_or_insert_default().push_str(text);
        }
        let is_shown = self.skipping == 0 && !self.pending.as_ref().is_some_and(|element| element.is_iframe);
        if is_shown && !self.is_cut && !text.is_empty() {
            self.enter();
            self.text.push_str(text);
        }
    }

    pub fn close(&mut self) {
        self.is_title = false;
        self.inert = self.inert.saturating_sub(1);
        if self.svg.last().is_some_and(|&(_, depth)| depth == self.depth) {
            self.svg.pop();
        }
        self.depth -= 1;
        if self.skipping > 0 {
            self.skipping -= 1;
        } else if let Some(element) = self.pending.take() {
            self.add_empty(element);
        } else {
            self.leave();
        }
    }
}

/// Says whether a template is displayed (WHATWG HTML, 4.12.3).
fn is_shadow_root(tag: Tag, attributes: &Attributes) -> bool {
    let is_mode = |mode: &str| mode.eq_ignore_ascii_case("open") || mode.eq_ignore_ascii_case("closed");
    tag == tags::TEMPLATE && attributes.get(Attribute::ShadowRootMode).is_some_and(is_mode)
}
