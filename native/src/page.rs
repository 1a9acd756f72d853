//! The reader of pages, and the columns of a page, as Python has them.

use crate::entities::{has_controls, Entities};
use crate::paths::{LinkPaths, Texts, Trie};
use crate::tags::Tags;
use crate::walk::{Bounds, Walk};
use crate::{html, text};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyList, PyString, PyTuple};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Desks that are kept for the next pages: as many as threads that read at a time. A bound, chosen.
const MOST_DESKS: usize = 4;

/// Bytes of a page from which on what was made room for is let go of; the longest of 400 stored ones has 450 kB.
const LARGE_BYTES: usize = 1 << 20;

type Desks = Mutex<Vec<Box<Desk>>>;

/// Reads pages within bounds; any number of threads may use one.
#[pyclass(frozen)]
pub struct Reader {
    bounds: Arc<Bounds>,
    entities: Entities,
    desks: Desks,
}

#[pymethods]
impl Reader {
    #[new]
    fn new(py: Python<'_>, bounds: &Bound<'_, PyDict>) -> PyResult<Self> {
        let bounds = Arc::new(bounds.extract()?);
        Ok(Reader { bounds, entities: Entities::of_html(py)?, desks: Desks::default() })
    }

    /// Returns what valid UTF-8 holds as a dictionary of columns, or the reason why it cannot be read here.
    #[pyo3(signature = (markup, layout = false))]
    fn read<'py>(&self, markup: &Bound<'py, PyBytes>, layout: bool) -> PyResult<Bound<'py, PyAny>> {
        let py = markup.py();
        let bytes = markup.as_bytes();
        let mut desk = self.desk();
        let read = match py.detach(|| self.walk(bytes, layout, &mut desk)) {
            Ok(()) => desk.columns(py)?.into_any(),
            Err(reason) => PyString::new(py, reason).into_any(),
        };
        if bytes.len() <= LARGE_BYTES && desk.entries() <= self.bounds.remembered {
            let mut desks = self.desks.lock().unwrap_or_else(PoisonError::into_inner);
            if desks.len() < MOST_DESKS {
                desks.push(desk);
            }
        }
        Ok(read)
    }
}

impl Reader {
    fn desk(&self) -> Box<Desk> {
        let free = self.desks.lock().unwrap_or_else(PoisonError::into_inner).pop();
        free.unwrap_or_else(|| Box::new(Desk::new(self.bounds.clone())))
    }

