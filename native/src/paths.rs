//! The tag paths of a page, as `features.walk.PathTree` and `features.html.PageLinkPaths` keep them. What pages of a
//! site have in common is remembered between pages: steps, paths and link paths are numbers that stay.

use crate::tags::{Tag, Tags};
use crate::text::{class_tokens, length, prefix};
use crate::walk::Bounds;
use rustc_hash::FxHashMap;

/// A number for an element name with class tokens.
pub type StepId = u32;
/// A number for a place in the tree of a page; 0 is outside the root element.
pub type Node = u32;
/// A number for a path, which stays from page to page; 0 is the empty one.
type Path = u32;

/// The step to a text.
pub const TEXT: StepId = 0;

/// Characters of texts that count as one entry of what is remembered, as in `features.markup`.
const ENTRY_CHARS: usize = 400;

/// The number of the class attribute that is not there.
const NO_CLASS: u32 = 0;

struct Step {
    name: u32,
    classes: u32,
    is_inline: bool,
}

/// Distinct steps.
pub struct Steps {
    steps: Vec<Step>,
    known: FxHashMap<(Tag, u32), StepId>,
    /// Names as they are shown, cut; and class attributes, with and without their tokens in order.
    pub names: Texts,
    pub classes: Texts,
    as_written: FxHashMap<String, u32>,
    written_chars: usize,
    name_chars: usize,
    class_chars: usize,
}

impl Steps {
    fn new(bounds: &Bounds) -> Self {
        let mut names = Texts::default();
        let mut classes = Texts::default();
        let text = Step { name: names.number("text()"), classes: classes.number(""), is_inline: false };
        Steps {
            steps: vec![text],
            known: FxHashMap::default(),
            names,
            classes,
            as_written: FxHashMap::default(),
            written_chars: 0,
            name_chars: bounds.name_chars,
            class_chars: bounds.class_chars,
        }
    }

    /// Returns the step to an element with a class attribute as written.
    pub fn step(&mut self, tag: Tag, classes: &str, tags: &mut Tags) -> StepId {
        let classes = if classes.is_empty() { NO_CLASS } else { self.classes(classes) };
        if let Some(&known) = self.known.get(&(tag, classes)) {
            return known;
        }
        let found = self.new_step(tag, classes, tags);
        self.known.insert((tag, classes), found);
        found
    }

    fn classes(&mut self, written: &str) -> u32 {
        if let Some(&known) = self.as_written.get(written) {
            return known;
        }
        let number = self.classes.number(&class_tokens(written, self.class_chars));
        self.as_written.insert(written.to_owned(), number);
        self.written_chars += written.len();
        number
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

    /// Returns the element name of a step, as it is shown.
    pub fn name(&self, step: StepId) -> &str {
        &self.names.texts[self.steps[step as usize].name as usize]
    }

    /// Returns element name and classes of a step, as they are shown.
    pub fn shown(&self, step: StepId) -> (&str, &str) {
        (self.name(step), &self.classes.texts[self.steps[step as usize].classes as usize])
    }

    pub fn is_inline(&self, step: StepId) -> bool {
        self.steps[step as usize].is_inline
    }

    fn chars(&self, step: StepId) -> usize {
        let step = &self.steps[step as usize];
        self.names.chars[step.name as usize] + self.classes.chars[step.classes as usize]
    }

    fn entries(&self) -> usize {
        let texts = self.names.entries() + self.classes.entries();
        self.steps.len() + self.as_written.len() + texts + self.written_chars / ENTRY_CHARS
    }
}

/// Distinct texts, by number.
#[derive(Default)]
pub struct Texts {
    pub texts: Vec<String>,
    chars: Vec<usize>,
    all_chars: usize,
    known: FxHashMap<String, u32>,
}

impl Texts {
    pub fn number(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.known.get(text) {
            return known;
        }
        let number = self.texts.len() as u32;
        let chars = length(text);
        self.texts.push(text.to_owned());
        self.chars.push(chars);
        self.all_chars += chars;
        self.known.insert(text.to_owned(), number);
        number
    }

