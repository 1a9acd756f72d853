//! The reader of pages, compiled: UTF-8 of a page to the columns that `linkscore_scoring.features` makes of it.
//!
//! The Python reader is the specification, and for every page this one gives what that one gives, or says
//! why it cannot. Python's lock is not held while a page is read.

mod bounds;
mod crowds;
mod entities;
mod html;
mod link_table;
mod paths;
mod tags;
mod text;
mod tokens;
mod url_table;
mod urls;
mod walk;

use bounds::Bounds;
use entities::Entities;
use link_table::LinkTable;
use paths::{Apaths, Trie};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use url_table::{Answer, UrlTable};
use walk::Walk;

/// Reads pages within bounds; any number of threads may use one.
#[pyclass(frozen)]
struct Reader {
    bounds: Arc<Bounds>,
    entities: Entities,
    crowd: usize,
    crowded_bytes: usize,
}

#[pymethods]
impl Reader {
    #[new]
    fn new(py: Python<'_>, bounds: &Bound<'_, PyDict>) -> PyResult<Self> {
        let get = |name: &str| bounds.as_any().get_item(name);
        let number = |name: &str| -> PyResult<usize> { get(name)?.extract() };
        let names = py.import("html.entities")?.getattr("html5")?;
        let names: FxHashMap<String, String> = names.cast_into::<PyDict>()?.extract()?;
        Ok(Reader {
            bounds: Arc::new(Bounds {
                elements: number("elements")?,
                depth: number("depth")?,
                links: number("links")?,
                path_nodes: number("path_nodes")?,
                anchor_chars: number("anchor_chars")?,
                path_chars: number("path_chars")?,
                name_chars: number("name_chars")?,
                class_chars: number("class_chars")?,
                rel_chars: number("rel_chars")?,
                alt_chars: number("alt_chars")?,
                block_chars: number("block_chars")?,
                apaths: number("apaths")?,
                apaths_chars: number("apaths_chars")?,
                apath_chars: number("apath_chars")?,
                links_chars: number("links_chars")?,
                other_apath: get("other_apath")?.extract()?,
            }),
            entities: Entities::new(names),
            crowd: number("attributes")?,
            crowded_bytes: number("crowded_bytes")?,
        })
    }

    /// Returns what valid UTF-8 holds as a `Page`, or the reason why it cannot be read here.
    fn read<'py>(&self, markup: &Bound<'py, PyBytes>) -> PyResult<Bound<'py, PyAny>> {
        let py = markup.py();
        let bytes = markup.as_bytes();
        match py.detach(|| self.walk(bytes)) {
            Ok(page) => Ok(Bound::new(py, page)?.into_any()),
            Err(reason) => Ok(PyString::new(py, reason).into_any()),
        }
    }
}

impl Reader {
    fn walk(&self, bytes: &[u8]) -> Result<Page, &'static str> {
        let markup = std::str::from_utf8(bytes).map_err(|_| "encoding")?;
        if bytes.len() > self.crowded_bytes && crowds::has_crowd(bytes, self.crowd) {
            return Err("attributes");
        }
        let mut walk = Walk::new(self.bounds.clone());
        html::read(markup, &self.entities, &mut tags::Tags::new(), &mut walk)?;
        match walk.refused {
            Some(reason) => Err(reason),
            None => Ok(Page::new(walk)),
        }
    }
}

/// What a page holds; its links once their targets are known.
#[pyclass(frozen)]
struct Page {
    walk: Walk,
    trie: Trie,
    anchor_texts: Vec<String>,
    /// The first anchor of each distinct href, and the number of its href for each anchor.
    firsts: Vec<usize>,
    targets: Vec<usize>,
}

impl Page {
    fn new(walk: Walk) -> Self {
        let mut known: FxHashMap<&str, usize> = FxHashMap::default();
        let (mut firsts, mut targets) = (Vec::new(), Vec::new());
        for (number, anchor) in walk.anchors.iter().take(walk.bounds.links).enumerate() {
            let target = *known.entry(&anchor.href).or_insert(firsts.len());
            if target == firsts.len() {
                firsts.push(number);
            }
            targets.push(target);
        }
        Page { trie: walk.paths.trie(&walk.bounds), anchor_texts: walk.anchor_texts(), walk, firsts, targets }
    }
}

type Columns<'py> = (Bound<'py, PyList>, Bound<'py, PyList>, Bound<'py, PyList>, Bound<'py, PyList>);

#[pymethods]
impl Page {
    /// Whether there is no element at all.
    #[getter]
    fn is_empty(&self) -> bool {
        !self.walk.is_begun
    }

    #[getter]
    fn elements_cut(&self) -> bool {
        self.walk.is_cut
    }

    #[getter]
    fn base(&self) -> &str {
        self.walk.head.base.trim_matches(text::is_space)
    }

    #[getter]
    fn canonical(&self) -> &str {
        self.walk.head.canonical.trim_matches(text::is_space)
    }

    #[getter]
    fn nofollow(&self) -> bool {
        self.walk.head.nofollow
    }

    #[getter]
    fn text_chars(&self) -> usize {
        self.walk.text_chars
    }

