//! The tag paths of a page, as `features.walk.PathTree` and `features.html.PageLinkPaths` keep them. What pages of a
//! site have in common is remembered between pages: steps, paths and link paths are numbers that stay.

use crate::tags::{Tag, Tags};
use crate::text::{class_tokens, length, prefix};
use crate::walk::Bounds;
use rustc_hash::FxHashMap;

/// A number for an element name with class tokens.
pub type StepId = u32;
/// A number for a path, which stays from page to page; 0 is outside the root element.
pub type Node = u32;

/// The step to a text.
pub const TEXT: StepId = 0;

/// Characters of texts that count as one entry of what is remembered, as in `features.walk`.
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

/// Element paths of all pages so far, as they are met.
pub struct PathTree {
    pub steps: Steps,
    below: FxHashMap<(Node, StepId), Node>,
    // By node.
    parents: Vec<Node>,
    step_of: Vec<StepId>,
    depths: Vec<usize>,
    // Of the page: its displayed texts right below each node, its other leaves, and the order of both.
    texts: OfPage,
    leaves: OfPage,
    displayed: Vec<(Node, bool)>,
    places: OfPage,
    text_places: OfPage,
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
        PathTree {
            steps: Steps::new(bounds),
            below: FxHashMap::default(),
            parents: vec![0],
            step_of: vec![TEXT],
            depths: vec![0],
            texts: OfPage::default(),
            leaves: OfPage::default(),
            displayed: Vec::new(),
            places: OfPage::default(),
            text_places: OfPage::default(),
        }
    }

    /// Begins a page.
    pub fn begin(&mut self) {
        for of_page in [&mut self.texts, &mut self.leaves, &mut self.places, &mut self.text_places] {
            of_page.begin();
        }
        self.displayed.clear();
    }

    /// Returns how much it remembers from page to page.
    pub fn entries(&self) -> usize {
        self.steps.entries() + self.parents.len()
    }

    /// Returns the node one step below another, new or known.
    pub fn below(&mut self, node: Node, step: StepId) -> Node {
        let new = self.parents.len() as Node;
        let found = *self.below.entry((node, step)).or_insert(new);
        if found == new {
            self.parents.push(node);
            self.step_of.push(step);
            self.depths.push(self.depths[node as usize] + 1);
        }
        found
    }

    pub fn parent(&self, node: Node) -> Node {
        self.parents[node as usize]
    }

    pub fn step(&self, node: Node) -> StepId {
        self.step_of[node as usize]
    }

    /// Counts a displayed text right below a node, or another leaf that ends at it.
    pub fn display(&mut self, node: Node, is_text: bool) {
        let counts = if is_text { &mut self.texts } else { &mut self.leaves };
        let known = counts.get(node);
        counts.set(node, known.unwrap_or(0) + 1);
        if known.is_none() {
            self.displayed.push((node, is_text));
        }
    }

    /// Returns the deepest node around one, or itself, that is within a depth.
    fn within(&self, mut node: Node, depth: usize) -> Node {
        while self.depths[node as usize] > depth {
            node = self.parent(node);
        }
        node
    }

    /// Makes `trie` that of the page: leaves in their order, each behind the nodes around it that are new.
    pub fn fill(&mut self, trie: &mut Trie, bounds: &Bounds) {
        *trie = Trie::default();
        for (node, is_text) in std::mem::take(&mut self.displayed) {
            let n = if is_text { self.texts.get(node) } else { self.leaves.get(node) }.unwrap_or(0);
            let top = self.within(node, bounds.depth);
            trie.is_depth_cut |= top != node;
            let place = self.place(trie, top, is_text || top != node);
            trie.leaves[place as usize] += n;
        }
        // Cut at the end: which leaves count where does not depend on it.
        let mut chars = 0;
        let mut fits = |(tag, class): (&u32, &u32)| {
            chars += self.steps.names.chars[*tag as usize] + self.steps.classes.chars[*class as usize];
            chars <= bounds.path_chars
        };
        let most = trie
            .tags
            .iter()
            .zip(&trie.classes)
            .take(bounds.path_nodes)
            .take_while(|&step| fits(step))
            .count();
        trie.is_cut = most < trie.parents.len();
        trie.parents.truncate(most);
        for column in [&mut trie.tags, &mut trie.classes, &mut trie.leaves] {
            column.truncate(most);
        }
    }

    /// Returns the place of a node in a trie, or of the text right below it.
    fn place(&mut self, trie: &mut Trie, node: Node, is_text: bool) -> u32 {
        let mut above = Vec::new();
        let mut at = node;
        while at > 0 && self.places.get(at).is_none() {
            above.push(at);
            at = self.parent(at);
        }
        for &at in above.iter().rev() {
            let place = self.add(trie, self.parent(at), self.step(at));
            self.places.set(at, place);
        }
        let known = if is_text { self.text_places.get(node) } else { self.places.get(node) };
        known.unwrap_or_else(|| {
            let place = self.add(trie, node, TEXT);
            self.text_places.set(node, place);
            place
        })
    }

    /// Adds a step below a node.
    fn add(&self, trie: &mut Trie, above: Node, step: StepId) -> u32 {
        let step = &self.steps.steps[step as usize];
        trie.parents.push(self.places.get(above).map_or(-1, i64::from));
        trie.tags.push(step.name);
        trie.classes.push(step.classes);
        trie.leaves.push(0);
        trie.parents.len() as u32 - 1
    }
}