    /// Returns how much it remembers: texts, of which long ones count for more.
    pub fn entries(&self) -> usize {
        self.texts.len() + self.all_chars / ENTRY_CHARS
    }
}

/// Numbers by number that hold for one page, and are gone with the next.
#[derive(Default)]
struct OfPage {
    page: u32,
    values: Vec<(u32, u32)>,
}

impl OfPage {
    fn begin(&mut self) {
        self.page += 1;
    }

    fn get(&self, at: u32) -> Option<u32> {
        let &(page, value) = self.values.get(at as usize)?;
        (page == self.page).then_some(value)
    }

    fn set(&mut self, at: u32, value: u32) {
        if self.values.len() <= at as usize {
            self.values.resize(at as usize + 1, (0, 0));
        }
        self.values[at as usize] = (self.page, value);
    }
}

/// The paths of all pages so far.
struct Paths {
    parents: Vec<Path>,
    steps: Vec<StepId>,
    below: FxHashMap<(Path, StepId), Path>,
}

impl Paths {
    fn below(&mut self, path: Path, step: StepId) -> Path {
        let new = self.parents.len() as Path;
        let found = *self.below.entry((path, step)).or_insert(new);
        if found == new {
            self.parents.push(path);
            self.steps.push(step);
        }
        found
    }
}

/// All element paths of a page, as they are met.
pub struct PathTree {
    pub steps: Steps,
    paths: Paths,
    nodes: OfPage,
    /// By node.
    by_node: Vec<Path>,
    parents: Vec<Node>,
    pub texts: Vec<u32>,
    pub leaves: Vec<u32>,
}

/// The paths that end in displayed leaves: `PathTrie`, with numbers for its texts.
#[derive(Default)]
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
        let paths = Paths { parents: vec![0], steps: vec![TEXT], below: FxHashMap::default() };
        let (by_node, parents) = (Vec::new(), Vec::new());
        let (texts, leaves) = (Vec::new(), Vec::new());
        let steps = Steps::new(bounds);
        PathTree { steps, paths, nodes: OfPage::default(), by_node, parents, texts, leaves }
    }

    /// Begins a page.
    pub fn begin(&mut self) {
        self.nodes.begin();
        for column in [&mut self.by_node, &mut self.parents, &mut self.texts, &mut self.leaves] {
            column.clear();
            column.push(0);
        }
    }

    /// Returns how much it remembers from page to page.
    pub fn entries(&self) -> usize {
        self.steps.entries() + self.paths.parents.len()
    }

    /// Returns the node one step below another, new or known.
    pub fn below(&mut self, node: Node, step: StepId) -> Node {
        let path = self.paths.below(self.by_node[node as usize], step);
        if let Some(known) = self.nodes.get(path) {
            return known;
        }
        let new = self.parents.len() as Node;
        self.nodes.set(path, new);
        self.by_node.push(path);
        self.parents.push(node);
        self.texts.push(0);
        self.leaves.push(0);
        new
    }

    pub fn parent(&self, node: Node) -> Node {
        self.parents[node as usize]
    }

    pub fn step(&self, node: Node) -> StepId {
        self.paths.steps[self.by_node[node as usize] as usize]
    }

    /// Makes `trie` that of the page; what was in it is overwritten.
    pub fn fill(&mut self, trie: &mut Trie, bounds: &Bounds) {
        trie.is_depth_cut = self.cut_depth(bounds.depth);
        trie.is_cut = false;
        for column in [&mut trie.tags, &mut trie.classes, &mut trie.leaves] {
            column.clear();
        }
        trie.parents.clear();
        let shown = self.shown();
        let mut place = vec![-1; self.parents.len()];
        let mut chars = 0;
        for node in (0..self.parents.len()).filter(|&node| shown[node]) {
            let step = self.step(node as Node);
            chars += self.steps.chars(step);
            if trie.parents.len() >= bounds.path_nodes || chars > bounds.path_chars {
                trie.is_cut = true;
                break;
            }
            if node > 0 {
                place[node] = trie.parents.len() as i64;
                let parent = place[self.parents[node] as usize];
                self.add(trie, parent, step, self.leaves[node]);
            }
            if self.texts[node] > 0 {
                self.add(trie, place[node], TEXT, self.texts[node]);
            }
        }
    }

    fn add(&self, trie: &mut Trie, parent: i64, step: StepId, leaves: u32) {
        let step = &self.steps.steps[step as usize];
        trie.parents.push(parent);
        trie.tags.push(step.name);
        trie.classes.push(step.classes);
        trie.leaves.push(leaves);
    }

    /// Says of each node whether a displayed leaf ends at it or below.
    fn shown(&self) -> Vec<bool> {
        let leaves = self.texts.iter().zip(&self.leaves);
        let mut shown: Vec<bool> = leaves.map(|(text, leaf)| text + leaf > 0).collect();
        for node in (1..shown.len()).rev() {
            if shown[node] {
                shown[self.parents[node] as usize] = true;
            }
        }
        shown
    }

    /// Counts the leaves of nodes deeper than `most` elements at their ancestor of that depth.
    fn cut_depth(&mut self, most: usize) -> bool {
        let mut depths = vec![0; self.parents.len()];
        let mut is_cut = false;
        for node in 1..depths.len() {
            depths[node] = depths[self.parents[node] as usize] + 1;
            is_cut |= depths[node] > most;
        }
        if is_cut {
            for node in (1..depths.len()).rev().filter(|&node| depths[node] > most) {
                self.texts[self.parents[node] as usize] += self.texts[node] + self.leaves[node];
                (self.texts[node], self.leaves[node]) = (0, 0);
            }
        }
        is_cut
    }
}

