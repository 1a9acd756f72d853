//! A page that was read, and the reader it came from, as Python has them.

use crate::bounds::Bounds;
use crate::entities::{has_controls, Entities};
use crate::paths::{LinkPaths, Texts, Trie};
use crate::tags::Tags;
use crate::url_table::{Answer, UrlTable};
use crate::walk::{Anchor, Walk};
use crate::{crowds, html, text};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// Desks that are kept for the next pages: as many as threads that read at a time. A bound, chosen.
const MOST_DESKS: usize = 4;

/// Bytes of a page from which on what was made room for is let go of; the longest of 400 stored ones has 450 kB.
const LARGE_BYTES: usize = 1 << 20;

type Desks = Arc<Mutex<Vec<Box<Desk>>>>;

/// Reads pages within bounds; any number of threads may use one.
#[pyclass(frozen)]
pub struct Reader {
    bounds: Arc<Bounds>,
    entities: Entities,
    crowd: usize,
    crowded_bytes: usize,
    remembered: usize,
    desks: Desks,
}

#[pymethods]
impl Reader {
    #[new]
    fn new(py: Python<'_>, bounds: &Bound<'_, PyDict>) -> PyResult<Self> {
        let get = |name: &str| bounds.as_any().get_item(name);
        let number = |name: &str| -> PyResult<usize> { get(name)?.extract() };
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
                link_paths: number("link_paths")?,
                link_paths_chars: number("link_paths_chars")?,
                link_path_chars: number("link_path_chars")?,
                links_chars: number("links_chars")?,
                other_link_path: get("other_link_path")?.extract()?,
            }),
            entities: Entities::of_html(py)?,
            crowd: number("attributes")?,
            crowded_bytes: number("crowded_bytes")?,
            remembered: number("remembered")?,
            desks: Desks::default(),
        })
    }

    /// Returns what valid UTF-8 holds as a `Page`, or the reason why it cannot be read here.
    #[pyo3(signature = (markup, layout = false))]
    fn read<'py>(&self, markup: &Bound<'py, PyBytes>, layout: bool) -> PyResult<Bound<'py, PyAny>> {
        let py = markup.py();
        let bytes = markup.as_bytes();
        let mut desk = self.desk();
        let read = py.detach(|| self.walk(bytes, layout, &mut desk));
        let is_kept = bytes.len() <= LARGE_BYTES && desk.entries() <= self.remembered;
        let page = Page { desk: Some(desk), desks: is_kept.then(|| self.desks.clone()) };
        match read {
            Ok(()) => Ok(Bound::new(py, page)?.into_any()),
            Err(reason) => Ok(PyString::new(py, reason).into_any()),
        }
    }
}

impl Reader {
    fn desk(&self) -> Box<Desk> {
        let free = self.desks.lock().unwrap_or_else(PoisonError::into_inner).pop();
        free.unwrap_or_else(|| Box::new(Desk::new(self.bounds.clone())))
    }

    fn walk(&self, bytes: &[u8], layout: bool, desk: &mut Desk) -> Result<(), &'static str> {
        let markup = std::str::from_utf8(bytes).map_err(|_| "encoding")?;
        if bytes.len() > self.crowded_bytes && crowds::has_crowd(bytes, self.crowd) {
            return Err("attributes");
        }
        desk.walk.begin(has_controls(bytes), layout);
        html::read(markup, &self.entities, &mut desk.tags, &mut desk.walk)?;
        if let Some(outline) = &mut desk.walk.outline {
            outline.end();
        }
        if let Some(reason) = desk.walk.refused {
            return Err(reason);
        }
        desk.finish();
        Ok(())
    }
}

/// What it takes to read a page, and what it shares with those read before: names, classes, paths and link paths
/// with their texts as objects of Python. What is remembered never changes an answer.
struct Desk {
    tags: Tags,
    walk: Walk,
    trie: Trie,
    link_paths: LinkPaths,
    anchor_texts: String,
    anchor_ends: Vec<usize>,
    /// The first anchor of each distinct href, and the number of its href for each anchor.
    firsts: Vec<usize>,
    targets: Vec<usize>,
    names: Objects,
    classes: Objects,
    rels: Objects,
    link_path_texts: Objects,
}

impl Desk {
    fn new(bounds: Arc<Bounds>) -> Self {
        Desk {
            tags: Tags::new(),
            walk: Walk::new(bounds),
            trie: Trie::default(),
            link_paths: LinkPaths::new(),
            anchor_texts: String::new(),
            anchor_ends: Vec::new(),
            firsts: Vec::new(),
            targets: Vec::new(),
            names: Objects::default(),
            classes: Objects::default(),
            rels: Objects::default(),
            link_path_texts: Objects::default(),
        }
    }