    #[getter]
    fn anchor_chars(&self) -> usize {
        self.walk.anchor_chars
    }

    #[getter]
    fn block_hashes(&self) -> Vec<u64> {
        self.walk.block_hashes.clone()
    }

    #[getter]
    fn block_chars(&self) -> Vec<usize> {
        self.walk.block_chars.clone()
    }

    #[getter]
    fn depth_cut(&self) -> bool {
        self.trie.is_depth_cut
    }

    #[getter]
    fn paths_cut(&self) -> bool {
        self.trie.is_cut
    }

    /// Parents, tags, classes and leaves of the tag paths.
    fn paths<'py>(&self, py: Python<'py>) -> PyResult<Columns<'py>> {
        let (names, classes) = self.walk.paths.texts_of_steps();
        let (names, classes) = (strings(py, names), strings(py, classes));
        Ok((
            PyList::new(py, &self.trie.parents)?,
            PyList::new(py, self.trie.tags.iter().map(|&tag| &names[tag as usize]))?,
            PyList::new(py, self.trie.classes.iter().map(|&class| &classes[class as usize]))?,
            PyList::new(py, &self.trie.leaves)?,
        ))
    }

    /// The rows of the links as a dictionary of columns; `urls` remembers what hrefs lead to, and `resolver`,
    /// the `UrlResolver` of the page, is asked of those that it cannot tell.
    fn links<'py>(
        &self,
        urls: &Bound<'py, UrlTable>,
        resolver: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = resolver.py();
        let hrefs: Vec<&str> = self.firsts.iter().map(|&first| &self.walk.anchors[first].href[..]).collect();
        let answers = urls.get().answers(&hrefs, resolver)?;
        let mut apaths = Apaths::new(&self.walk.paths, &self.walk.bounds);
        let rels = strings(py, &self.walk.rels.texts);
        let rows = Rows {
            urls: PyList::empty(py),
            keys: PyList::empty(py),
            anchors: PyList::empty(py),
            rels: PyList::empty(py),
        };
        let skipped = PyDict::new(py);
        let (mut rows_of_apaths, mut blocks, mut chars) = (Vec::new(), Vec::new(), 0);
        for (number, &target) in self.targets.iter().enumerate() {
            let anchor = &self.walk.anchors[number];
            match &answers[target] {
                Answer::No(reason) => {
                    let n: usize = skipped.get_item(reason)?.map_or(Ok(0), |n| n.extract())?;
                    skipped.set_item(reason, n + 1)?;
                }
                Answer::Leads { url, key, chars: more } => {
                    chars += more;
                    if chars > self.walk.bounds.links_chars {
                        break;
                    }
                    rows.urls.append(url)?;
                    rows.keys.append(key)?;
                    rows.anchors.append(&self.anchor_texts[number])?;
                    rows.rels.append(&rels[anchor.rel as usize])?;
                    rows_of_apaths.push(apaths.row(anchor.node));
                    blocks.push(anchor.blocks_before);
                }
            }
        }
        let found = PyDict::new(py);
        found.set_item("urls", rows.urls)?;
        found.set_item("keys", rows.keys)?;
        found.set_item("anchors", rows.anchors)?;
        found.set_item("rels", rows.rels)?;
        found.set_item("apaths", rows_of_apaths)?;
        found.set_item("blocks_before", blocks)?;
        found.set_item("apath_table", &apaths.texts)?;
        found.set_item("skipped", skipped)?;
        let is_cut = self.walk.anchors.len() > self.walk.bounds.links || chars > self.walk.bounds.links_chars;
        let cuts = PyTuple::new(py, [is_cut, apaths.is_cut])?;
        let answer = PyDict::new(py);
        answer.set_item("columns", found)?;
        answer.set_item("cuts", cuts)?;
        Ok(answer)
    }
}

struct Rows<'py> {
    urls: Bound<'py, PyList>,
    keys: Bound<'py, PyList>,
    anchors: Bound<'py, PyList>,
    rels: Bound<'py, PyList>,
}

/// Makes each text an object of Python once.
fn strings<'py>(py: Python<'py>, texts: &[String]) -> Vec<Bound<'py, PyString>> {
    texts.iter().map(|text| PyString::new(py, text)).collect()
}

/// Returns the slots of a URL, None if Python has to cut it.
#[pyfunction]
fn url_tokens(key: &Bound<'_, PyString>) -> Option<Vec<String>> {
    key.to_str().ok().and_then(tokens::url_tokens)
}

/// Returns the hash of each text, None if one of them has no UTF-8.
#[pyfunction]
fn hash_all(texts: &Bound<'_, PyList>) -> PyResult<Option<Vec<u64>>> {
    let mut hashes = Vec::with_capacity(texts.len());
    for text in texts {
        match text.cast::<PyString>()?.to_str() {
            Ok(text) => hashes.push(text::hash64(text)),
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(hashes))
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Reader>()?;
    module.add_class::<Page>()?;
    module.add_class::<UrlTable>()?;
    module.add_class::<LinkTable>()?;
    module.add_function(wrap_pyfunction!(hash_all, module)?)?;
    module.add_function(wrap_pyfunction!(url_tokens, module)?)
}
