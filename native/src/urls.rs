//! What an href leads to, where concatenation and plain characters are enough, as `urls.resolve` and
//! `urls.identity` say it. All else is for Python.

/// What the hrefs of a page are relative to, as `UrlResolver` has it.
pub struct Base {
    /// Scheme and host, without a slash at the end.
    pub origin: String,
    /// The page's folder, with a slash at the end.
    pub folder: String,
    /// Whether nothing in the folder keeps hrefs from being put behind it.
    pub is_even: bool,
    /// Longest URL, in characters; here in bytes, so that some that are not ASCII are left to Python.
    pub max_chars: usize,
}

/// What is known of an href.
pub enum Target {
    Leads {
        url: String,
        key: String,
    },
    Nowhere(&'static str),
    /// Python has to say.
    Odd,
}

impl Base {
    /// Returns what an href leads to.
    pub fn resolve(&self, href: &str) -> Target {
        let name = name_of(href);
        if name.is_empty() {
            return Target::Nowhere(if href.contains('#') { "fragment" } else { "empty" });
        }
        if name.len() > self.max_chars || name.contains(['\t', '\n', '\r']) {
            return Target::Odd;
        }
        let found = self.join(name).filter(|url| url.len() <= self.max_chars);
        match found.and_then(|url| identity(&url).map(|key| (url, key))) {
            Some((url, key)) => Target::Leads { url, key },
            None => Target::Odd,
        }
    }

    /// Returns the absolute URL if it takes no more than concatenation.
    fn join(&self, mut name: &str) -> Option<String> {
        if is_absolute(name) {
            return (!name.contains(';')).then(|| name.to_owned());
        }
        if is_careful(name) {
            return None;
        }
        if name.starts_with('/') {
            return Some(format!("{}{name}", self.origin));
        }
        if !self.is_even {
            return None;
        }
        let mut folder = &self.folder[..];
        while let Some(rest) = name.strip_prefix("../") {
            name = rest;
            if folder.len() > self.origin.len() + 1 {
                let above = folder[..folder.len() - 1].rfind('/').map_or(0, |slash| slash + 1);
                folder = &folder[..above];
            }
        }
        name = name.strip_prefix("./").unwrap_or(name);
        (!is_uneven(name)).then(|| format!("{folder}{name}"))
    }
}

/// Says whether what an href leads to may be remembered for its folder: not if it takes more from its page, a
/// query or the scheme alone, or has no host.
pub fn is_of_folder(href: &str) -> bool {
    let name = name_of(href);
    if name.contains(['\t', '\n', '\r']) {
        return false; // taken out before it is read
    }
    let name = name.as_bytes();
    let scheme = [&b"http:"[..], b"https:"].into_iter();
    let mut bare = scheme.filter(|scheme| {
        name.len() >= scheme.len()
            && name[..scheme.len()].eq_ignore_ascii_case(scheme)
            && !name[scheme.len()..].starts_with(b"//")
    });
    let hostless = name.starts_with(b"//") && !name.get(2).is_some_and(u8::is_ascii_alphanumeric);
    !(name.starts_with(b"?") || hostless || bare.next().is_some())
}

/// Says whether an href is looked up by the host of its page, not by the folder.
pub fn is_rooted(href: &str) -> bool {
    href.starts_with('/') || is_absolute(href)
}

/// Returns an href without fragment and without what is stripped around it.
fn name_of(href: &str) -> &str {
    href.split('#').next().unwrap_or("").trim_matches(|c| c <= ' ')
}

fn is_absolute(name: &str) -> bool {
    name.starts_with("http://") || name.starts_with("https://")
}

/// Says whether a name begins with a scheme, `//` or `?`, or has parameters, `\\` or, if rooted, dots in its path.
fn is_careful(name: &str) -> bool {
    let path = name.split('?').next().unwrap_or("");
    path.is_empty()
        || path.starts_with("//")
        || path.contains([';', '\\'])
        || (path.starts_with('/') && path.contains("/."))
        || has_scheme(name)
}

fn has_scheme(name: &str) -> bool {
    let bytes = name.as_bytes();
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-');
    let end = bytes.iter().position(|byte| !is_part(byte));
    bytes.first().is_some_and(u8::is_ascii_alphabetic) && end.is_some_and(|end| bytes[end] == b':')
}

/// Says whether a relative name has dot segments or empty segments.
fn is_uneven(name: &str) -> bool {
    let path = name.split('?').next().unwrap_or("");
    path.starts_with(['.', '/']) || path.contains("//") || path.contains("/.")
}

/// Returns the identity of a plain URL: `plain_identity`, without the queries whose keys take more than sorting.
pub fn identity(url: &str) -> Option<String> {
    let bytes = url.as_bytes();
    let host = if url.starts_with("http://") { 7 } else { 8 };
    if !is_absolute(url) {
        return None;
    }
    let path = path_start(bytes, host)?;
    let question = bytes.iter().position(|&byte| byte == b'?').unwrap_or(bytes.len());
    if question < path || !is_plain_path(&bytes[path..question]) {
        return None;
    }
    if question == bytes.len() {
        return Some(url.to_owned());
    }
    let mut pairs = Vec::new();
    for pair in url[question + 1..].split('&') {
        let (key, value) = pair.split_once('=')?;
        if !is_plain_key(key.as_bytes()) || !is_plain_value(value.as_bytes()) {
            return None;
        }
        pairs.push((key, value));
    }
    if pairs.len() > 1 {
        pairs.sort_unstable();
        if pairs.windows(2).any(|two| two[0].0 == two[1].0) || pairs.iter().any(|(key, _)| key.contains('%'))
        {
            return None;
        }
    }
    let mut found = String::with_capacity(url.len() + 8);
    found.push_str(&url[..question]);
    for (number, (key, value)) in pairs.into_iter().enumerate() {
        found.push(if number == 0 { '?' } else { '&' });
        found.push_str(key);
        found.push('=');
        push_quoted(&mut found, value);
    }
    Some(found)
}

/// Returns where the path begins, of a host in lower case with a short port if any.
fn path_start(bytes: &[u8], host: usize) -> Option<usize> {
    let is_name = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if !bytes.get(host).is_some_and(is_name) {
        return None;
    }
    let mut at = host + 1;
    loop {
        match bytes.get(at)? {
            b'-' => {}
            b'.' if bytes.get(at + 1).is_some_and(is_name) => {}
            byte if is_name(byte) => {}
            _ => break,
        }
        at += 1;
    }
    if bytes[at] == b':' {
        let digits = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=4).contains(&digits) || bytes[at + 1] == b'0' {
            return None;
        }
        at += 1 + digits;
    }
    (bytes.get(at) == Some(&b'/')).then_some(at)
}

