//! The targets of hrefs as objects of Python, remembered across pages.

use crate::urls::{is_of_folder, is_rooted, Base, Target};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Characters of an href and its answer that count as one entry of the table, as in `urls.resolve`.
const ENTRY_CHARS: usize = 400;

/// What hrefs lead to, by the host or the folder of their page; each is worked out once. Forgets all when it
/// holds more than `max_urls`; that never changes an answer.
#[pyclass(frozen)]
pub struct UrlTable {
    max_urls: usize,
    known: Mutex<Known>,
}

/// Hashed with random keys: pages choose the texts.
type Answers = HashMap<Box<str>, Answer>;

#[derive(Default)]
struct Known {
    size: usize,
    of_context: HashMap<String, Answers>,
    /// Those of plain absolute URLs, which are equal in all contexts.
    absolute: Answers,
}

/// What an href leads to.
pub enum Answer {
    No(Py<PyString>),
    Leads { url: Py<PyString>, key: Py<PyString>, chars: usize },
}

#[pymethods]
impl UrlTable {
    #[new]
    fn new(max_urls: usize) -> Self {
        UrlTable { max_urls, known: Mutex::default() }
    }

    /// Entries, of which long ones count for more.
    fn __len__(&self) -> usize {
        self.lock().size
    }
}

impl UrlTable {
    /// Returns what each href leads to from a page whose `UrlResolver` is given: it is asked where more than
    /// concatenation is needed, with nothing locked.
    pub fn answers(&self, hrefs: &[&str], resolver: &Bound<'_, PyAny>) -> PyResult<Vec<Answer>> {
        let py = resolver.py();
        let charset: String = resolver.getattr("charset")?.extract()?;
        let base = Base {
            origin: resolver.getattr("origin")?.extract()?,
            folder: resolver.getattr("folder")?.extract()?,
            is_even: resolver.getattr("is_even")?.extract()?,
            max_chars: resolver.getattr("max_chars")?.extract()?,
        };
        let context_of =
            |href: &str| format!("{charset} {}", if is_rooted(href) { &base.origin } else { &base.folder });
        let contexts = [context_of("/"), context_of("")];
        let found = self.lock().plain_answers(py, hrefs, &base, &contexts, self.max_urls);
        let mut answers = Vec::with_capacity(hrefs.len());
        let resolve = resolver.getattr("resolve")?;
        for (href, answer) in hrefs.iter().zip(found) {
            if let Some(answer) = answer {
                answers.push(answer);
                continue;
            }
            let answer = Answer::of(&resolve.call1((href,))?)?;
            if href.len() <= base.max_chars && is_of_folder(href) {
                let context = &contexts[usize::from(!is_rooted(href))];
                self.lock().remember(context, href, answer.clone_ref(py));
            }
            answers.push(answer);
        }
        Ok(answers)
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Returns what is known or can be told without Python; `contexts` are those of the host and the folder.
    fn plain_answers(
        &mut self,
        py: Python<'_>,
        hrefs: &[&str],
        base: &Base,
        contexts: &[String; 2],
        max_urls: usize,
    ) -> Vec<Option<Answer>> {
        if self.size > max_urls {
            *self = Known::default();
        }
        let tell = |href: &&str| {
            let context = &contexts[usize::from(!is_rooted(href))];
            if let Some(answer) = self.of_context.get(context).and_then(|known| known.get(*href)) {
                return Some(answer.clone_ref(py));
            }
            let answer = match base.resolve(href) {
                Target::Odd => return None,
                Target::Nowhere(reason) => Answer::No(PyString::intern(py, reason).unbind()),
                Target::Leads { url, key } => self.absolute(py, url, &key),
            };
            if href.len() <= base.max_chars {
                self.remember(context, href, answer.clone_ref(py));
            }
            Some(answer)
        };
        hrefs.iter().map(tell).collect()
    }

    fn absolute(&mut self, py: Python<'_>, url: String, key: &str) -> Answer {
        if let Some(known) = self.absolute.get(&url[..]) {
            return known.clone_ref(py);
        }
        let text = PyString::new(py, &url).unbind();
        let key = if *key == url { text.clone_ref(py) } else { PyString::new(py, key).unbind() };
        let answer = Answer::Leads { url: text, key, chars: url.len() };
        self.size += 1 + 3 * url.len() / ENTRY_CHARS;
        self.absolute.insert(url.into_boxed_str(), answer.clone_ref(py));
        answer
    }

    fn remember(&mut self, context: &str, href: &str, answer: Answer) {
        if !self.of_context.contains_key(context) {
            self.of_context.insert(context.to_owned(), Answers::new());
            self.size += 1;
        }
        self.size += 1 + (href.len() + answer.chars()) / ENTRY_CHARS;
        if let Some(known) = self.of_context.get_mut(context) {
            known.insert(href.into(), answer);
        }
    }
}

impl Answer {
    /// Takes over what `UrlResolver.resolve` says: (URL, identity), or the reason why there is none.
    fn of(answer: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(reason) = answer.cast::<PyString>() {
            return Ok(Answer::No(reason.clone().unbind()));
        }
        let pair = answer.cast::<PyTuple>()?;
        let url = pair.get_item(0)?.cast_into::<PyString>()?;
        let key = pair.get_item(1)?.cast_into::<PyString>()?;
        Ok(Answer::Leads { chars: url.len()?, url: url.unbind(), key: key.unbind() })
    }

    fn clone_ref(&self, py: Python<'_>) -> Self {
        match self {
            Answer::No(reason) => Answer::No(reason.clone_ref(py)),
            Answer::Leads { url, key, chars } => {
                Answer::Leads { url: url.clone_ref(py), key: key.clone_ref(py), chars: *chars }
            }
        }
    }

    fn chars(&self) -> usize {
        match self {
            Answer::No(_) => 0,
            Answer::Leads { chars, .. } => 2 * chars,
        }
    }
}
