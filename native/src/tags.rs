//! What libxml2 2.14 knows of the elements of HTML: which tags end which elements, and what may be inside.

use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// A number for an element name: below the number of `NAMES` one of HTML, above that one of the page.
pub type Tag = u32;

pub const HTML: Tag = 0;
pub const HEAD: Tag = 1;
pub const BODY: Tag = 2;
pub const P: Tag = 3;
pub const SCRIPT: Tag = 4;
pub const STYLE: Tag = 5;
pub const META: Tag = 6;
pub const LINK: Tag = 7;
pub const TITLE: Tag = 8;
pub const BASE: Tag = 9;
pub const NOFRAMES: Tag = 10;
pub const FRAME: Tag = 11;
pub const FRAMESET: Tag = 12;
pub const A: Tag = 13;
pub const AREA: Tag = 14;
pub const IMG: Tag = 15;
pub const NOSCRIPT: Tag = 16;
pub const TEMPLATE: Tag = 17;
pub const IFRAME: Tag = 18;
pub const NOEMBED: Tag = 19;
pub const SVG: Tag = 20;
pub const FOREIGN_OBJECT: Tag = 21;
pub const MATH: Tag = 22;

/// Names of elements; those with a constant above come first, in its order.
const NAMES: &str = "html head body p script style meta link title base noframes frame frameset a area img noscript template \
                     iframe noembed svg foreignobject math abbr acronym address b basefont bdi bdo big blockquote br caption \
                     center cite code col colgroup dd dfn dir div dl dt em fieldset font form h1 h2 h3 h4 h5 h6 hr i input \
                     isindex kbd legend li listing map mark menu ol optgroup option param plaintext pre q s samp small span \
                     strike strong sub sup table tbody td textarea tfoot th thead time tr tt u ul var xmp";

/// Each element, and the start tags that end it when it is the innermost open one.
const ENDED_BY: &[(&str, &str)] = &[
    ("a", "a fieldset table td th"),
    ("address", "dd dl dt form li ul"),
    ("b", "center p td th"),
    ("big", "p"),
    ("caption", "col colgroup tbody tfoot thead tr"),
    ("col", "col colgroup tbody tfoot thead tr"),
    ("colgroup", "colgroup tbody tfoot thead tr"),
    ("dd", "dt"),
    ("dir", "dd dl dt form ul"),
    ("dl", "form li"),
    ("dt", "dd dl"),
    ("font", "center td th"),
    ("form", "form"),
    ("h1", "fieldset form li p table"),
    ("h2", "fieldset form li p table"),
    ("h3", "fieldset form li p table"),
    ("h4", "fieldset form li p table"),
    ("h5", "fieldset form li p table"),
    ("h6", "fieldset form li p table"),
    (
        "head",
        "a abbr acronym address b bdo big blockquote body br center cite code dd dfn dir div dl dt em \
         fieldset font form frameset h1 h2 h3 h4 h5 h6 hr i iframe img kbd li listing map menu ol p pre q s \
         samp small span strike strong sub sup table tt u ul var xmp",
    ),
    ("hr", "form"),
    ("i", "center p td th"),
    ("legend", "fieldset"),
    ("li", "li"),
    ("link", "body frameset"),
    ("listing", "dd dl dt fieldset form li table ul"),
    ("menu", "dd dl dt form ul"),
    ("ol", "form"),
    ("option", "optgroup option"),
    (
        "p",
        "address blockquote body caption center col colgroup dd dir div dl dt fieldset form frameset h1 h2 \
         h3 h4 h5 h6 head hr li listing menu ol p pre table tbody td tfoot th title tr ul xmp",
    ),
    ("pre", "dd dl dt fieldset form li table ul"),
    ("s", "p"),
    ("script", "noscript"),
    ("small", "p"),
    ("span", "td th"),
    ("strike", "p"),
    ("style", "body frameset"),
    ("tbody", "tbody tfoot"),
    ("td", "tbody td tfoot th tr"),
    ("tfoot", "tbody"),
    ("th", "tbody td tfoot th tr"),
    ("thead", "tbody tfoot"),
    ("title", "body frameset"),
    ("tr", "tbody tfoot tr"),
    ("tt", "p"),
    ("u", "p td th"),
    ("ul", "address form menu pre"),
    ("xmp", "dd dl dt fieldset form li table ul"),
];

const EMPTY: &str = "area base basefont br col frame hr img input isindex link meta param";

/// Elements whose text runs on in the line, as `features.walk` has them.
const INLINE: &str = "a abbr b bdi bdo cite code em font i kbd mark q s samp small span strong sub sup time \
                      tt u var";

