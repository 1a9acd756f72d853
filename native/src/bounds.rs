//! Bounds of what is read of a page; Python has their values and what they mean.

pub struct Bounds {
    pub elements: usize,
    pub depth: usize,
    pub links: usize,
    pub path_nodes: usize,
    pub anchor_chars: usize,
    pub path_chars: usize,
    pub name_chars: usize,
    pub class_chars: usize,
    pub rel_chars: usize,
    pub alt_chars: usize,
    pub block_chars: usize,
    pub link_paths: usize,
    pub link_paths_chars: usize,
    pub link_path_chars: usize,
    pub other_link_path: String,
}
