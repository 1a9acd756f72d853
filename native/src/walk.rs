//! One walk over the elements and texts of a page, as `features.walk.PageWalk` does it over markup.
#![forbid(unsafe_code)]

use crate::bounds::Bounds;
use crate::html::{Attribute, Attributes, Sink};
use crate::paths::{Node, PathTree, StepId, Texts};
use crate::tags::{self, Tag, Tags};
use crate::text::{
    collapse, hash_block, is_space, is_space_in_markup, length, prefix, without_controls, words,
};
use std::sync::Arc;

/// Elements whose content is not looked at.
const SKIPPED: [Tag; 5] = [tags::SCRIPT, tags::STYLE, tags::NOSCRIPT, tags::TEMPLATE, tags::HEAD];

/// Links there is room for at once: stored pages have 39 to 134 in the mean.
const USUAL_LINKS: usize = 128;

/// What a walk collects, in document order.
pub struct Walk {
    pub bounds: Arc<Bounds>,
    pub paths: PathTree,
    pub head: Head,
    pub anchors: Vec<Anchor>,
    pub rels: Texts,
    pub block_hashes: Vec<u64>,
    pub block_chars: Vec<usize>,
    pub text_chars: usize,
    pub anchor_chars: usize,
    pub is_begun: bool,
    pub is_cut: bool,
    /// Why the page cannot be read here.
    pub refused: Option<&'static str>,
    anchor_text: String,
    text: String,
    node: Node,
    open_anchors: Vec<Node>,
    /// An element that began and holds nothing yet.
    pending: Option<Element>,
    /// Open elements within one that is skipped, itself included.
    skipping: usize,
    n_tags: usize,
}

/// `<base href>`, `<link rel=canonical>`, and whether robots are told nofollow.
#[derive(Default)]
pub struct Head {
    pub base: String,
    pub canonical: String,
    pub nofollow: bool,
}

pub struct Anchor {
    pub node: Node,
    pub href: String,
    pub rel: u32,
    pub blocks_before: usize,
    text_start: usize,
    alt: String,
    image_alt: String,
}

struct Element {
    step: StepId,
    leaf: Leaf,
}

enum Leaf {
    No,
    Image { alt: String },
    Link { href: String, rel: u32, alt: String, is_leaf: bool },
}

impl Walk {
    pub fn new(bounds: Arc<Bounds>) -> Self {
        Walk {
            paths: PathTree::new(&bounds),
            bounds,

            head: Head::default(),
            anchors: Vec::with_capacity(USUAL_LINKS),
            rels: Texts::default(),
            block_hashes: Vec::new(),
            block_chars: Vec::new(),
            text_chars: 0,
            anchor_chars: 0,
            is_begun: false,
            is_cut: false,
            refused: None,
            anchor_text: String::with_capacity(32 * USUAL_LINKS),
            text: String::new(),
            node: 0,
            open_anchors: Vec::new(),
            pending: None,
            skipping: 0,
            n_tags: 0,
        }
    }

    /// Returns the text of each anchor, white space collapsed: its texts, else `alt` of its first image.
    pub fn anchor_texts(&self) -> Vec<String> {
        let starts = self.anchors.iter().map(|anchor| anchor.text_start);
        let ends = starts.clone().skip(1).chain([self.anchor_text.len()]);
        let texts = starts.zip(ends).map(|(start, end)| &self.anchor_text[start..end]);
        let most = self.bounds.anchor_chars;
        let named = texts.zip(&self.anchors).map(|(text, anchor)| {
            let text = collapse(text, most);
            let alt = if anchor.image_alt.is_empty() { &anchor.alt } else { &anchor.image_alt };
            if text.is_empty() {
                prefix(alt, most).to_owned()
            } else {
                text
            }
        });
        named.collect()
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
        let node = self.paths.below(self.node, element.step);
        if let Leaf::Link { .. } = element.leaf {
            self.add_leaf(node, element.leaf);
            self.open_anchors.push(node);
        }
        self.node = node;
    }

