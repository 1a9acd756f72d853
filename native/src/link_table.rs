//! What is remembered of each URL of a site, packed: as `linkscore_scoring.site.memory` keeps it in a dictionary.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Cluster of a URL that was seen in links and not fetched, as in `site.memory`.
const NOT_FETCHED: i64 = -3;

/// Cells of a plain record in front of its in-links: depth, cluster, pattern.
const HEAD_CELLS: usize = 3;

type Key = u64;
type InLink = (u64, u64);
type Sighting = (Vec<i64>, Vec<bool>, Vec<bool>, Vec<InLink>);

struct Record {
    key: Key,
    depth: i64,
    cluster: i64,
    pattern: i64,
    /// Source page and link path, the latest last.
    in_links: Vec<InLink>,
}

impl Record {
    fn waits(&self) -> bool {
        self.cluster == NOT_FETCHED
    }

    /// Makes an in-link the latest; says whether it is the first from its source.
    fn renew(&mut self, new: InLink, most: usize, displaced: &mut Vec<InLink>) -> bool {
        let (source, link_path) = new;
        let is_first = self.in_links.iter().all(|known| known.0 != source);
        let same_link_path = self.in_links.iter().position(|known| known.1 == link_path);
        if let Some(old) = same_link_path.or((self.in_links.len() >= most).then_some(0)) {
            let old_source = self.in_links[old].0;
            if old_source == source {
                return is_first;
            }
            if self.in_links.iter().position(|known| known.0 == old_source) == Some(old) {
                displaced.push(self.in_links[old]);
            }
            self.in_links.remove(old);
        }
        self.in_links.reserve_exact(1);
        self.in_links.push(new);
        is_first
    }
}

/// URLs by identity hash, in the order in which they were first seen; those seen first are forgotten first.
#[pyclass]
pub struct LinkTable {
    most: usize,
    most_in_links: usize,
    records: VecDeque<Record>,
    /// Number of each record since the first one ever, of which `forgotten` are gone.
    numbers: FxHashMap<Key, usize>,
    forgotten: usize,
}

#[pymethods]
impl LinkTable {
    #[new]
    fn new(most: usize, most_in_links: usize) -> Self {
        let (records, numbers) = (VecDeque::new(), FxHashMap::default());
        LinkTable { most, most_in_links: most_in_links.max(1), records, numbers, forgotten: 0 }
    }

    fn __len__(&self) -> usize {
        self.records.len()
    }

