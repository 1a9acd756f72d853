//! What a page holds where, for layout: the columns of `features.layout.PageTree`.

use crate::html::{Attribute, Attributes};
use crate::paths::{StepId, Steps, TEXT};
use crate::text::{blanked, is_space, prefix};

/// Elements without look or use, unless they hold something; and those whose text is not displayed as such.
const UNSEEN: [&str; 8] = ["br", "hr", "link", "meta", "param", "source", "wbr", "col"]; // as PageTree has them
const FORM_TEXTS: [&str; 4] = ["option", "select", "textarea", "datalist"]; // as above
const MOMENT_CHARS: usize = 120; // as above

/// Attributes that only a layout asks for.
#[derive(Default)]
pub struct Marks {
    id: Option<String>,
    datetime: Option<String>,
}

impl Marks {
    pub fn of(attributes: &Attributes) -> Self {
        let get = |name| attributes.get(name).map(|value| blanked(value).into_owned());
        Marks { id: get(Attribute::Id), datetime: get(Attribute::Datetime) }
    }
}

/// Elements, texts and anchors in document order; element 0 is the place outside the root element.
pub struct Outline {
    pub parents: Vec<u32>,
    pub steps: Vec<StepId>,
    pub first_texts: Vec<u32>,
    pub last_texts: Vec<u32>,
    pub texts: Vec<String>,
    pub text_nodes: Vec<u32>,
    pub text_anchors: Vec<i64>,
    pub anchor_nodes: Vec<u32>,
    pub ids: Vec<String>,
    pub moments: Vec<(u32, String)>,
    open: Vec<u32>,
    inside: Vec<u32>,
}

impl Outline {
    pub fn new() -> Self {
        Outline {
            parents: vec![0],
            steps: vec![TEXT],
            first_texts: vec![0],
            last_texts: vec![0],
            texts: Vec::new(),
            text_nodes: Vec::new(),
            text_anchors: Vec::new(),
            anchor_nodes: Vec::new(),
            ids: Vec::new(),
            moments: Vec::new(),
            open: vec![0],
            inside: Vec::new(),
        }
    }

    /// Begins an element that holds something.
    pub fn enter(&mut self, step: StepId, steps: &Steps, is_link: bool, marks: Marks) {
        let node = self.add(step);
        self.note(marks, step, steps);
        self.open.push(node);
        if is_link {
            self.inside.push(self.anchor_nodes.len() as u32);
            self.anchor_nodes.push(node);
        }
    }

    /// Takes in an element that holds nothing.
    pub fn add_empty(&mut self, step: StepId, steps: &Steps, is_link: bool, marks: Marks) {
        if UNSEEN.contains(&steps.name(step)) {
            self.ids.extend(marks.id);
            return;
        }
        let node = self.add(step);
        self.note(marks, step, steps);
        if is_link {
            self.anchor_nodes.push(node);
        }
    }

    pub fn leave(&mut self) {
        if self.open.len() > 1 {
            if let Some(node) = self.open.pop() {
                self.close(node);
                if self.inside.last().is_some_and(|&anchor| self.anchor_nodes[anchor as usize] == node) {
                    self.inside.pop();
                }
            }
        }
    }

    /// Takes in a displayed text.
    pub fn add_text(&mut self, text: &str, steps: &Steps) {
        let node = self.open[self.open.len() - 1];
        if FORM_TEXTS.contains(&steps.name(self.steps[node as usize])) {
            return;
        }
        self.texts.push(text.trim_matches(is_space).to_owned());
        self.text_nodes.push(node);
        self.text_anchors.push(self.inside.last().map_or(-1, |&anchor| i64::from(anchor)));
    }

    /// Ends what is open.
    pub fn end(&mut self) {
        while self.open.len() > 1 {
            self.leave();
        }
        self.close(0);
    }

    fn add(&mut self, step: StepId) -> u32 {
        let node = self.parents.len() as u32;
        let texts = self.texts.len() as u32;
        self.parents.push(self.open[self.open.len() - 1]);
        self.steps.push(step);
        self.first_texts.push(texts);
        self.last_texts.push(texts);
        node
    }

    fn note(&mut self, marks: Marks, step: StepId, steps: &Steps) {
        self.ids.extend(marks.id);
        if let Some(value) = marks.datetime.filter(|value| !value.is_empty() && steps.name(step) == "time") {
            self.moments.push((self.texts.len() as u32, prefix(&value, MOMENT_CHARS).to_owned()));
        }
    }

    fn close(&mut self, node: u32) {
        let node = node as usize;
        self.last_texts[node] = self.texts.len() as u32;
    }
}