/// The link paths of the links of pages: `outer` and `link_path` of `PathTree`.
pub struct LinkPaths {
    pub texts: Texts,
    /// A number for the names around an element, by path; depth, name and next of each number.
    outer: FxHashMap<Path, u32>,
    names: Vec<(i64, u32, u32)>,
    numbers: FxHashMap<(u32, u32), u32>,
    /// A number for the names around an element and its own step; text of each number, once it was made.
    places: FxHashMap<(u32, StepId), u32>,
    text_of: Vec<Text>,
    of_page: PageLinkPaths,
}

#[derive(Clone, Copy)]
enum Text {
    NotMade,
    TooLong,
    Is(u32),
}

/// Those of one page, within bounds: `PageLinkPaths`.
#[derive(Default)]
struct PageLinkPaths {
    rows_of_places: OfPage,
    rows_of_texts: OfPage,
    rows: Vec<u32>,
    chars: usize,
    is_cut: bool,
}

impl LinkPaths {
    pub fn new() -> Self {
        LinkPaths {
            texts: Texts::default(),
            outer: FxHashMap::from_iter([(0, 0)]),
            names: vec![(-1, u32::MAX, 0)],
            numbers: FxHashMap::default(),
            places: FxHashMap::default(),
            text_of: Vec::new(),
            of_page: PageLinkPaths::default(),
        }
    }

    /// Begins a page.
    pub fn begin(&mut self) {
        let page = &mut self.of_page;
        page.rows_of_places.begin();
        page.rows_of_texts.begin();
        page.rows.clear();
        (page.chars, page.is_cut) = (0, false);
    }

    /// Returns how much it remembers from page to page.
    pub fn entries(&self) -> usize {
        self.texts.entries() + self.outer.len() + self.names.len() + self.places.len()
    }

    /// The texts of the link paths of the page, by row.
    pub fn rows(&self) -> &[u32] {
        &self.of_page.rows
    }