    fn add_empty(&mut self, element: Element) {
        if !self.meets_tag() {
            return;
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
        if self.open_anchors.last() == Some(&self.node) {
            self.open_anchors.pop();
        }
        self.node = self.paths.parent(self.node);
    }

    fn add_leaf(&mut self, node: Node, leaf: Leaf) {
        match leaf {
            Leaf::No => {}
            Leaf::Image { alt } => {
                self.paths.leaves[node as usize] += 1;
                let anchor = self.anchors.last_mut().filter(|_| !self.open_anchors.is_empty());
                if let Some(anchor) = anchor.filter(|anchor| anchor.image_alt.is_empty()) {
                    anchor.image_alt = alt;
                }
            }
            Leaf::Link { href, rel, alt, is_leaf } => {
                self.paths.leaves[node as usize] += u32::from(is_leaf);
                self.anchors.push(Anchor {
                    node,
                    href,
                    rel,
                    blocks_before: self.block_hashes.len(),
                    text_start: self.anchor_text.len(),
                    alt,
                    image_alt: String::new(),
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
            self.add_text(&without_controls(&text));
        }
        self.text = text;
        self.text.clear();
    }

    fn add_text(&mut self, text: &str) {
        let is_blank = text.chars().all(is_space_in_markup);
        if !is_blank {
            self.paths.texts[self.node as usize] += 1;
        }
        if !self.open_anchors.is_empty() {
            self.add_anchor_text(if is_blank { " " } else { text }, is_blank);
        } else if !is_blank {
            self.add_plain_text(text.trim_matches(is_space_in_markup));
        }
    }

    fn add_anchor_text(&mut self, text: &str, is_blank: bool) {
        self.anchor_chars += length(text.trim_matches(is_space));
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
        let classes = attributes.get(Attribute::Class).unwrap_or("");
        let step = self.paths.steps.step(tag, &without_controls(classes), tags);
        let alt = |most| {
            let alt = without_controls(attributes.get(Attribute::Alt).unwrap_or(""));
            collapse(prefix(&alt, most), most)
        };
        let leaf = match (tag, attributes.get(Attribute::Href)) {
            (tags::IMG, _) => Leaf::Image { alt: alt(self.bounds.alt_chars) },
            (tags::A | tags::AREA, Some(href)) => Leaf::Link {
                href: without_controls(href).into_owned(),
                rel: self.rel(attributes.get(Attribute::Rel).unwrap_or("")),
                alt: if tag == tags::AREA { alt(self.bounds.alt_chars) } else { String::new() },
                is_leaf: tag == tags::A,
            },
            _ => Leaf::No,
        };
        Element { step, leaf }
    }

    fn rel(&mut self, value: &str) -> u32 {
        if value.is_empty() {
            return self.rels.number("");
        }
        if !value.is_ascii() {
            // Lower case of other letters depends on the version of Unicode.
            self.refused = Some("rel");
        }
        let value = without_controls(prefix(value, self.bounds.rel_chars)).to_ascii_lowercase();
        let tokens: Vec<&str> = words(&value).collect();
        self.rels.number(&tokens.join(" "))
    }

    fn read_head(&mut self, tag: Tag, attributes: &Attributes) {
        let get = |name| attributes.get(name).unwrap_or("");
        let head = &mut self.head;
        if tag == tags::BASE && head.base.is_empty() {
            head.base = get(Attribute::Href).to_owned();
        } else if tag == tags::LINK && head.canonical.is_empty() {
            if words(get(Attribute::Rel)).any(|token| token.eq_ignore_ascii_case("canonical")) {
                head.canonical = get(Attribute::Href).to_owned();
            }
        } else if tag == tags::META
            && get(Attribute::Name).trim_matches(is_space).eq_ignore_ascii_case("robots")
        {
            let content = get(Attribute::Content).replace(',', " ");
            let forbids =
                |word: &str| word.eq_ignore_ascii_case("nofollow") || word.eq_ignore_ascii_case("none");
            head.nofollow |= words(&content).any(forbids);
        }
    }
}

impl Sink for Walk {
    fn open(&mut self, tag: Tag, tags: &mut Tags, attributes: &Attributes) {
        self.is_begun = true;
        if matches!(tag, tags::BASE | tags::LINK | tags::META) {
            self.read_head(tag, attributes);
        }
        if self.skipping > 0 || SKIPPED.contains(&tag) {
            self.skipping += 1;
        } else if !self.is_cut {
            self.enter();
            self.pending = Some(self.element(tag, tags, attributes));
        }
    }

    fn text(&mut self, text: &str) {
        if self.skipping == 0 && !self.is_cut && !text.is_empty() {
            self.enter();
            self.text.push_str(text);
        }
    }

    fn close(&mut self) {
        if self.skipping > 0 {
            self.skipping -= 1;
        } else if let Some(element) = self.pending.take() {
            self.add_empty(element);
        } else {
            self.leave();
        }
    }
}
