//! What the lab's metrics look at on a page: where its links start from, what names it, and its long texts, as
//! `linkscore_lab.datasets.survey.read_page` takes them from lxml's tree of the page's bytes.
//!
//! That tree is another one than that of the features: bytes are read as the page declares, comments stand
//! between texts, what follows the first root counts, and nothing is bounded but what libxml2 bounds.

use crate::entities::Entities;
use crate::html::{self, Attribute, Attributes, Sink};
use crate::tags::{self, Tag, Tags};
use crate::text::{is_space, length, words};
use blake2::digest::consts::U12;
use blake2::{Blake2b, Digest};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

/// Open elements and bytes from which on a page is left to lxml: libxml2 stops at 256 open elements, and at texts of
/// ten million bytes, of which a NUL makes three (`XML_MAX_TEXT_LENGTH`, `nodePush`).
const MAX_DEPTH: usize = 250;
const MAX_BYTES: usize = 3_000_000;

/// Elements whose texts are not looked at.
const WITHOUT: [Tag; 3] = [tags::A, tags::SCRIPT, tags::STYLE];

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Reads facts of pages; any number of threads may use one.
#[pyclass(frozen)]
pub struct FactReader {
    entities: Entities,
    long_chars: usize,
}

type Found<'py> = (Option<String>, Option<String>, Bound<'py, PyTuple>);

#[pymethods]
impl FactReader {
    /// Texts are long from `long_chars` characters on.
    #[new]
    fn new(py: Python<'_>, long_chars: usize) -> PyResult<Self> {
        Ok(FactReader { entities: Entities::of_html(py)?, long_chars })
    }

    /// Returns the addresses of the first `base` and the first canonical link that have one, and digest and
    /// characters of each long text; None of a page that lxml has to read.
    fn read<'py>(&self, body: &Bound<'py, PyBytes>) -> PyResult<Option<Found<'py>>> {
        let py = body.py();
        let bytes = body.as_bytes();
        let Some(facts) = py.detach(|| self.facts(bytes)) else { return Ok(None) };
        let blocks = facts.blocks.iter().map(|(digest, chars)| (PyBytes::new(py, digest), chars));
        let blocks = blocks.map(|block| block.into_pyobject(py)).collect::<PyResult<Vec<_>>>()?;
        Ok(Some((facts.base, facts.canonical, PyTuple::new(py, blocks)?)))
    }
}

impl FactReader {
    fn facts(&self, bytes: &[u8]) -> Option<Facts> {
        if bytes.len() > MAX_BYTES || bytes.iter().take(4).any(|&byte| byte == 0) {
            return None;
        }
        let markup = std::str::from_utf8(bytes).ok()?;
        let mut facts = Facts::new(self.long_chars, markup);
        html::read(markup, &self.entities, &mut Tags::new(), &mut facts).ok()?;
        facts.is_told_as_read().then_some(facts)
    }
}

struct Facts {
    long_chars: usize,
    base: Option<String>,
    canonical: Option<String>,
    blocks: Vec<([u8; 12], usize)>,
    /// A text, until something other than text follows.
    text: String,
    depth: usize,
    /// Open elements within one whose texts are not looked at, itself included.
    skipping: usize,
    /// Where the first letter stands that is not ASCII, or the end.
    first_wide: usize,
    is_all_ascii: bool,
    encoding: Encoding,
    is_too_deep: bool,
}

/// What libxml2 knows of the encoding: it takes the first declaration, until then it reads ASCII.
#[derive(PartialEq)]
enum Encoding {
    Unknown,
    Utf8,
    /// Another one, or one that it may take otherwise.
    Other,
}

impl Facts {
    fn new(long_chars: usize, markup: &str) -> Self {
        let is_all_ascii = markup.is_ascii();
        let wide = if is_all_ascii { None } else { markup.bytes().position(|byte| !byte.is_ascii()) };
        let is_marked = markup.starts_with(BYTE_ORDER_MARK) && markup.len() > BYTE_ORDER_MARK.len();
        // What begins like XML it takes for UTF-8 (`htmlParseDocument`).
        let is_known = is_marked || markup.starts_with("<?xm");
        Facts {
            long_chars,
            base: None,
            canonical: None,
            blocks: Vec::new(),
            text: String::new(),
            depth: 0,
            skipping: 0,
            first_wide: wide.unwrap_or(markup.len()),
            is_all_ascii,
            encoding: if is_known { Encoding::Utf8 } else { Encoding::Unknown },
            is_too_deep: false,
        }
    }

    /// Says whether libxml2 builds the tree that was told.
    fn is_told_as_read(&self) -> bool {
        let is_utf8 = match self.encoding {
            Encoding::Unknown => self.is_all_ascii,
            Encoding::Utf8 => true,
            Encoding::Other => false,
        };
        is_utf8 && !self.is_too_deep
    }

    fn end_text(&mut self) {
        // As many bytes as characters, at least.
        if self.text.len() >= self.long_chars {
            let text = self.text.trim_matches(is_space);
            let chars = length(text);
            if chars >= self.long_chars {
                self.blocks.push((Blake2b::<U12>::digest(text.as_bytes()).into(), chars));
            }
        }
        self.text.clear();
    }
}

impl Sink for Facts {
    const READS_ON: bool = true;

    fn open(&mut self, tag: Tag, _: &mut Tags, attributes: &Attributes<'_>) {
        self.end_text();
        self.depth += 1;
        self.is_too_deep |= self.depth > MAX_DEPTH;
        if self.skipping > 0 || WITHOUT.contains(&tag) {
            self.skipping += 1;
        }
        let Some(href) = attributes.get(Attribute::Href) else { return };
        if tag == tags::BASE && self.base.is_none() {
            self.base = Some(href.to_owned());
        } else if tag == tags::LINK && self.canonical.is_none() {
            let rel = attributes.get(Attribute::Rel).unwrap_or("");
            self.canonical = words(rel).any(|token| token == "canonical").then(|| href.to_owned());
        }
    }

    fn text(&mut self, text: &str) {
        if self.skipping == 0 {
            self.text.push_str(text);
        }
    }

    fn close(&mut self) {
        self.end_text();
        self.depth -= 1;
        self.skipping = self.skipping.saturating_sub(1);
    }

    fn comment(&mut self) {
        self.end_text();
    }

    fn meta(&mut self, attributes: &Attributes<'_>, end: usize) {
        if self.encoding != Encoding::Unknown {
            return;
        }
        if let Some(is_utf8) = declares_utf8(attributes) {
            let is_in_time = end <= self.first_wide;
            self.encoding = if is_utf8 && is_in_time { Encoding::Utf8 } else { Encoding::Other };
        }
    }
}

/// Says whether what `<meta>` declares is UTF-8, for sure; None if it declares nothing (`htmlCheckMeta`).
fn declares_utf8(attributes: &Attributes<'_>) -> Option<bool> {
    let is_utf8 = |name: &str| name.eq_ignore_ascii_case("utf-8") || name.eq_ignore_ascii_case("utf8");
    if let Some(name) = attributes.get(Attribute::Charset) {
        return Some(is_utf8(name));
    }
    if !attributes.get(Attribute::HttpEquiv)?.eq_ignore_ascii_case("content-type") {
        return None;
    }
    let content = attributes.get(Attribute::Content)?.to_ascii_lowercase();
    let (_, declared) = content.split_once("charset")?;
    Some(declared.strip_prefix('=').is_some_and(is_utf8))
}
