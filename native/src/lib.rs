//! The reader of pages, compiled: UTF-8 of a page to the columns that `linkscore_scoring.features` makes of it.
//!
//! The Python reader is the specification, and for every page this one gives what that one gives, or says
//! why it cannot. Python's lock is not held while a page is read.
#![forbid(unsafe_code)]

mod bounds;
mod class_paths;
mod columns;
mod crowds;
mod entities;
mod facts;
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
mod text_table;
mod tickets;
mod tokens;
mod url_table;
mod urls;
mod walk;

use facts::FactReader;
use link_table::LinkTable;
use page::{Page, Reader};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use questions::{AskedLinks, LinkReader};
use template_space::TemplateSpace;
use text_table::TextTable;
use tickets::TicketMac;
use url_table::UrlTable;

/// Returns the slots of a URL, None if Python has to cut it.
#[pyfunction]
fn url_tokens(key: &Bound<'_, PyString>) -> Option<Vec<String>> {
    key.to_str().ok().and_then(tokens::url_tokens)
}

/// Returns the hash of each text, None if one of them has no UTF-8.
#[pyfunction]
fn hash_all(texts: &Bound<'_, PyList>) -> PyResult<Option<Vec<u64>>> {
    let mut hashes = Vec::with_capacity(texts.len());
    for text in texts {
        match text.cast::<PyString>()?.to_str() {
            Ok(text) => hashes.push(text::hash64(text)),
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(hashes))
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Reader>()?;
    module.add_class::<Page>()?;
    module.add_class::<UrlTable>()?;
    module.add_class::<LinkTable>()?;
    module.add_class::<AskedLinks>()?;
    module.add_class::<LinkReader>()?;
    module.add_class::<FactReader>()?;
    module.add_class::<TemplateSpace>()?;
    module.add_class::<TextTable>()?;
    module.add_class::<TicketMac>()?;
    module.add_function(wrap_pyfunction!(columns::numbered, module)?)?;
    module.add_function(wrap_pyfunction!(columns::distinct_links, module)?)?;
    module.add_function(wrap_pyfunction!(hash_all, module)?)?;
    module.add_function(wrap_pyfunction!(url_tokens, module)?)
}
