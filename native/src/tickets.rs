//! Tickets: the same body with one Apath after the other, each closed by a MAC.

use blake2::digest::consts::U8;
use blake2::digest::{KeyInit, Mac};
use blake2::Blake2bMac;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

const MAC_BYTES: usize = 8;

/// Writes the tickets of one crawl, and tells them from others.
#[pyclass(frozen)]
pub struct TicketMac {
    keyed: Blake2bMac<U8>,
}

#[pymethods]
impl TicketMac {
    /// `key` is that of the crawl, 1 to 64 bytes.
    #[new]
    fn new(key: &[u8]) -> PyResult<Self> {
        let keyed = <Blake2bMac<U8> as KeyInit>::new_from_slice(key);
        keyed.map(|keyed| TicketMac { keyed }).map_err(|_| PyValueError::new_err("key of 1 to 64 bytes"))
    }

    /// Returns for each Apath the bytes before it, its own, those behind it, and the MAC of all three.
    fn write_all<'py>(
        &self,
        py: Python<'py>,
        before: &[u8],
        apaths: Vec<u64>,
        behind: &[u8],
    ) -> Vec<Bound<'py, PyBytes>> {
        let mut ticket = Vec::new();
        apaths
            .into_iter()
            .map(|apath| {
                ticket.clear();
                ticket.extend_from_slice(before);
                ticket.extend_from_slice(&apath.to_be_bytes());
                ticket.extend_from_slice(behind);
                let mac = self.mac(&ticket);
                ticket.extend_from_slice(&mac);
                PyBytes::new(py, &ticket)
            })
            .collect()
    }

    /// Says of each ticket whether it ends in the MAC of what stands before.
    fn are_whole(&self, tickets: Vec<Bound<'_, PyBytes>>) -> Vec<bool> {
        let is_whole = |raw: &[u8]| {
            let body = raw.len().checked_sub(MAC_BYTES);
            body.is_some_and(|end| self.mac(&raw[..end]) == raw[end..])
        };
        tickets.iter().map(|ticket| is_whole(ticket.as_bytes())).collect()
    }
}

impl TicketMac {
    fn mac(&self, body: &[u8]) -> [u8; MAC_BYTES] {
        self.keyed.clone().chain_update(body).finalize().into_bytes().into()
    }
}
