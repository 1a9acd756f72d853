//! The reader of pages, compiled: UTF-8 of a page to the columns that `linkscore_scoring.features` makes of it.
//!
//! The Python reader is the specification, and for every page this one gives what that one gives, or says
//! why it cannot. Python's lock is not held while a page is read.
#![forbid(unsafe_code)]

mod bounds;
mod class_paths;
mod crowds;
mod entities;
mod html;
mod link_table;
mod outline;
mod page;
mod paths;
mod questions;
mod tags;
mod template_space;
mod text;
mod text_numbers;
mod url_table;
mod urls;
mod walk;

use link_table::LinkTable;
use page::{Page, Reader};
use pyo3::prelude::*;
use questions::{AskedLinks, LinkReader};
use template_space::TemplateSpace;
use url_table::UrlTable;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Reader>()?;
    module.add_class::<Page>()?;
    module.add_class::<UrlTable>()?;
    module.add_class::<LinkTable>()?;
    module.add_class::<AskedLinks>()?;
    module.add_class::<LinkReader>()?;
    module.add_class::<TemplateSpace>()
}