    /// Whether some of the page were not told apart.
    pub fn is_cut(&self) -> bool {
        self.of_page.is_cut
    }

    /// Returns the row of the link path of an anchor, which may be that of all others.
    pub fn row(&mut self, paths: &PathTree, node: Node, bounds: &Bounds) -> u32 {
        let place = self.place(paths, node, bounds);
        if let Some(row) = self.of_page.rows_of_places.get(place) {
            return row;
        }
        let page = &self.of_page;
        let is_full = page.rows.len() >= bounds.link_paths || page.chars > bounds.link_paths_chars;
        let text = if is_full { None } else { self.text(paths, node, place, bounds) };
        let row = self.row_of(text, bounds);
        self.of_page.rows_of_places.set(place, row);
        row
    }

    /// Returns the row of a text; None is one that is too long, or there is no room for.
    fn row_of(&mut self, text: Option<u32>, bounds: &Bounds) -> u32 {
        let page = &mut self.of_page;
        if let Some(row) = text.and_then(|text| page.rows_of_texts.get(text)) {
            return row;
        }
        page.is_cut |= text.is_none();
        let text = text.unwrap_or_else(|| self.texts.number(&bounds.other_link_path));
        page.chars += self.texts.chars[text as usize];
        if let Some(row) = page.rows_of_texts.get(text) {
            return row;
        }
        let row = page.rows.len() as u32;
        page.rows.push(text);
        page.rows_of_texts.set(text, row);
        row
    }

    fn place(&mut self, paths: &PathTree, node: Node, bounds: &Bounds) -> u32 {
        let place = (self.outer(paths, node, bounds), paths.step(node));
        let new = self.text_of.len() as u32;
        let found = *self.places.entry(place).or_insert(new);
        if found == new {
            self.text_of.push(Text::NotMade);
        }
        found
    }

    fn outer(&mut self, paths: &PathTree, node: Node, bounds: &Bounds) -> u32 {
        let mut at = paths.parent(node);
        if let Some(&known) = self.outer.get(&paths.by_node[at as usize]) {
            return known;
        }
        let mut above = Vec::new();
        let mut found = loop {
            if let Some(&known) = self.outer.get(&paths.by_node[at as usize]) {
                break known;
            }
            above.push(at);
            at = paths.parent(at);
        };
        for &at in above.iter().rev() {
            let name = paths.steps.steps[paths.step(at) as usize].name;
            let depth = self.names[found as usize].0 + 1;
            if depth < bounds.depth as i64 - 1 {
                let next = self.names.len() as u32;
                let number = *self.numbers.entry((found, name)).or_insert(next);
                if number == next {
                    self.names.push((depth, name, found));
                }
                found = number;
            }
            self.outer.insert(paths.by_node[at as usize], found);
        }
        found
    }

    /// Returns the text of a place; None if it is too long.
    fn text(&mut self, paths: &PathTree, node: Node, place: u32, bounds: &Bounds) -> Option<u32> {
        if let Text::NotMade = self.text_of[place as usize] {
            let text = self.made(paths, node);
            let is_short = length(&text) <= bounds.link_path_chars;
            self.text_of[place as usize] =
                if is_short { Text::Is(self.texts.number(&text)) } else { Text::TooLong };
        }
        match self.text_of[place as usize] {
            Text::Is(text) => Some(text),
            _ => None,
        }
    }

    fn made(&self, paths: &PathTree, node: Node) -> String {
        let names = &paths.steps.names.texts;
        let step = &paths.steps.steps[paths.step(node) as usize];
        let mut parts = vec![names[step.name as usize].as_str()];
        let mut at = self.outer[&paths.by_node[paths.parent(node) as usize]];
        while at > 0 {
            let (_, name, above) = self.names[at as usize];
            parts.push(&names[name as usize]);
            at = above;
        }
        parts.reverse();
        let classes = &paths.steps.classes.texts[step.classes as usize];
        format!("{}[{classes}]", parts.join("/"))
    }
}
