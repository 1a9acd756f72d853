//! Whose text is it? Blocks of a site with their owners, packed: as `linkscore_scoring.site.texts` keeps them in a
//! dictionary, which says what the rules mean.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Constants of `site.texts`.
const NOBODY: u64 = 0;
const CLOSER: i64 = 2;
const LONGER: f64 = 1.1;

/// New and own characters of a page, and what earlier pages lost.
type Change = (i64, i64, Vec<(u64, i64)>);

struct Block {
    hash: u64,
    seen: i64,
    owner: u64,
    identity: u64,
    chars: i64,
    least_shown: i64,
}

/// A page that shows a block.
struct Shower {
    page: u64,
    identity: u64,
    shown: i64,
    has_own: bool,
}

impl Block {
    /// Returns whose the block is once a page shows it too, `size` characters of it.
    fn owner_beside(&self, by: &Shower, size: i64, common: i64) -> u64 {
        let owner = self.owner;
        if owner != NOBODY && owner != by.page && self.identity == by.identity {
            return if by.page == by.identity { by.page } else { owner };
        }
        let is_excerpt = LONGER * (size as f64) < self.chars as f64;
        let is_closer = by.shown.saturating_mul(CLOSER) <= self.least_shown && !is_excerpt;
        if owner == by.page || is_closer {
            return by.page;
        }
        let is_first_other = self.seen < common;
        let is_list = by.shown >= self.least_shown.saturating_mul(CLOSER);
        match (is_first_other, by.has_own) {
            (true, false) => owner,
            (true, true) => {
                if owner == NOBODY {
                    owner
                } else {
                    by.page
                }
            }
            (false, _) => {
                if is_list {
                    owner
                } else {
                    NOBODY
                }
            }
        }
    }
}

/// Blocks by hash, in the order in which they were first seen; those seen first are forgotten first.
#[pyclass]
pub struct TextTable {
    most: usize,
    full_share: f64,
    common: i64,
    blocks: VecDeque<Block>,
    /// Number of each block since the first one ever, of which `forgotten` are gone.
    numbers: FxHashMap<u64, usize>,
    forgotten: usize,
}

#[pymethods]
impl TextTable {
    #[new]
    fn new(most: usize, full_share: f64, common: i64) -> Self {
        let (blocks, numbers) = (VecDeque::new(), FxHashMap::default());
        TextTable { most, full_share, common, blocks, numbers, forgotten: 0 }
    }

    fn __len__(&self) -> usize {
        self.blocks.len()
    }

    /// Takes in the blocks of a page.
    fn see(&mut self, page: u64, identity: u64, hashes: Vec<u64>, chars: Vec<i64>) -> PyResult<Change> {
        if hashes.len() != chars.len() {
            return Err(PyValueError::new_err("hashes and chars differ in length"));
        }
        let longest = longest(&hashes, &chars);
        let shown = longest.iter().map(|&(_, size)| size).sum();
        let mut new_chars = 0;
        let mut known: Vec<(usize, i64)> = Vec::new();
        for (hash, size) in longest {
            match self.numbers.get(&hash) {
                None => {
                    self.add(Block { hash, seen: 1, owner: page, identity, chars: size, least_shown: shown });
                    new_chars += size;
                }
                Some(&number) => {
                    let at = number - self.forgotten;
                    let block = &self.blocks[at];
                    if block.owner != NOBODY && size as f64 > LONGER * block.chars as f64 {
                        new_chars += size - block.chars;
                    }
                    known.push((at, size));
                }
            }
        }
        let has_own = new_chars as f64 >= self.full_share * shown as f64;
        let by = Shower { page, identity, shown, has_own };
        let (own_chars, lost) = self.hand_over(&known, &by);
        self.evict();
        Ok((new_chars, new_chars + own_chars, lost))
    }

    /// Returns the plain record of each block, by hash: seen, owner, identity, characters, least shown.
    fn plain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        for block in &self.blocks {
            let cells = (block.seen, block.owner, block.identity, block.chars, block.least_shown);
            found.set_item(block.hash, cells.into_pyobject(py)?.to_list())?;
        }
        Ok(found)
    }

    /// Takes over what `plain` gave, in place of all there is.
    fn load(&mut self, plain: &Bound<'_, PyDict>) -> PyResult<()> {
        *self = TextTable::new(self.most, self.full_share, self.common);
        for (hash, cells) in plain {
            let block = read(&hash, &cells);
            self.add(block.ok_or_else(|| PyValueError::new_err(format!("record of {hash}: {cells}")))?);
        }
        Ok(())
    }
}

impl TextTable {
    /// Gives blocks to whom they belong now; returns the characters the page takes over, and what others lose.
    fn hand_over(&mut self, known: &[(usize, i64)], by: &Shower) -> (i64, Vec<(u64, i64)>) {
        let (mut taken, mut lost) = (0, Vec::new());
        let mut rows: FxHashMap<u64, usize> = FxHashMap::default();
        for &(at, size) in known {
            let block = &mut self.blocks[at];
            block.seen += 1;
            let owner = block.owner_beside(by, size, self.common);
            block.least_shown = block.least_shown.min(by.shown);
            if owner == block.owner {
                continue;
            }
            if block.owner != NOBODY {
                let row = *rows.entry(block.owner).or_insert(lost.len());
                if row == lost.len() {
                    lost.push((block.owner, 0));
                }
                lost[row].1 += block.chars;
            }
            block.owner = owner;
            if owner != NOBODY {
                taken += size.min(block.chars);
                (block.identity, block.chars) = (by.identity, size);
            }
        }
        (taken, lost)
    }

    fn add(&mut self, block: Block) {
        self.numbers.insert(block.hash, self.forgotten + self.blocks.len());
        self.blocks.push_back(block);
    }

    fn evict(&mut self) {
        let many = self.blocks.len().saturating_sub(self.most);
        for block in self.blocks.drain(..many) {
            self.numbers.remove(&block.hash);
        }
        self.forgotten += many;
    }
}

/// Returns the distinct blocks in their order, each as long as the longest with its hash, at least 0.
fn longest(hashes: &[u64], chars: &[i64]) -> Vec<(u64, i64)> {
    let mut rows = FxHashMap::default();
    let mut found: Vec<(u64, i64)> = Vec::with_capacity(hashes.len());
    for (&hash, &size) in hashes.iter().zip(chars) {
        let row = *rows.entry(hash).or_insert(found.len());
        if row == found.len() {
            found.push((hash, 0));
        }
        found[row].1 = found[row].1.max(size);
    }
    found
}

/// Reads a plain record; None if it is none.
fn read(hash: &Bound<'_, PyAny>, cells: &Bound<'_, PyAny>) -> Option<Block> {
    let (seen, owner, identity, chars, least_shown) =
        cells.cast::<PyList>().ok()?.to_tuple().extract().ok()?;
    Some(Block { hash: hash.extract().ok()?, seen, owner, identity, chars, least_shown })
}