const IS_PLAIN_IN_PATH: [bool; 256] = letters_digits_and(b"/_~.:@!$&'()*+,=-");
const IS_PLAIN_IN_VALUE: [bool; 256] = letters_digits_and(b"_.~:/,@!$()*?=+-");

const fn letters_digits_and(others: &[u8]) -> [bool; 256] {
    let mut found = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        found[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let mut at = 0;
    while at < others.len() {
        found[others[at] as usize] = true;
        at += 1;
    }
    found
}

/// Says whether a path has nothing that is escaped, unescaped or taken out.
fn is_plain_path(path: &[u8]) -> bool {
    let is_simple = path.iter().all(|&byte| IS_PLAIN_IN_PATH[usize::from(byte)]);
    if is_simple {
        return !path.windows(2).any(|two| two == b"/.");
    }
    let mut at = 0;
    while at < path.len() {
        at += match path[at] {
            b'/' if path.get(at + 1) == Some(&b'.') => return false,
            b'%' if is_high_escape(path, at) || path[at..].starts_with(b"%20") => 3,
            byte if IS_PLAIN_IN_PATH[usize::from(byte)] => 1,
            _ => return false,
        };
    }
    true
}

fn is_plain_key(key: &[u8]) -> bool {
    let mut at = 0;
    while at < key.len() {
        at += match key[at] {
            b'%' if is_high_escape(key, at) => 3,
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'~' | b'-' => 1,
            _ => return false,
        };
    }
    !key.is_empty()
}

fn is_plain_value(value: &[u8]) -> bool {
    let mut at = 0;
    while at < value.len() {
        at += match value[at] {
            b'%' if is_kept_escape(value, at) => 3,
            byte if IS_PLAIN_IN_VALUE[usize::from(byte)] => 1,
            _ => return false,
        };
    }
    true
}

/// Says whether there is an escape of a byte that is not ASCII.
fn is_high_escape(text: &[u8], at: usize) -> bool {
    matches!(text.get(at + 1), Some(b'8' | b'9' | b'A'..=b'F')) && is_hex(text.get(at + 2))
}

/// Says whether there is an escape that is left as it is in a value.
fn is_kept_escape(text: &[u8], at: usize) -> bool {
    let (Some(first), Some(second)) = (text.get(at + 1), text.get(at + 2)) else { return false };
    match first {
        b'0' | b'1' => is_hex(Some(second)),
        b'2' => matches!(second, b'1'..=b'9' | b'A'..=b'C' | b'F'),
        b'3' => matches!(second, b'A'..=b'F'),
        b'4' | b'6' => *second == b'0',
        b'5' => matches!(second, b'B'..=b'E'),
        b'7' => matches!(second, b'B'..=b'D' | b'F'),
        _ => is_high_escape(text, at),
    }
}

fn is_hex(byte: Option<&u8>) -> bool {
    matches!(byte, Some(b'0'..=b'9' | b'A'..=b'F'))
}

/// Adds a query value with all escaped that `canonicalize_url` escapes.
fn push_quoted(found: &mut String, value: &str) {
    for byte in value.bytes() {
        if b":/,@!$()*?=".contains(&byte) {
            const HEX: &[u8; 16] = b"0123456789ABCDEF";
            found.push('%');
            found.push(HEX[usize::from(byte >> 4)] as char);
            found.push(HEX[usize::from(byte & 15)] as char);
        } else {
            found.push(byte as char);
        }
    }
}