    /// Returns the keys that were never seen, each with its first row.
    fn unknown<'py>(&self, py: Python<'py>, keys: Vec<Key>) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        for (row, key) in keys.iter().enumerate() {
            if !self.numbers.contains_key(key) && !found.contains(key)? {
                found.set_item(key, row)?;
            }
        }
        Ok(found)
    }

    /// Takes in the links of a page: patterns, fresh and first_here by row, and what was displaced.
    fn see(
        &mut self,
        source: u64,
        depth: i64,
        keys: Vec<Key>,
        link_paths: Vec<u64>,
        patterns: &Bound<'_, PyAny>,
    ) -> PyResult<Sighting> {
        if keys.len() != link_paths.len() {
            return Err(PyValueError::new_err("keys and link_paths differ in length"));
        }
        let (mut seen_patterns, mut fresh) = (Vec::with_capacity(keys.len()), Vec::with_capacity(keys.len()));
        let (mut first_here, mut displaced) = (Vec::with_capacity(keys.len()), Vec::new());
        let most = self.most_in_links;
        for (key, link_path) in keys.into_iter().zip(link_paths) {
            let known = self.record_mut(key);
            fresh.push(known.is_none());
            let (pattern, is_first) = match known {
                None => {
                    let pattern = patterns.get_item(key)?.extract()?;
                    let in_links = vec![(source, link_path)];
                    self.add(Record { key, depth, cluster: NOT_FETCHED, pattern, in_links });
                    (pattern, true)
                }
                Some(known) if known.waits() => {
                    (known.pattern, known.renew((source, link_path), most, &mut displaced))
                }
                Some(known) => (known.pattern, false),
            };
            first_here.push(is_first);
            seen_patterns.push(pattern);
        }
        Ok((seen_patterns, fresh, first_here, displaced))
    }

    /// Notes a fetch; says whether it is a repeated one.
    fn fetched(&mut self, key: Key, depth: i64, cluster: i64, pattern: i64) -> bool {
        let Some(known) = self.record_mut(key) else {
            self.add(Record { key, depth, cluster, pattern, in_links: Vec::new() });
            return false;
        };
        let was_fetched = !known.waits();
        known.cluster = cluster;
        was_fetched
    }

    /// Forgets the URLs seen first beyond the bound; returns how many.
    fn evict(&mut self) -> usize {
        let many = self.records.len().saturating_sub(self.most);
        for record in self.records.drain(..many) {
            self.numbers.remove(&record.key);
        }
        self.forgotten += many;
        many
    }

    /// Gives a URL another cluster, if it is known.
    fn relabel(&mut self, key: Key, cluster: i64) {
        if let Some(known) = self.record_mut(key) {
            known.cluster = cluster;
        }
    }

    fn depth(&self, key: Key) -> Option<i64> {
        self.record(key).map(|known| known.depth)
    }

    fn cluster(&self, key: Key) -> i64 {
        self.record(key).map_or(NOT_FETCHED, |known| known.cluster)
    }

    pub fn pattern(&self, key: Key) -> Option<i64> {
        self.record(key).map(|known| known.pattern)
    }

    fn patterns(&self, keys: Vec<Key>) -> Vec<Option<i64>> {
        keys.into_iter().map(|key| self.pattern(key)).collect()
    }

    /// Returns those of some URLs that were fetched.
    fn fetched_among(&self, keys: Vec<Key>) -> Vec<Key> {
        keys.into_iter().filter(|&key| self.cluster(key) != NOT_FETCHED).collect()
    }

    fn contexts(&self, key: Key) -> Vec<InLink> {
        self.record(key).map_or_else(Vec::new, |known| known.in_links.clone())
    }

    /// Returns the pages each URL was seen on, as `contexts` has them.
    fn sources(&self, keys: Vec<Key>) -> Vec<Vec<Key>> {
        let sources_of = |known: &Record| known.in_links.iter().map(|&(source, _)| source).collect();
        keys.into_iter().map(|key| self.record(key).map_or_else(Vec::new, sources_of)).collect()
    }

    /// Returns pattern and earliest link path of a URL that waits.
    fn waiting_group(&self, key: Key) -> Option<(i64, u64)> {
        let known = self.record(key).filter(|known| known.waits())?;
        Some((known.pattern, known.in_links.first()?.1))
    }

    /// Counts the URLs that wait by pattern and earliest link path, in the order of the first of each.
    fn waiting<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut rows: FxHashMap<(i64, u64), usize> = FxHashMap::default();
        let mut counts: Vec<((i64, u64), usize)> = Vec::new();
        for record in self.records.iter().filter(|record| record.waits()) {
            let Some(&(_, link_path)) = record.in_links.first() else { continue };
            let group = (record.pattern, link_path);
            let row = *rows.entry(group).or_insert(counts.len());
            if row == counts.len() {
                counts.push((group, 0));
            }
            counts[row].1 += 1;
        }
        let found = PyDict::new(py);
        for (group, count) in counts {
            found.set_item(group, count)?;
        }
        Ok(found)
    }

    /// Returns the plain record of each URL, by key: depth, cluster, pattern, source, link path, source, ...
    fn plain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        for known in &self.records {
            let plain = PyList::new(py, [known.depth, known.cluster, known.pattern])?;
            for (source, link_path) in &known.in_links {
                plain.append(source)?;
                plain.append(link_path)?;
            }
            found.set_item(known.key, plain)?;
        }
        Ok(found)
    }

    /// Takes over what `plain` gave, in place of all there is.
    fn load(&mut self, plain: &Bound<'_, PyDict>) -> PyResult<()> {
        *self = LinkTable::new(self.most, self.most_in_links);
        for (key, cells) in plain {
            let record = read(&key, &cells);
            self.add(record.ok_or_else(|| PyValueError::new_err(format!("record of {key}: {cells}")))?);
        }
        Ok(())
    }
}

impl LinkTable {
    fn record(&self, key: Key) -> Option<&Record> {
        self.records.get(self.numbers.get(&key)? - self.forgotten)
    }

    fn record_mut(&mut self, key: Key) -> Option<&mut Record> {
        self.records.get_mut(self.numbers.get(&key)? - self.forgotten)
    }

    fn add(&mut self, record: Record) {
        self.numbers.insert(record.key, self.forgotten + self.records.len());
        self.records.push_back(record);
    }
}

/// Reads a plain record; None if it is none.
fn read(key: &Bound<'_, PyAny>, cells: &Bound<'_, PyAny>) -> Option<Record> {
    let cells = cells.cast::<PyList>().ok()?;
    if cells.len() < HEAD_CELLS || cells.len() % 2 == 0 {
        return None;
    }
    let head = |at: usize| cells.get_item(at).ok()?.extract::<i64>().ok();
    let of_link = |at: usize| cells.get_item(at).ok()?.extract::<u64>().ok();
    let pairs = (HEAD_CELLS..cells.len()).step_by(2);
    let in_links: Option<Vec<InLink>> = pairs.map(|at| Some((of_link(at)?, of_link(at + 1)?))).collect();
    let key = key.extract().ok()?;
    Some(Record { key, depth: head(0)?, cluster: head(1)?, pattern: head(2)?, in_links: in_links? })
}
