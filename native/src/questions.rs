//! The links of a question, read from the bytes of the message at once: who asks about a thousand links is not to pay
//! for a thousand objects of Python.

use crate::link_table::LinkTable;
use crate::text::hash64;
use crate::urls::identity;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

const LINKS: u64 = 2; // field of ScoreLinksRequest
const URL: u64 = 1; // fields of CandidateLink
const TICKET: u64 = 2;
const ANCHOR: u64 = 3;

/// Bytes of the longest URL that is remembered, as in `urls.identity`.
const MAX_BYTES: usize = 512;

type Span = Range<usize>;

/// Where the parts of a link are in the bytes of the message.
#[derive(Default)]
struct Link {
    url: Span,
    ticket: Span,
    anchor: Span,
}

/// What is told of a URL: its identity, None if that is the URL itself; the hash of that, and whether there may be a
/// session id in either.
#[derive(Clone)]
struct Told {
    key: Option<Box<str>>,
    hash: u64,
    is_doubtful: bool,
}

/// Reads the links of questions. A crawler that asks again sends the same links, so what was told is remembered: of
/// URLs of `MAX_BYTES`, and all is forgotten beyond `max_urls`.
#[pyclass(frozen)]
pub struct LinkReader {
    max_urls: usize,
    known: Mutex<HashMap<Box<[u8]>, Told>>,
}

#[pymethods]
impl LinkReader {
    #[new]
    fn new(max_urls: usize) -> Self {
        LinkReader { max_urls, known: Mutex::default() }
    }

    /// Reads a `ScoreLinksRequest`. URLs may have `max_chars`; `identify` gives the identity of those that take
    /// more than plain characters, None if a URL has none. None if one has not: then Python says why.
    fn read(
        &self,
        raw: &Bound<'_, PyBytes>,
        max_chars: usize,
        identify: &Bound<'_, PyAny>,
    ) -> PyResult<Option<AskedLinks>> {
        let bytes = raw.as_bytes();
        let Some(links) = links_of(bytes) else { return Ok(None) };
        let plain = self.tell_all(bytes, &links, max_chars);
        let mut told = Vec::with_capacity(links.len());
        for (link, plain) in links.iter().zip(plain) {
            told.push(match plain {
                Some(plain) => plain,
                None => {
                    let url = text(raw.py(), bytes, &link.url);
                    let Some(key) = identify.call1((&url,))?.extract::<Option<String>>()? else {
                        return Ok(None);
                    };
                    tell(url.to_str()?, key)
                }
            });
        }
        let (ticket_firsts, tickets) = numbered(links.iter().map(|link| &bytes[link.ticket.clone()]));
        Ok(Some(AskedLinks { raw: raw.clone().unbind(), links, told, ticket_firsts, tickets }))
    }
}

impl LinkReader {
    /// Returns what is known of each link or can be told without Python.
    fn tell_all(&self, bytes: &[u8], links: &[Link], max_chars: usize) -> Vec<Option<Told>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() > self.max_urls {
            known.clear();
        }
        known.reserve(links.len());
        let mut tell_one = |link: &Link| {
            let url = &bytes[link.url.clone()];
            if url.len() > max_chars {
                return None;
            }
            if let Some(told) = known.get(url) {
                return Some(told.clone());
            }
            let text = std::str::from_utf8(url).ok()?;
            let told = tell(text, identity(text)?);
            if url.len() <= MAX_BYTES {
                known.insert(url.into(), told.clone());
            }
            Some(told)
        };
        links.iter().map(&mut tell_one).collect()
    }
}

fn tell(url: &str, key: String) -> Told {
    let is_doubtful = !has_no_session(url.as_bytes()) || (key != url && !has_no_session(key.as_bytes()));
    let hash = hash64(&key);
    Told { key: (key != url).then(|| key.into()), hash, is_doubtful }
}

/// Links with what is told of each; columns of them are made when they are asked for.
#[pyclass(frozen)]
pub struct AskedLinks {
    raw: Py<PyBytes>,
    links: Vec<Link>,
    told: Vec<Told>,
    /// The first link with each ticket, and the number of its ticket for each link.
    ticket_firsts: Vec<usize>,
    tickets: Vec<usize>,
}

#[pymethods]
impl AskedLinks {
    fn __len__(&self) -> usize {
        self.links.len()
    }

