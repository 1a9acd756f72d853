//! Numbers of texts of Python that come again and again.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rustc_hash::FxHashMap;

/// Texts by number, in the order in which they came. A text is looked for by its object first: what the reader
/// remembers is one object on all pages.
pub struct TextNumbers {
    by_object: FxHashMap<usize, u32>,
    /// Keeps the objects alive, so that their addresses stay theirs.
    by_text: Py<PyDict>,
}

impl TextNumbers {
    pub fn new(py: Python<'_>) -> Self {
        TextNumbers { by_object: FxHashMap::default(), by_text: PyDict::new(py).unbind() }
    }

    /// Returns the number of a text, which it has from now on.
    pub fn number(&mut self, text: &Bound<'_, PyAny>) -> PyResult<u32> {
        let object = text.as_ptr() as usize;
        if let Some(&known) = self.by_object.get(&object) {
            return Ok(known);
        }
        let by_text = self.by_text.bind(text.py());
        if let Some(known) = by_text.get_item(text)? {
            return known.extract();
        }
        let new = by_text.len() as u32;
        by_text.set_item(text, new)?;
        self.by_object.insert(object, new);
        Ok(new)
    }
}
