//! Class-aware tag paths with the rarity filter of a site, as `clustering.class_paths` has them.

use crate::text::words;
use pyo3::prelude::*;
use pyo3::types::PyString;
use rustc_hash::{FxHashMap, FxHashSet};

/// Place above the first element of a path.
pub const ROOT: u32 = 0;

/// Between the elements of a path, and between the tag and the class tokens of an element.
const ELEMENT: char = '\n';
const TOKEN: char = ' ';

/// The end of a path: an element below another place.
#[derive(Default)]
struct Place {
    above: u32,
    element: u32,
    /// Whether the path is one that others are shortened to.
    is_known: bool,
    /// What the path itself stands for, None if for nothing.
    column: Option<u32>,
    /// What it stands for once shortened, as far as somebody asked.
    settled: Option<Option<u32>>,
}

/// An element of a path some of whose tokens may be gone, which may be one that no path has.
struct Element<'a> {
    number: Option<u32>,
    tag: &'a str,
    /// With the rank of each.
    tokens: Vec<(usize, &'a str)>,
}

impl Element<'_> {
    fn text(&self) -> String {
        let mut text = String::from(self.tag);
        for (_, token) in &self.tokens {
            text.push(TOKEN);
            text.push_str(token);
        }
        text
    }
}

/// Paths by place, and what each stands for once its rare tokens are gone.
pub struct ClassPaths {
    numbered: FxHashSet<Box<str>>,
    /// Class tokens that count; the rarest has the lowest rank.
    ranks: FxHashMap<Box<str>, usize>,
    elements: FxHashMap<Box<str>, u32>,
    texts: Vec<Box<str>>,
    below: FxHashMap<(u32, u32), u32>,
    places: Vec<Place>,
}

impl ClassPaths {
    /// Takes iterables of text: tokens that keep their digits, tokens rarest first, known paths, and paths that have a
    /// column. What is no UTF-8 is left out: no page that is asked for here has it.
    pub fn new(
        numbered: &Bound<'_, PyAny>,
        rarest_first: &Bound<'_, PyAny>,
        known: &Bound<'_, PyAny>,
        columns: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let mut paths = ClassPaths {
            numbered: texts_of(numbered)?.into_iter().map(|(_, token)| token).collect(),
            ranks: texts_of(rarest_first)?.into_iter().map(|(rank, token)| (token, rank)).collect(),
            elements: FxHashMap::default(),
            texts: Vec::new(),
            below: FxHashMap::default(),
            places: vec![Place::default()],
        };
        for (_, path) in texts_of(known)? {
            let at = paths.place_of(&path);
            paths.places[at as usize].is_known = true;
        }
        for (column, path) in texts_of(columns)? {
            let at = paths.place_of(&path);
            paths.places[at as usize].column = u32::try_from(column).ok();
        }
        Ok(paths)
    }

    /// Returns the place of a path.
    fn place_of(&mut self, path: &str) -> u32 {
        path.split(ELEMENT).fold(ROOT, |above, element| {
            let element = self.intern(element.into());
            self.place(above, element)
        })
    }

    /// Returns the number of an element: its tag, and those of its class tokens that count.
    pub fn element(&mut self, tag: &str, classes: &str) -> u32 {
        let mut tokens: Vec<Box<str>> = words(classes).map(|token| self.folded(token)).collect();
        tokens.retain(|token| self.ranks.contains_key(token));
        tokens.sort_unstable();
        tokens.dedup();
        let mut text = String::from(tag);
        for token in tokens {
            text.push(TOKEN);
            text.push_str(&token);
        }
        self.intern(text.into())
    }

    /// Returns the place of an element below another place.
    pub fn place(&mut self, above: u32, element: u32) -> u32 {
        let new = self.places.len() as u32;
        let at = *self.below.entry((above, element)).or_insert(new);
        if at == new {
            self.places.push(Place { above, element, ..Place::default() });
        }
        at
    }

    /// Returns the column of what the path of a place stands for.
    pub fn column(&mut self, at: u32) -> Option<u32> {
        if let Some(settled) = self.places[at as usize].settled {
            return settled;
        }
        let column = self.settle(at).and_then(|at| self.places[at as usize].column);
        self.places[at as usize].settled = Some(column);
        column
    }

    /// Returns the place of a path without its rarest tokens, as many as it takes to be a known path or to be bare;
    /// None if that one has no place.
    fn settle(&self, at: u32) -> Option<u32> {
        if self.places[at as usize].is_known {
            return Some(at);
        }
        let mut path = self.path_to(at);
        let rows = path.iter().enumerate();
        let mut held: Vec<(usize, usize)> = rows
            .flat_map(|(row, element)| element.tokens.iter().map(move |&(rank, _)| (rank, row)))
            .collect();
        held.sort_unstable();
        for of_one_token in held.chunk_by(|one, other| one.0 == other.0) {
            for &(rank, row) in of_one_token {
                path[row].tokens.retain(|token| token.0 != rank);
                path[row].number = self.elements.get(path[row].text().as_str()).copied();
            }
            let found = self.find(&path);
            if found.is_some_and(|at| self.places[at as usize].is_known) {
                return found;
            }
        }
        self.find(&path)
    }

    /// Returns the elements of the path of a place.
    fn path_to(&self, mut at: u32) -> Vec<Element<'_>> {
        let mut path = Vec::new();
        while at != ROOT {
            let place = &self.places[at as usize];
            let mut parts = self.texts[place.element as usize].split(TOKEN);
            let tag = parts.next().unwrap_or_default();
            let tokens = parts.filter_map(|token| Some((*self.ranks.get(token)?, token))).collect();
            path.push(Element { number: Some(place.element), tag, tokens });
            at = place.above;
        }
        path.reverse();
        path
    }

    fn find(&self, path: &[Element<'_>]) -> Option<u32> {
        path.iter().try_fold(ROOT, |above, element| self.below.get(&(above, element.number?)).copied())
    }

    fn folded(&self, token: &str) -> Box<str> {
        if self.numbered.contains(token) || !token.bytes().any(|byte| byte.is_ascii_digit()) {
            return token.into();
        }
        let mut text = String::with_capacity(token.len());
        let mut is_run = false;
        for c in token.chars() {
            match (c.is_ascii_digit(), is_run) {
                (true, false) => text.push('#'),
                (true, true) => {}
                (false, _) => text.push(c),
            }
            is_run = c.is_ascii_digit();
        }
        text.into()
    }

    fn intern(&mut self, text: Box<str>) -> u32 {
        if let Some(&known) = self.elements.get(&text) {
            return known;
        }
        let new = self.texts.len() as u32;
        self.texts.push(text.clone());
        self.elements.insert(text, new);
        new
    }
}

/// Returns the texts of an iterable with their numbers, without those that are no UTF-8.
fn texts_of(texts: &Bound<'_, PyAny>) -> PyResult<Vec<(usize, Box<str>)>> {
    let mut found = Vec::new();
    for (number, text) in texts.try_iter()?.enumerate() {
        if let Ok(text) = text?.cast::<PyString>()?.to_str() {
            found.push((number, text.into()));
        }
    }
    Ok(found)
}
