//! How far pages are from the templates of a site, as `clustering.cosine_linkage` has it.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use rustc_hash::FxHashMap;

/// Place above the first element of a path, as in `clustering.class_paths`.
const ROOT: u32 = 0;

/// Mean vectors of the templates, and which steps of tag paths lead where: Python says so, once a step.
#[pyclass]
pub struct TemplateSpace {
    idf: Vec<f64>,
    /// The weight of a column in each template, column by column.
    means: Vec<f64>,
    n_templates: usize,
    /// Term frequency weight of 0, 1, ... leaves.
    weights: Vec<f64>,
    texts: FxHashMap<String, u32>,
    /// Place above, tag and classes of a step to its place, and the column of each place, if it has one.
    places: FxHashMap<(u32, u32, u32), u32>,
    columns: Vec<Option<u32>>,
    /// Leaves by column, of one page.
    counts: Vec<usize>,
}

#[pymethods]
impl TemplateSpace {
    /// Takes float64 as bytes: inverse document frequencies, (n_columns,); means, (n_columns, n_templates); and
    /// weights of term frequencies, (n,).
    #[new]
    fn new(idf: &Bound<'_, PyBytes>, means: &Bound<'_, PyBytes>, weights: &Bound<'_, PyBytes>) -> Self {
        let (idf, means, weights) = (floats(idf), floats(means), floats(weights));
        let (n_templates, counts) = (means.len() / idf.len().max(1), vec![0; idf.len()]);
        let (texts, places) = (FxHashMap::default(), FxHashMap::default());
        TemplateSpace { idf, means, n_templates, weights, texts, places, columns: Vec::new(), counts }
    }

    /// Takes the steps of a page, each with its place and the column of that, -1 if it has none.
    fn learn(
        &mut self,
        parents: Vec<i64>,
        tags: &Bound<'_, PyList>,
        classes: &Bound<'_, PyList>,
        places: Vec<u32>,
        columns: Vec<i64>,
    ) -> PyResult<()> {
        for (row, (&parent, &place)) in parents.iter().zip(&places).enumerate() {
            let above = usize::try_from(parent).map_or(ROOT, |parent| places[parent]);
            let texts = (self.number(&tags.get_item(row)?)?, self.number(&classes.get_item(row)?)?);
            if let (Some(tag), Some(class)) = texts {
                self.places.insert((above, tag, class), place);
            }
            if self.columns.len() <= place as usize {
                self.columns.resize(place as usize + 1, None);
            }
            self.columns[place as usize] = u32::try_from(columns[row]).ok();
        }
        Ok(())
    }

    /// Returns the distance of a page to each template; None if it has a step that was not learned, or more
    /// leaves in one place than there are weights.
    fn distances(
        &mut self,
        parents: &Bound<'_, PyList>,
        tags: &Bound<'_, PyList>,
        classes: &Bound<'_, PyList>,
        leaves: &Bound<'_, PyList>,
    ) -> PyResult<Option<Vec<f64>>> {
        let mut held: Vec<u32> = Vec::with_capacity(parents.len());
        let mut places: Vec<u32> = Vec::with_capacity(parents.len());
        let mut is_known = true;
        for (((parent, tag), class), leaves) in parents.iter().zip(tags).zip(classes).zip(leaves) {
            let parent: i64 = parent.extract()?;
            let above = usize::try_from(parent).map_or(Some(&ROOT), |parent| places.get(parent));
            let step = (above.copied(), self.known(&tag)?, self.known(&class)?);
            let (Some(above), Some(tag), Some(class)) = step else {
                is_known = false;
                break;
            };
            let Some(&place) = self.places.get(&(above, tag, class)) else {
                is_known = false;
                break;
            };
            places.push(place);
            let leaves: usize = leaves.extract()?;
            if let Some(column) = self.columns[place as usize].filter(|_| leaves > 0) {
                if self.counts[column as usize] == 0 {
                    held.push(column);
                }
                let count = &mut self.counts[column as usize];
                *count = count.saturating_add(leaves);
            }
        }
        let is_light = held.iter().all(|&column| self.counts[column as usize] < self.weights.len());
        let found = (is_known && is_light).then(|| self.distances_of(&held));
        held.iter().for_each(|&column| self.counts[column as usize] = 0);
        Ok(found)
    }
}

impl TemplateSpace {
    /// Returns the number of a text, None if it has no UTF-8.
    fn number(&mut self, text: &Bound<'_, PyAny>) -> PyResult<Option<u32>> {
        let Ok(text) = text.cast::<PyString>()?.to_str() else { return Ok(None) };
        if let Some(&known) = self.texts.get(text) {
            return Ok(Some(known));
        }
        let number = self.texts.len() as u32;
        self.texts.insert(text.to_owned(), number);
        Ok(Some(number))
    }

    fn known(&self, text: &Bound<'_, PyAny>) -> PyResult<Option<u32>> {
        let text = text.cast::<PyString>()?.to_str();
        Ok(text.ok().and_then(|text| self.texts.get(text)).copied())
    }

    /// Sums column by column, in the order in which the page shows them, as Python does: equal to the last bit.
    fn distances_of(&self, held: &[u32]) -> Vec<f64> {
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