    /// Makes what a page needs beside its walk.
    fn finish(&mut self) {
        let walk = &mut self.walk;
        walk.paths.fill(&mut self.trie, &walk.bounds);
        self.link_paths.begin();
        self.anchor_texts.clear();
        self.anchor_ends.clear();
        walk.anchor_texts(&mut self.anchor_texts, &mut self.anchor_ends);
        self.firsts.clear();
        self.targets.clear();
        let anchors = &walk.anchors[..walk.anchors.len().min(walk.bounds.links)];
        let mut known = FxHashMap::with_capacity_and_hasher(anchors.len(), FxBuildHasher);
        for (number, anchor) in anchors.iter().enumerate() {
            let target = *known.entry(walk.href(anchor)).or_insert(self.firsts.len());
            if target == self.firsts.len() {
                self.firsts.push(number);
            }
            self.targets.push(target);
        }
    }

    fn entries(&self) -> usize {
        self.tags.len() + self.walk.entries() + self.link_paths.entries()
    }
}

/// The objects of numbered texts, each made once.
#[derive(Default)]
struct Objects(Vec<Py<PyString>>);

impl Objects {
    fn of(&mut self, py: Python<'_>, texts: &Texts) -> &[Py<PyString>] {
        let new = texts.texts[self.0.len()..].iter();
        self.0.extend(new.map(|text| PyString::new(py, text).unbind()));
        &self.0
    }
}

/// What a page holds; its links once their targets are known.
#[pyclass]
pub struct Page {
    /// There until the page is dropped.
    desk: Option<Box<Desk>>,
    /// Where the desk goes then.
    desks: Option<Desks>,
}

const HAS_DESK: &str = "a page has its desk until it is dropped";

impl Drop for Page {
    fn drop(&mut self) {
        if let (Some(desk), Some(desks)) = (self.desk.take(), &self.desks) {
            let mut desks = desks.lock().unwrap_or_else(PoisonError::into_inner);
            if desks.len() < MOST_DESKS {
                desks.push(desk);
            }
        }
    }
}

impl Page {
    fn desk(&self) -> &Desk {
        self.desk.as_ref().expect(HAS_DESK)
    }

    fn desk_mut(&mut self) -> &mut Desk {
        self.desk.as_mut().expect(HAS_DESK)
    }

    fn walk(&self) -> &Walk {
        &self.desk().walk
    }
}

type Columns<'py> = (Bound<'py, PyList>, Bound<'py, PyList>, Bound<'py, PyList>, Bound<'py, PyList>);

#[pymethods]
impl Page {
    /// Whether there is no element at all.
    #[getter]
    fn is_empty(&self) -> bool {
        !self.walk().is_begun
    }

    #[getter]
    fn elements_cut(&self) -> bool {
        self.walk().is_cut
    }

    #[getter]
    fn base(&self) -> &str {
        self.walk().head.base.trim_matches(text::is_space)
    }

    #[getter]
    fn canonical(&self) -> &str {
        self.walk().head.canonical.trim_matches(text::is_space)
    }

    #[getter]
    fn nofollow(&self) -> bool {
        self.walk().head.nofollow
    }

    #[getter]
    fn text_chars(&self) -> usize {
        self.walk().text_chars
    }

    #[getter]
    fn anchor_chars(&self) -> usize {
        self.walk().anchor_chars
    }

    #[getter]
    fn block_hashes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, &self.walk().block_hashes)
    }

    #[getter]
    fn block_chars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, &self.walk().block_chars)
    }

    #[getter]
    fn depth_cut(&self) -> bool {
        self.desk().trie.is_depth_cut
    }

    #[getter]
    fn paths_cut(&self) -> bool {
        self.desk().trie.is_cut
    }

    /// Parents, tags, classes and leaves of the tag paths.
    fn paths<'py>(&mut self, py: Python<'py>) -> PyResult<Columns<'py>> {
        let Desk { walk, trie, names, classes, .. } = self.desk_mut();
        let names = names.of(py, &walk.paths.steps.names);
        let classes = classes.of(py, &walk.paths.steps.classes);
        Ok((
            PyList::new(py, &trie.parents)?,
            PyList::new(py, trie.tags.iter().map(|&tag| &names[tag as usize]))?,
            PyList::new(py, trie.classes.iter().map(|&class| &classes[class as usize]))?,
            PyList::new(py, &trie.leaves)?,
        ))
    }

    /// The columns of `PageTree` by name; steps are numbers of `step_table`. None if no layout was asked for.
    fn outline<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let walk = self.walk();
        let Some(outline) = &walk.outline else { return Ok(None) };
        let (table, steps) = numbered(&outline.steps);
        let found = PyDict::new(py);
        found.set_item(
            "step_table",
            table.iter().map(|&step| walk.paths.steps.shown(step)).collect::<Vec<_>>(),
        )?;
        found.set_item("parents", &outline.parents)?;
        found.set_item("steps", steps)?;
        found.set_item("ends", &outline.ends)?;
        found.set_item("first_texts", &outline.first_texts)?;
        found.set_item("last_texts", &outline.last_texts)?;
        found.set_item("first_anchors", &outline.first_anchors)?;
        found.set_item("last_anchors", &outline.last_anchors)?;
        found.set_item("texts", &outline.texts)?;
        found.set_item("text_nodes", &outline.text_nodes)?;
        found.set_item("text_anchors", &outline.text_anchors)?;
        found.set_item("anchor_nodes", &outline.anchor_nodes)?;
        found.set_item("hrefs", PyList::new(py, walk.anchors.iter().map(|anchor| walk.href(anchor)))?)?;
        found.set_item("breaks", &outline.breaks)?;
        found.set_item("ids", &outline.ids)?;
        found.set_item("moments", &outline.moments)?;
        Ok(Some(found))
    }

    /// The rows of the links as a dictionary of columns; `urls` remembers what hrefs lead to, and `resolver`,
    /// the `UrlResolver` of the page, is asked of those that it cannot tell. With the columns comes the number of
    /// the anchor of each row, and whether links or link paths were cut.
    fn links<'py>(
        &mut self,
        urls: &Bound<'py, UrlTable>,
        resolver: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = resolver.py();
        let desk = self.desk();
        let hrefs: Vec<&str> =
            desk.firsts.iter().map(|&first| desk.walk.href(&desk.walk.anchors[first])).collect();
        let answers = urls.get().answers(&hrefs, resolver)?;
        self.rows(py, &answers)
    }
}

