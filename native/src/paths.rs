//! The tag paths of a page, as `features.walk.PathTree` and `features.html.PageApaths` keep them.
#![forbid(unsafe_code)]

use crate::bounds::Bounds;
use crate::tags::{Tag, Tags};
use crate::text::{class_tokens, length, prefix};
use rustc_hash::{FxBuildHasher, FxHashMap};

/// A number for an element name with class tokens.
pub type StepId = u32;
/// A number for a place in the tree; 0 is outside the root element.
pub type Node = u32;

/// The step to a text.
pub const TEXT: StepId = 0;

struct Step {
    name: u32,
    classes: u32,
    is_inline: bool,
}

/// The distinct steps of a page.
pub struct Steps {
    steps: Vec<Step>,
    known: FxHashMap<(Tag, u32), StepId>,
    /// Names as they are shown, cut; and class attributes, with and without their tokens in order.
    names: Texts,
    classes: Texts,
    as_written: FxHashMap<String, u32>,
    name_chars: usize,
    class_chars: usize,
}

impl Steps {
    pub fn new(bounds: &Bounds) -> Self {
        let mut names = Texts::default();
        let mut classes = Texts::default();
        let text = Step { name: names.number("text()"), classes: classes.number(""), is_inline: false };
        Steps {
            steps: vec![text],
            known: FxHashMap::default(),
            names,
            classes,
            as_written: FxHashMap::default(),
            name_chars: bounds.name_chars,
            class_chars: bounds.class_chars,
        }
    }

    /// Returns the step to an element with a class attribute as written.
    pub fn step(&mut self, tag: Tag, classes: &str, tags: &mut Tags) -> StepId {
        let classes = match self.as_written.get(classes) {
            Some(&known) => known,
            None => {
                let number = self.classes.number(&class_tokens(classes, self.class_chars));
                self.as_written.insert(classes.to_owned(), number);
                number
            }
        };
        if let Some(&known) = self.known.get(&(tag, classes)) {
            return known;
        }
        let found = self.new_step(tag, classes, tags);
        self.known.insert((tag, classes), found);
        found
    }

    fn new_step(&mut self, tag: Tag, classes: u32, tags: &mut Tags) -> StepId {
        if tags.name(tag).contains('<') {
            // A tag within a tag is how the serialised page would read.
            let name = tags.name(tag).replace('<', "_");
            let mended = tags.tag(&name);
            if let Some(&known) = self.known.get(&(mended, classes)) {
                return known;
            }
            let found = self.new_step(mended, classes, tags);
            self.known.insert((mended, classes), found);
            return found;
        }
        self.steps.push(Step {
            name: self.names.number(prefix(tags.name(tag), self.name_chars)),
            classes,
            is_inline: tags.is_inline(tag),
        });
        self.steps.len() as StepId - 1
    }

    pub fn is_inline(&self, step: StepId) -> bool {
        self.steps[step as usize].is_inline
    }

    fn chars(&self, step: StepId) -> usize {
        let step = &self.steps[step as usize];
        self.names.chars[step.name as usize] + self.classes.chars[step.classes as usize]
    }
}

/// Distinct texts, by number.
#[derive(Default)]
pub struct Texts {
    pub texts: Vec<String>,
    chars: Vec<usize>,
    known: FxHashMap<String, u32>,
}

impl Texts {
    pub fn number(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.known.get(text) {
            return known;
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.to_owned());
        self.chars.push(length(text));
        self.known.insert(text.to_owned(), number);
        number
    }
}

/// Nodes there is room for at once: stored pages have 115 to 262 in the mean.
const USUAL_NODES: usize = 400;

fn with_room(first: u32) -> Vec<u32> {
    let mut column = Vec::with_capacity(USUAL_NODES);
    column.push(first);
    column
}

/// All element paths of a page, as they are met.
pub struct PathTree {
    pub steps: Steps,
    parents: Vec<Node>,
    by_node: Vec<StepId>,
    children: FxHashMap<(Node, StepId), Node>,
    pub texts: Vec<u32>,
    pub leaves: Vec<u32>,
}

