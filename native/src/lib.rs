//! The reader of pages, compiled: UTF-8 of a page to the columns that `linkscore_scoring.features` makes of it.
//!
//! The Python reader is the specification, and for every page this one gives what that one gives, or says
//! why it cannot. Python's lock is not held while a page is read.
#![forbid(unsafe_code)]

mod entities;
mod html;
mod outline;
mod page;
mod paths;
mod tags;
mod text;
mod walk;

use page::Reader;
use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Reader>()
}