/// An end tag ends elements up to its own rank on the way to the element it names; 0 if not named here.
const RANKS: &[(&str, u8)] = &[
    ("div", 1),
    ("td", 2),
    ("th", 2),
    ("tr", 3),
    ("thead", 4),
    ("tbody", 4),
    ("tfoot", 4),
    ("table", 5),
    ("head", 6),
    ("body", 6),
    ("html", 7),
];

/// How the content of an element is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    Markup,
    /// References are read, tags are not.
    EscapableText,
    RawText,
    PlainText,
    Script,
}

const CONTENTS: &[(&str, Content)] = &[
    ("iframe", Content::RawText),
    ("noembed", Content::RawText),
    ("noframes", Content::RawText),
    ("plaintext", Content::PlainText),
    ("script", Content::Script),
    ("style", Content::RawText),
    ("textarea", Content::EscapableText),
    ("title", Content::EscapableText),
    ("xmp", Content::RawText),
];

struct Table {
    names: Vec<&'static str>,
    tags: FxHashMap<&'static str, Tag>,
    /// Those of up to 8 bytes, by their bytes: two look-ups an element, so that comparing texts would tell.
    short: FxHashMap<u64, Tag>,
    ended_by: Vec<bool>,
    empty: Vec<bool>,
    inline: Vec<bool>,
    ranks: Vec<u8>,
    contents: Vec<Content>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let names: Vec<_> = NAMES.split_whitespace().collect();
    let tags: FxHashMap<_, _> = names.iter().copied().zip(0..).collect();
    let named = |listed: &'static str| -> Vec<bool> {
        let mut found = vec![false; names.len()];
        listed.split_whitespace().for_each(|name| found[tags[name] as usize] = true);
        found
    };
    let mut ended_by = vec![false; names.len() * names.len()];
    for (old, new) in ENDED_BY {
        for name in new.split_whitespace() {
            ended_by[tags[old] as usize * names.len() + tags[name] as usize] = true;
        }
    }
    let mut ranks = vec![0; names.len()];
    RANKS.iter().for_each(|(name, rank)| ranks[tags[name] as usize] = *rank);
    let mut contents = vec![Content::Markup; names.len()];
    CONTENTS.iter().for_each(|(name, content)| contents[tags[name] as usize] = *content);
    let (empty, inline) = (named(EMPTY), named(INLINE));
    let short = tags.iter().filter_map(|(name, &tag)| Some((packed(name)?, tag))).collect();
    Table { names, short, tags, ended_by, empty, inline, ranks, contents }
});

/// Returns the bytes of a short name as a number; none of them is 0.
fn packed(name: &str) -> Option<u64> {
    (name.len() <= 8).then(|| name.bytes().fold(0, |number, byte| number << 8 | u64::from(byte)))
}

/// The element names of a page.
pub struct Tags {
    table: &'static Table,
    known: FxHashMap<String, Tag>,
    names: Vec<String>,
}

impl Tags {
    pub fn new() -> Self {
        Tags { table: &TABLE, known: FxHashMap::default(), names: Vec::new() }
    }

    /// Returns the number of a name in lower case.
    pub fn tag(&mut self, name: &str) -> Tag {
        let known = match packed(name) {
            Some(short) => self.table.short.get(&short),
            None => self.table.tags.get(name),
        };
        if let Some(&tag) = known {
            return tag;
        }
        if let Some(&tag) = self.known.get(name) {
            return tag;
        }
        let tag = self.len() as Tag;
        self.known.insert(name.to_owned(), tag);
        self.names.push(name.to_owned());
        tag
    }

    pub fn name(&self, tag: Tag) -> &str {
        let known = &self.table.names;
        known.get(tag as usize).copied().unwrap_or_else(|| &self.names[tag as usize - known.len()])
    }

    /// Returns the number of names, those of HTML included.
    pub fn len(&self) -> usize {
        self.table.names.len() + self.names.len()
    }

    pub fn ends(&self, new: Tag, old: Tag) -> bool {
        let (new, old, n) = (new as usize, old as usize, self.table.names.len());
        new < n && old < n && self.table.ended_by[old * n + new]
    }

    pub fn is_empty(&self, tag: Tag) -> bool {
        self.table.empty.get(tag as usize).copied().unwrap_or(false)
    }

    pub fn is_inline(&self, tag: Tag) -> bool {
        self.table.inline.get(tag as usize).copied().unwrap_or(false)
    }

    pub fn rank(&self, tag: Tag) -> u8 {
        self.table.ranks.get(tag as usize).copied().unwrap_or(0)
    }

    pub fn content(&self, tag: Tag) -> Content {
        let contents = &self.table.contents;
        contents.get(tag as usize).copied().unwrap_or(Content::Markup)
    }
}
