//! Columns of Python in few bytes.

use crate::text_numbers::TextNumbers;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use rustc_hash::FxHashSet;

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

/// A column of numbers, as bytes of uint64.
type Column<'py> = Bound<'py, PyBytes>;

/// Returns the distinct rows of three columns of numbers in their order, column by column.
#[pyfunction]
pub fn distinct_rows<'py>(
    py: Python<'py>,
    one: Vec<u64>,
    two: Vec<u64>,
    three: Vec<u64>,
) -> PyResult<(Column<'py>, Column<'py>, Column<'py>)> {
    if one.len() != two.len() || one.len() != three.len() {
        return Err(PyValueError::new_err("columns differ in length"));
    }
    let mut known = FxHashSet::default();
    let mut columns: [Vec<u8>; 3] = Default::default();
    for ((one, two), three) in one.into_iter().zip(two).zip(three) {
        if known.insert((one, two, three)) {
            for (column, number) in columns.iter_mut().zip([one, two, three]) {
                column.extend(number.to_ne_bytes());
            }
        }
    }
    let [one, two, three] = columns.map(|column| PyBytes::new(py, &column));
    Ok((one, two, three))
}
