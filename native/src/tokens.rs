//! URLs cut into the slots of a pattern, as `urls.tokens` does it; odd ones are for Python.

const MAX_SEGMENTS: usize = 12; // as `linkscore_scoring.urls.tokens` has it
const MAX_QUERY_KEYS: usize = 8; // as above
const REST: &str = "/**"; // as above

/// Returns the slots of a URL of printable ASCII without brackets and fragment, if its escapes are plain text.
pub fn url_tokens(key: &str) -> Option<Vec<String>> {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'#' | b'[' | b']');
    let rest = key.strip_prefix("http://").or_else(|| key.strip_prefix("https://"))?;
    if !rest.bytes().all(is_plain) {
        return None;
    }
    let (address, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut segments = address.split('/');
    let mut tokens = vec![segments.next()?.to_ascii_lowercase()];
    for segment in segments {
        push_segment(&mut tokens, segment)?;
    }
    if tokens.len() > MAX_SEGMENTS + 1 {
        tokens.truncate(MAX_SEGMENTS + 1);
        tokens.push(REST.to_owned());
    }
    push_query(&mut tokens, query)?;
    Some(tokens)
}

/// Adds a path segment, cut after a namespace: `Category:Ships` is two slots.
fn push_segment(tokens: &mut Vec<String>, segment: &str) -> Option<()> {
    let text = unquote(segment)?;
    if let Some((space, name)) = text.split_once(':') {
        if !space.is_ascii() {
            return None; // Python knows which letters it takes for digits
        }
        let is_word = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
        if !space.is_empty() && !name.is_empty() && space.bytes().all(is_word) {
            tokens.push(format!("/{space}"));
            tokens.push(fold(':', name));
            return Some(());
        }
    }
    tokens.push(fold('/', &text));
    Some(())
}

/// Adds the names of a query, sorted, and a slot for each value; of a name that comes twice the last.
fn push_query(tokens: &mut Vec<String>, query: &str) -> Option<()> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        pairs.push((fold('?', &unquote(name)?), fold('=', &unquote(value)?)));
    }
    if query.is_empty() {
        return Some(());
    }
    pairs.reverse();
    pairs.sort_by(|one, other| one.0.cmp(&other.0)); // stable: the last value of a name stays in front
    pairs.dedup_by(|next, kept| next.0 == kept.0);
    pairs.truncate(MAX_QUERY_KEYS);
    let names: Vec<&str> = pairs.iter().map(|(name, _)| &name[1..]).collect();
    tokens.push(format!("?{}", names.join("&")));
    tokens.extend(pairs.iter().map(|(name, value)| format!("{}{value}", &name[1..])));
    Some(())
}

/// Returns a text with its escapes read, None if they are no UTF-8.
fn unquote(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|&byte| (byte as char).to_digit(16));
    let mut read = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                read.push((16 * high + low) as u8);
                at += 3;
            }
            (byte, ..) => {
                read.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(read).ok()
}

/// Returns a text behind a mark, with each run of digits as `#`.
fn fold(mark: char, text: &str) -> String {
    let mut folded = String::with_capacity(text.len() + 1);
    folded.push(mark);
    let mut in_digits = false;
    for c in text.chars() {
        if !c.is_ascii_digit() {
            folded.push(c);
        } else if !in_digits {
            folded.push('#');
        }
        in_digits = c.is_ascii_digit();
    }
    folded
}
