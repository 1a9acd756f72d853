//! How far pages are from the templates of a site, as `clustering.cosine_linkage` has it.

use crate::class_paths::{ClassPaths, ROOT};
use crate::text_numbers::TextNumbers;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use rustc_hash::FxHashMap;

/// Parents, tags and classes of the nodes of tag paths.
type Steps<'py> = (Bound<'py, PyList>, Bound<'py, PyList>, Bound<'py, PyList>);

/// Texts of the filter of tag paths: see `ClassPaths::new`.
type Filter<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

/// Mean vectors of the templates, and which steps of tag paths lead where.
#[pyclass]
pub struct TemplateSpace {
    idf: Vec<f64>,
    /// The weight of a column in each template, column by column.
    means: Vec<f64>,
    n_templates: usize,
    /// Term frequency weight of 0, 1, ... leaves.
    weights: Vec<f64>,
    texts: TextNumbers,
    /// Place above, tag and classes of a step to its place.
    places: FxHashMap<(u32, u32, u32), u32>,
    paths: ClassPaths,
    /// Leaves by column, of one page.
    counts: Vec<usize>,
}

#[pymethods]
impl TemplateSpace {
    /// Takes float64 as bytes: inverse document frequencies, (n_columns,); means, (n_columns, n_templates); and
    /// weights of term frequencies, (n,). And tokens that keep their digits, tokens rarest first, known paths, and the
    /// path of each column.
    #[new]
    fn new(
        idf: &Bound<'_, PyBytes>,
        means: &Bound<'_, PyBytes>,
        weights: &Bound<'_, PyBytes>,
        filter: Filter<'_>,
    ) -> PyResult<Self> {
        let texts = TextNumbers::new(idf.py());
        let (idf, means, weights) = (floats(idf), floats(means), floats(weights));
        let (n_templates, counts) = (means.len() / idf.len().max(1), vec![0; idf.len()]);
        let paths = ClassPaths::new(&filter.0, &filter.1, &filter.2, &filter.3)?;
        let places = FxHashMap::default();
        Ok(TemplateSpace { idf, means, n_templates, weights, texts, places, paths, counts })
    }

    /// Steps that are remembered.
    fn __len__(&self) -> usize {
        self.places.len()
    }

    /// Returns the distance of a page to each template; None if it has more leaves in one place than there are
    /// weights, or texts that are no UTF-8.
    fn distances(&mut self, steps: Steps<'_>, leaves: &Bound<'_, PyList>) -> PyResult<Option<Vec<f64>>> {
        let (parents, tags, classes) = steps;
        let mut counted: Vec<(u32, usize)> = Vec::new();
        let mut places: Vec<u32> = Vec::with_capacity(parents.len());
        for (((parent, tag), class), leaves) in parents.iter().zip(&tags).zip(&classes).zip(leaves) {
            let above = match usize::try_from(parent.extract::<i64>()?) {
                Ok(parent) => *places.get(parent).ok_or_else(|| PyIndexError::new_err("parent"))?,
                Err(_) => ROOT,
            };
            let step = (above, self.texts.number(&tag)?, self.texts.number(&class)?);
            let place = match self.places.get(&step) {
                Some(&known) => known,
                None => {
                    let (tag, class) = (tag.cast::<PyString>()?, class.cast::<PyString>()?);
                    let (Ok(tag), Ok(class)) = (tag.to_str(), class.to_str()) else { return Ok(None) };
                    let element = self.paths.element(tag, class);
                    let new = self.paths.place(above, element);
                    self.places.insert(step, new);
                    new
                }
            };
            places.push(place);
            let leaves: usize = leaves.extract()?;
            if leaves > 0 {
                counted.extend(self.paths.column(place).map(|column| (column, leaves)));
            }
        }
        Ok(self.distances_of(&counted))
    }
}

impl TemplateSpace {
    /// Returns the distances of a page by the leaves in its columns; a column may come several times.
    fn distances_of(&mut self, counted: &[(u32, usize)]) -> Option<Vec<f64>> {
        let mut held: Vec<u32> = Vec::with_capacity(counted.len());
        for &(column, leaves) in counted {
            let count = &mut self.counts[column as usize];
            if *count == 0 {
                held.push(column);
            }
            *count = count.saturating_add(leaves);
        }
        let is_light = held.iter().all(|&column| self.counts[column as usize] < self.weights.len());
        let found = is_light.then(|| self.weighed(&held));
        held.iter().for_each(|&column| self.counts[column as usize] = 0);
        found
    }

    /// Sums column by column, in the order in which the page shows them, as Python does: equal to the last bit.
    fn weighed(&self, held: &[u32]) -> Vec<f64> {
        let (mut sums, mut squares) = (vec![0.0; self.n_templates], 0.0);
        for &column in held {
            let column = column as usize;
            let weight = self.weights[self.counts[column]] * self.idf[column];
            squares += weight * weight;
            let means = &self.means[column * self.n_templates..(column + 1) * self.n_templates];
            sums.iter_mut().zip(means).for_each(|(sum, mean)| *sum += mean * weight);
        }
        let size = if squares > 0.0 { f64::sqrt(squares) } else { 1.0 };
        sums.iter().map(|sum| 1.0 - sum / size).collect()
    }
}

fn floats(bytes: &Bound<'_, PyBytes>) -> Vec<f64> {
    let floats = bytes.as_bytes().chunks_exact(8);
    floats.map(|float| f64::from_ne_bytes(float.try_into().unwrap_or_default())).collect()
}