/// The paths that end in displayed leaves: `PathTrie`, with numbers for its texts.
pub struct Trie {
    pub parents: Vec<i64>,
    pub tags: Vec<u32>,
    pub classes: Vec<u32>,
    pub leaves: Vec<u32>,
    pub is_depth_cut: bool,
    pub is_cut: bool,
}

impl PathTree {
    pub fn new(bounds: &Bounds) -> Self {
        PathTree {
            steps: Steps::new(bounds),
            parents: with_room(0),
            by_node: with_room(TEXT),
            children: FxHashMap::with_capacity_and_hasher(USUAL_NODES, FxBuildHasher),
            texts: with_room(0),
            leaves: with_room(0),
        }
    }

    /// Returns the node one step below another, new or known.
    pub fn below(&mut self, node: Node, step: StepId) -> Node {
        let new = self.parents.len() as Node;
        let found = *self.children.entry((node, step)).or_insert(new);
        if found == new {
            self.parents.push(node);
            self.by_node.push(step);
            self.texts.push(0);
            self.leaves.push(0);
        }
        found
    }

    pub fn parent(&self, node: Node) -> Node {
        self.parents[node as usize]
    }

    pub fn step(&self, node: Node) -> StepId {
        self.by_node[node as usize]
    }

    /// The names of elements and their classes, by the numbers of a `Trie`.
    pub fn texts_of_steps(&self) -> (&[String], &[String]) {
        (&self.steps.names.texts, &self.steps.classes.texts)
    }

    pub fn trie(&self, bounds: &Bounds) -> Trie {
        let (mut texts, mut leaves) = (self.texts.clone(), self.leaves.clone());
        let is_depth_cut = self.cut_depth(bounds.depth, &mut texts, &mut leaves);
        let shown = self.shown(&texts, &leaves);
        let mut trie = Trie {
            parents: Vec::new(),
            tags: Vec::new(),
            classes: Vec::new(),
            leaves: Vec::new(),
            is_depth_cut,
            is_cut: false,
        };
        let mut place = vec![-1; self.parents.len()];
        let mut chars = 0;
        for node in (0..self.parents.len()).filter(|&node| shown[node]) {
            chars += self.steps.chars(self.by_node[node]);
            if trie.parents.len() >= bounds.path_nodes || chars > bounds.path_chars {
                trie.is_cut = true;
                break;
            }
            if node > 0 {
                place[node] = trie.parents.len() as i64;
                let parent = place[self.parents[node] as usize];
                self.add(&mut trie, parent, self.by_node[node], leaves[node]);
            }
            if texts[node] > 0 {
                self.add(&mut trie, place[node], TEXT, texts[node]);
            }
        }
        trie
    }

    fn add(&self, trie: &mut Trie, parent: i64, step: StepId, leaves: u32) {
        let step = &self.steps.steps[step as usize];
        trie.parents.push(parent);
        trie.tags.push(step.name);
        trie.classes.push(step.classes);
        trie.leaves.push(leaves);
    }

    /// Says of each node whether a displayed leaf ends at it or below.
    fn shown(&self, texts: &[u32], leaves: &[u32]) -> Vec<bool> {
        let mut shown: Vec<bool> = texts.iter().zip(leaves).map(|(text, leaf)| text + leaf > 0).collect();
        for node in (1..shown.len()).rev() {
            if shown[node] {
                shown[self.parents[node] as usize] = true;
            }
        }
        shown
    }

    /// Counts the leaves of nodes deeper than `most` elements at their ancestor of that depth.
    fn cut_depth(&self, most: usize, texts: &mut [u32], leaves: &mut [u32]) -> bool {
        let mut depths = vec![0; self.parents.len()];
        for node in 1..depths.len() {
            depths[node] = depths[self.parents[node] as usize] + 1;
        }
        let deep = |node: &usize| depths[*node] > most;
        for node in (1..depths.len()).rev().filter(deep) {
            texts[self.parents[node] as usize] += texts[node] + leaves[node];
            (texts[node], leaves[node]) = (0, 0);
        }
        (0..depths.len()).any(|node| deep(&node))
    }
}