impl Page {
    fn rows<'py>(&mut self, py: Python<'py>, answers: &[Answer]) -> PyResult<Bound<'py, PyDict>> {
        let desk = self.desk_mut();
        let skipped = PyDict::new(py);
        let (mut kept, mut chars) = (Vec::with_capacity(desk.targets.len()), 0);
        let mut link_paths = Vec::with_capacity(desk.targets.len());
        for (number, &target) in desk.targets.iter().enumerate() {
            match &answers[target] {
                Answer::No(reason) => {
                    let n: usize = skipped.get_item(reason)?.map_or(Ok(0), |n| n.extract())?;
                    skipped.set_item(reason, n + 1)?;
                }
                Answer::Leads { url, key, chars: more } => {
                    chars += more;
                    if chars > desk.walk.bounds.links_chars {
                        break;
                    }
                    let node = desk.walk.anchors[number].node;
                    link_paths.push(desk.link_paths.row(&desk.walk.paths, node, &desk.walk.bounds));
                    kept.push((number, url, key));
                }
            }
        }
        let rels = desk.rels.of(py, &desk.walk.rels);
        let link_path_texts = desk.link_path_texts.of(py, &desk.link_paths.texts);
        let (walk, of_page) = (&desk.walk, desk.link_paths.rows());
        let anchor = |row: &(usize, _, _)| -> &Anchor { &walk.anchors[row.0] };
        let found = PyDict::new(py);
        found.set_item("urls", PyList::new(py, kept.iter().map(|row| row.1))?)?;
        found.set_item("keys", PyList::new(py, kept.iter().map(|row| row.2))?)?;
        let texts = kept.iter().map(|row| text_of(&desk.anchor_texts, &desk.anchor_ends, row.0));
        found.set_item("anchors", PyList::new(py, texts)?)?;
        found.set_item("rels", PyList::new(py, kept.iter().map(|row| &rels[anchor(row).rel as usize]))?)?;
        found.set_item("apaths", link_paths)?;
        found
            .set_item("blocks_before", PyList::new(py, kept.iter().map(|row| anchor(row).blocks_before))?)?;
        let table = PyList::new(py, of_page.iter().map(|&text| &link_path_texts[text as usize]))?;
        found.set_item("apath_table", table)?;
        found.set_item("skipped", skipped)?;
        let is_cut = walk.anchors.len() > walk.bounds.links || chars > walk.bounds.links_chars;
        let cuts = PyTuple::new(py, [is_cut, desk.link_paths.is_cut()])?;
        let answer = PyDict::new(py);
        answer.set_item("columns", found)?;
        answer.set_item("numbers", PyList::new(py, kept.iter().map(|row| row.0))?)?;
        answer.set_item("cuts", cuts)?;
        Ok(answer)
    }
}

fn text_of<'a>(texts: &'a str, ends: &[usize], number: usize) -> &'a str {
    let start = if number == 0 { 0 } else { ends[number - 1] };
    &texts[start..ends[number]]
}

/// Returns the distinct ones of some numbers, and the place of each number among them.
fn numbered(numbers: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let (mut distinct, mut known) = (Vec::new(), FxHashMap::default());
    let places = numbers.iter().map(|&number| {
        *known.entry(number).or_insert_with(|| {
            distinct.push(number);
            distinct.len() as u32 - 1
        })
    });
    let places = places.collect();
    (distinct, places)
}