    /// Returns URLs and identities in which there may be a session id, as long as no name of one was learned.
    fn doubtful<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let bytes = self.raw.as_bytes(py);
        let found = PyList::empty(py);
        for (link, told) in self.links.iter().zip(&self.told).filter(|(_, told)| told.is_doubtful) {
            found.append(text(py, bytes, &link.url))?;
            if let Some(key) = &told.key {
                found.append(&key[..])?;
            }
        }
        Ok(found)
    }

    /// Returns the URLs.
    fn urls<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.texts(py, |link| &link.url)
    }

    /// Returns the anchor texts.
    fn anchors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.texts(py, |link| &link.anchor)
    }

    /// Returns the identities.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, (0..self.links.len()).map(|row| self.key(py, row)).collect::<Vec<_>>())
    }

    /// Returns the hashes of the identities.
    fn hashes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.told.iter().map(|told| told.hash).collect::<Vec<_>>())
    }

    /// Returns the distinct tickets in the order of their first rows, and for each row the place of its own, as bytes
    /// of 64-bit numbers.
    fn tickets<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyBytes>)> {
        let bytes = self.raw.as_bytes(py);
        let distinct =
            self.ticket_firsts.iter().map(|&row| PyBytes::new(py, &bytes[self.links[row].ticket.clone()]));
        Ok((PyList::new(py, distinct)?, places(py, &self.tickets)))
    }

    /// Returns the distinct pairs of URL pattern and link path in the order of their first rows, and for each row the place
    /// of its own. `link_paths` are those of the distinct tickets; `pattern_of` gives the pattern of an identity that
    /// `table` does not know.
    fn groups<'py>(
        &self,
        table: &Bound<'py, LinkTable>,
        link_paths: Vec<u64>,
        pattern_of: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyBytes>)> {
        let py = table.py();
        let known: Vec<Option<i64>> = {
            let table = table.borrow();
            self.told.iter().map(|told| table.pattern(told.hash)).collect()
        };
        let mut groups = Vec::with_capacity(known.len());
        for (row, pattern) in known.into_iter().enumerate() {
            let pattern = match pattern {
                Some(pattern) => pattern,
                None => pattern_of.call1((self.key(py, row),))?.extract()?,
            };
            groups.push((pattern, link_paths[self.tickets[row]]));
        }
        let (firsts, rows) = numbered(groups.iter());
        let distinct: Vec<(i64, u64)> = firsts.into_iter().map(|row| groups[row]).collect();
        Ok((PyList::new(py, distinct)?, places(py, &rows)))
    }
}

impl AskedLinks {
    fn key<'py>(&self, py: Python<'py>, row: usize) -> Bound<'py, PyString> {
        match &self.told[row].key {
            Some(key) => PyString::new(py, key),
            None => text(py, self.raw.as_bytes(py), &self.links[row].url),
        }
    }

    fn texts<'py>(&self, py: Python<'py>, part: impl Fn(&Link) -> &Span) -> PyResult<Bound<'py, PyList>> {
        let bytes = self.raw.as_bytes(py);
        PyList::new(py, self.links.iter().map(|link| text(py, bytes, part(link))).collect::<Vec<_>>())
    }
}

fn text<'py>(py: Python<'py>, bytes: &[u8], span: &Span) -> Bound<'py, PyString> {
    PyString::new(py, &String::from_utf8_lossy(&bytes[span.clone()]))
}

/// Returns the row of each distinct value, in the order of these rows, and for each row the place of its own.
fn numbered<V: Copy + Eq + Hash>(values: impl Iterator<Item = V>) -> (Vec<usize>, Vec<usize>) {
    let mut known: HashMap<V, usize> = HashMap::new();
    let (mut firsts, mut places) = (Vec::new(), Vec::new());
    let mut last: Option<(V, usize)> = None;
    for (row, value) in values.enumerate() {
        let place = match last {
            Some((same, place)) if same == value => place, // links of one place stand together
            _ => *known.entry(value).or_insert(firsts.len()),
        };
        if place == firsts.len() {
            firsts.push(row);
        }
        last = Some((value, place));
        places.push(place);
    }
    (firsts, places)
}

/// Returns numbers as bytes that an array of 64-bit integers is made of.
fn places<'py>(py: Python<'py>, numbers: &[usize]) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|&number| (number as i64).to_ne_bytes()).collect();
    PyBytes::new(py, &bytes)
}

/// Says whether nothing in a URL may be a session id: `urls.session_ids._is_plain`.
fn has_no_session(url: &[u8]) -> bool {
    let question = memchr::memchr(b'?', url).unwrap_or(url.len());
    let (address, query) = url.split_at(question);
    let begins = |at: usize, name: &[u8]| {
        query.get(at..at + name.len()).is_some_and(|part| part.eq_ignore_ascii_case(name))
    };
    let is_sure = |(at, byte): (usize, &u8)| match byte | 0x20 {
        b's' => begins(at, b"sess") || begins(at, b"sid"),
        b'z' => begins(at, b"zenid"),
        b'c' => begins(at, b"cfid") || begins(at, b"cftoken"),
        _ => false,
    };
    url.is_ascii()
        && memchr::memchr(b';', address).is_none()
        && !memchr::memchr_iter(b'(', address).any(|at| address[..at].ends_with(b"/"))
        && !query.iter().enumerate().any(is_sure)
}

/// Returns where the links of a request are; None if its bytes are no message.
fn links_of(bytes: &[u8]) -> Option<Vec<Link>> {
    let mut links = Vec::new();
    each_field(bytes, 0..bytes.len(), |field, span| {
        if field == LINKS {
            let mut link = Link::default();
            each_field(bytes, span, |field, span| {
                match field {
                    URL => link.url = span,
                    TICKET => link.ticket = span,
                    ANCHOR => link.anchor = span,
                    _ => {}
                }
                Some(())
            })?;
            links.push(link);
        }
        Some(())
    })?;
    Some(links)
}

/// Calls `found` with each field of a message that has a length; others are passed over. None if the bytes are none.
fn each_field(bytes: &[u8], span: Span, mut found: impl FnMut(u64, Span) -> Option<()>) -> Option<()> {
    let mut at = span.start;
    while at < span.end {
        let tag = varint(bytes, &mut at)?;
        let length = match tag & 7 {
            0 => {
                varint(bytes, &mut at)?;
                0
            }
            1 => 8,
            2 => usize::try_from(varint(bytes, &mut at)?).ok()?,
            5 => 4,
            _ => return None,
        };
        let end = at.checked_add(length).filter(|&end| end <= span.end)?;
        if tag & 7 == 2 {
            found(tag >> 3, at..end)?;
        }
        at = end;
    }
    (at == span.end).then_some(())
}

fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        number |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}