/// The Apaths of the links of a page, within bounds: `outer` and `apath` of `PathTree`, `PageApaths`.
pub struct Apaths<'a> {
    paths: &'a PathTree,
    bounds: &'a Bounds,
    pub texts: Vec<String>,
    pub is_cut: bool,
    rows: FxHashMap<String, u32>,
    places: FxHashMap<(u32, StepId), u32>,
    chars: usize,
    /// A number for the names around an element, by node; depth, name and next of each number.
    outer: FxHashMap<Node, u32>,
    names: Vec<(i64, u32, u32)>,
    numbers: FxHashMap<(u32, u32), u32>,
}

impl<'a> Apaths<'a> {
    pub fn new(paths: &'a PathTree, bounds: &'a Bounds) -> Self {
        Apaths {
            paths,
            bounds,
            texts: Vec::new(),
            is_cut: false,
            rows: FxHashMap::default(),
            places: FxHashMap::default(),
            chars: 0,
            outer: FxHashMap::from_iter([(0, 0)]),
            names: vec![(-1, u32::MAX, 0)],
            numbers: FxHashMap::default(),
        }
    }

    /// Returns the row of the Apath of an anchor, which may be that of all others.
    pub fn row(&mut self, node: Node) -> u32 {
        let place = (self.outer(node), self.paths.step(node));
        if let Some(&row) = self.places.get(&place) {
            return row;
        }
        let apath = if self.is_full() { String::new() } else { self.apath(place) };
        let row = self.row_of(apath);
        self.places.insert(place, row);
        row
    }

    fn is_full(&self) -> bool {
        self.texts.len() >= self.bounds.apaths || self.chars > self.bounds.apaths_chars
    }

    fn row_of(&mut self, apath: String) -> u32 {
        if let Some(&row) = self.rows.get(&apath) {
            return row;
        }
        let mut apath = apath;
        if self.is_full() || length(&apath) > self.bounds.apath_chars {
            self.is_cut = true;
            apath = self.bounds.other_apath.clone();
        }
        self.chars += length(&apath);
        if let Some(&row) = self.rows.get(&apath) {
            return row;
        }
        let row = self.texts.len() as u32;
        self.texts.push(apath.clone());
        self.rows.insert(apath, row);
        row
    }

    fn name(&self, step: StepId) -> u32 {
        self.paths.steps.steps[step as usize].name
    }

    fn outer(&mut self, node: Node) -> u32 {
        let mut above = Vec::new();
        let mut at = self.paths.parent(node);
        while !self.outer.contains_key(&at) {
            above.push(at);
            at = self.paths.parent(at);
        }
        let mut found = self.outer[&at];
        for &at in above.iter().rev() {
            let (depth, name) = (self.names[found as usize].0 + 1, self.name(self.paths.step(at)));
            if depth < self.bounds.depth as i64 - 1 {
                let next = self.names.len() as u32;
                let number = *self.numbers.entry((found, name)).or_insert(next);
                if number == next {
                    self.names.push((depth, name, found));
                }
                found = number;
            }
            self.outer.insert(at, found);
        }
        found
    }

    fn apath(&self, place: (u32, StepId)) -> String {
        let (names, classes) = self.paths.texts_of_steps();
        let step = &self.paths.steps.steps[place.1 as usize];
        let mut parts = vec![names[step.name as usize].as_str()];
        let mut at = place.0;
        while at > 0 {
            let (_, name, above) = self.names[at as usize];
            parts.push(&names[name as usize]);
            at = above;
        }
        parts.reverse();
        format!("{}[{}]", parts.join("/"), classes[step.classes as usize])
    }
}