/// The link paths of the links of pages: `PathTree.link_path` and `PageLinkPaths`.
pub struct LinkPaths {
    pub texts: Texts,
    /// By node, once it was made.
    text_of: Vec<Text>,
    // Of the page.
    rows_of_nodes: OfPage,
    rows_of_texts: OfPage,
    /// The texts of the link paths of the page, by row.
    pub rows: Vec<u32>,
    chars: usize,
    /// Whether some of the page were not told apart.
    pub is_cut: bool,
}

#[derive(Clone, Copy)]
enum Text {
    NotMade,
    TooLong,
    Is(u32),
}

impl LinkPaths {
    pub fn new() -> Self {
        LinkPaths {
            texts: Texts::default(),
            text_of: Vec::new(),
            rows_of_nodes: OfPage::default(),
            rows_of_texts: OfPage::default(),
            rows: Vec::new(),
            chars: 0,
            is_cut: false,
        }
    }

    /// Begins a page.
    pub fn begin(&mut self) {
        self.rows_of_nodes.begin();
        self.rows_of_texts.begin();
        self.rows.clear();
        (self.chars, self.is_cut) = (0, false);
    }

    /// Returns how much it remembers from page to page.
    pub fn entries(&self) -> usize {
        self.texts.entries() + self.text_of.len()
    }

    /// Returns the row of the link path of an anchor, which may be that of all others.
    pub fn row(&mut self, paths: &PathTree, node: Node, bounds: &Bounds) -> u32 {
        if let Some(row) = self.rows_of_nodes.get(node) {
            return row;
        }
        let is_full = self.rows.len() >= bounds.link_paths || self.chars > bounds.link_paths_chars;
        let text = if is_full { None } else { self.text(paths, node, bounds) };
        let row = self.row_of(text, bounds);
        self.rows_of_nodes.set(node, row);
        row
    }

    /// Returns the row of a text; None is one that is too long, or there is no room for.
    fn row_of(&mut self, text: Option<u32>, bounds: &Bounds) -> u32 {
        if let Some(row) = text.and_then(|text| self.rows_of_texts.get(text)) {
            return row;
        }
        self.is_cut |= text.is_none();
        let text = text.unwrap_or_else(|| self.texts.number(&bounds.other_link_path));
        self.chars += self.texts.chars[text as usize];
        if let Some(row) = self.rows_of_texts.get(text) {
            return row;
        }
        let row = self.rows.len() as u32;
        self.rows.push(text);
        self.rows_of_texts.set(text, row);
        row
    }

    /// Returns the text of the link path of a node; None if it is too long.
    fn text(&mut self, paths: &PathTree, node: Node, bounds: &Bounds) -> Option<u32> {
        if self.text_of.len() <= node as usize {
            self.text_of.resize(paths.parents.len(), Text::NotMade);
        }
        if let Text::NotMade = self.text_of[node as usize] {
            let text = link_path(paths, node, bounds);
            let is_short = length(&text) <= bounds.link_path_chars;
            self.text_of[node as usize] =
                if is_short { Text::Is(self.texts.number(&text)) } else { Text::TooLong };
        }
        match self.text_of[node as usize] {
            Text::Is(text) => Some(text),
            _ => None,
        }
    }
}

/// Returns element names from the root, of the outermost ones if there are too many, and the classes of the last.
fn link_path(paths: &PathTree, node: Node, bounds: &Bounds) -> String {
    let mut parts = vec![paths.steps.name(paths.step(node))];
    let mut at = paths.within(paths.parent(node), bounds.depth - 1);
    while at > 0 {
        parts.push(paths.steps.name(paths.step(at)));
        at = paths.parent(at);
    }
    parts.reverse();
    format!("{}[{}]", parts.join("/"), paths.steps.shown(paths.step(node)).1)
}