    fn walk(&self, bytes: &[u8], layout: bool, desk: &mut Desk) -> Result<(), &'static str> {
        let markup = std::str::from_utf8(bytes).map_err(|_| "encoding")?;
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
    link_path_rows: Vec<u32>,
    anchor_texts: String,
    anchor_ends: Vec<usize>,
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
            link_path_rows: Vec::new(),
            anchor_texts: String::new(),
            anchor_ends: Vec::new(),
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
        self.anchor_texts.clear();
        self.anchor_ends.clear();
        walk.anchor_texts(&mut self.anchor_texts, &mut self.anchor_ends);
        self.link_paths.begin();
        self.link_path_rows.clear();
        for anchor in &walk.anchors[..walk.anchors.len().min(walk.bounds.links)] {
            let row = self.link_paths.row(&walk.paths, anchor.node, &walk.bounds);
            self.link_path_rows.push(row);
        }
    }

    fn entries(&self) -> usize {
        self.tags.len() + self.walk.entries() + self.link_paths.entries()
    }

    /// Returns what the page holds, by name; see `features.html.Extractor`.
    fn columns<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let walk = &self.walk;
        let found = PyDict::new(py);
        found.set_item("is_empty", !walk.is_begun)?;
        found.set_item("base", walk.head.base.as_deref().unwrap_or("").trim_matches(text::is_space))?;
        found.set_item("canonical", walk.head.canonical.trim_matches(text::is_space))?;
        found.set_item("noindex", walk.head.noindex)?;
        found.set_item("refresh", &walk.head.refresh)?;
        found.set_item("title", walk.head.title.as_deref().unwrap_or(""))?;
        found.set_item("text_chars", walk.text_chars)?;
        found.set_item("block_hashes", &walk.block_hashes)?;
        found.set_item("block_chars", &walk.block_chars)?;
        found.set_item("elements_cut", walk.is_cut)?;
        found.set_item("depth_cut", self.trie.is_depth_cut)?;
        found.set_item("paths_cut", self.trie.is_cut)?;
        found.set_item("paths", self.paths(py)?)?;
        found.set_item("anchors", self.anchors(py)?)?;
        found.set_item("outline", self.outline(py)?)?;
        Ok(found)
    }

    /// Parents, tags, classes and leaves of the tag paths.
    fn paths<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let Desk { walk, trie, names, classes, .. } = self;
        let names = names.of(py, &walk.paths.steps.names);
        let classes = classes.of(py, &walk.paths.steps.classes);
        let columns = [
            PyList::new(py, &trie.parents)?,
            PyList::new(py, trie.tags.iter().map(|&tag| &names[tag as usize]))?,
            PyList::new(py, trie.classes.iter().map(|&class| &classes[class as usize]))?,
            PyList::new(py, &trie.leaves)?,
        ];
        PyTuple::new(py, columns)
    }

    /// The columns of `Anchors`, in their order.
    fn anchors<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let rels = self.rels.of(py, &self.walk.rels);
        let link_path_texts = self.link_path_texts.of(py, &self.link_paths.texts);
        let (walk, texts, ends) = (&self.walk, &self.anchor_texts, &self.anchor_ends);
        let anchors = &walk.anchors[..self.link_path_rows.len()];
        let of_page = &self.link_paths.rows;
        let columns = [
            PyList::new(py, anchors.iter().map(|anchor| walk.href(anchor)))?.into_any(),
            PyList::new(py, (0..anchors.len()).map(|number| text_of(texts, ends, number)))?.into_any(),
            PyList::new(py, anchors.iter().map(|anchor| &rels[anchor.rel as usize]))?.into_any(),
            PyList::new(py, anchors.iter().map(|anchor| anchor.blocks_before))?.into_any(),
            PyList::new(py, &self.link_path_rows)?.into_any(),
            PyList::new(py, of_page.iter().map(|&text| &link_path_texts[text as usize]))?.into_any(),
            PyBool::new(py, walk.anchors.len() > anchors.len()).to_owned().into_any(),
            PyBool::new(py, self.link_paths.is_cut).to_owned().into_any(),
        ];
        PyTuple::new(py, columns)
    }

    /// The columns of `PageTree` by name; steps are numbers of `step_table`. None if no layout was asked for.
    fn outline<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let walk = &self.walk;
        let Some(outline) = &walk.outline else { return Ok(None) };
        let (table, steps) = numbered(&outline.steps);
        let found = PyDict::new(py);
        found.set_item(
            "step_table",
            table.iter().map(|&step| walk.paths.steps.shown(step)).collect::<Vec<_>>(),
        )?;
        found.set_item("parents", &outline.parents)?;
        found.set_item("steps", steps)?;
        found.set_item("first_texts", &outline.first_texts)?;
        found.set_item("last_texts", &outline.last_texts)?;
        found.set_item("texts", &outline.texts)?;
        found.set_item("text_nodes", &outline.text_nodes)?;
        found.set_item("text_anchors", &outline.text_anchors)?;
        found.set_item("anchor_nodes", &outline.anchor_nodes)?;
        found.set_item("hrefs", PyList::new(py, walk.anchors.iter().map(|anchor| walk.href(anchor)))?)?;
        found.set_item("ids", &outline.ids)?;
        found.set_item("moments", &outline.moments)?;
        Ok(Some(found))
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
