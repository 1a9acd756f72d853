//! Columns of Python in few bytes.

use crate::text_numbers::TextNumbers;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns the distinct names of a column in their order, and the number of each row's in a byte; None if there are
/// too many for that.
#[pyfunction]
pub fn numbered<'py>(
    names: &Bound<'py, PyList>,
) -> PyResult<Option<(Bound<'py, PyDict>, Bound<'py, PyBytes>)>> {
    let mut known = TextNumbers::new(names.py());
    let mut numbers = Vec::with_capacity(names.len());
    for name in names {
        let Ok(number) = u8::try_from(known.number(&name)?) else { return Ok(None) };
        numbers.push(number);
    }
    Ok(Some((known.texts(names.py()), PyBytes::new(names.py(), &numbers))))
}

/// A column of numbers, as bytes.
type Column<'py> = Bound<'py, PyBytes>;

/// Returns the distinct links of a page in their order: their distinct pairs of Apaths as two columns of uint64, the
/// number of each link's pair in a byte, and its target, uint64. None if there are too many pairs for that.
#[pyfunction]
pub fn distinct_links<'py>(
    py: Python<'py>,
    apaths: Vec<u64>,
    classless: Vec<u64>,
    targets: Vec<u64>,
) -> PyResult<Option<(Column<'py>, Column<'py>, Column<'py>, Column<'py>)>> {
    if apaths.len() != classless.len() || apaths.len() != targets.len() {
        return Err(PyValueError::new_err("columns differ in length"));
    }
    let (mut pairs, mut known) = (FxHashMap::default(), FxHashSet::default());
    let mut columns: [Vec<u8>; 4] = Default::default();
    for ((apath, classless), target) in apaths.into_iter().zip(classless).zip(targets) {
        let new = pairs.len();
        let pair = *pairs.entry((apath, classless)).or_insert(new);
        let Ok(row) = u8::try_from(pair) else { return Ok(None) };
        if pair == new {
            columns[0].extend(apath.to_ne_bytes());
            columns[1].extend(classless.to_ne_bytes());
        }
        if known.insert((row, target)) {
            columns[2].push(row);
            columns[3].extend(target.to_ne_bytes());
        }
    }
    let [apaths, classless, rows, targets] = columns.map(|column| PyBytes::new(py, &column));
    Ok(Some((apaths, classless, rows, targets)))
}
