"""Tags as libxml2 serialises them: names, classes and links, each distinct tag read once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from html import unescape

SKIPPED_TAGS = ("script", "style", "noscript", "noframes", "noembed", "template", "head")
# Elements whose text runs on in the line; around others a reader sees a break.
_INLINE = frozenset(
    [
        *("a", "abbr", "b", "bdi", "bdo", "cite", "code", "em", "font", "i", "kbd", "mark", "q", "s", "samp"),
        *("small", "span", "strong", "sub", "sup", "time", "tt", "u", "var"),
    ]
)
MAX_NAME_CHARS = 40
"""Characters kept of an element name: none of HTML is longer; bounds what a page can put into paths."""

MAX_CLASS_CHARS = 1_000
"""Characters read of a class attribute, up to the last whole token; the longest of 400 stored pages has 399.
All that is kept of a site names classes, so this bounds its memory in bytes."""

MAX_LINK_PATH_CHARS = 2_000
"""Characters of a link path; a longer one is one of the others. The longest of 400 stored pages has 194."""

# Characters kept of ``rel`` and ``alt``: all tokens of HTML that links may have are 150 characters together,
# and of an anchor's text 200 are kept unless told otherwise. Bounds, chosen and not measured.
MAX_REL_CHARS, MAX_ALT_CHARS = 200, 2_000
# Characters of a tag that count as one entry of `TagTable`; usual ones have fewer.
_ENTRY_CHARS = 400
# In serialised XML a value holds no quote, and a name no blank and "=" only in front: read one after the
# other from the first blank on, attributes are not mistaken for what looks like one inside a value.
_ATTRIBUTE = re.compile(r' (=?[^ =]*)="([^"]*)"')
_TAG = re.compile(r"<[^>]*>")
_CONTROL = "&#xFFFD;"
"""A control character, as libxml2 serialises it: the URL standard strips it from links, as a blank."""
_unescape = lru_cache(maxsize=256)(unescape)
_NUMBERED = re.compile(r"&#x?[0-9A-F]+;", re.IGNORECASE)


class Step:
    """One step of a tag path: element name and class tokens. Equal steps of a `TagTable` are one object."""

    __slots__ = ("classes", "inline", "name", "size")

    def __init__(self, name: str, classes: str) -> None:
        self.name = name[:MAX_NAME_CHARS]
        self.classes = classes
        self.inline = name in _INLINE
        self.size = len(self.name) + len(classes)


@dataclass(frozen=True, slots=True, eq=False)
class Special:
    """A tag that counts each time it is met: ``img``, or ``a``, ``area`` or a frame that leads somewhere."""

    step: Step
    href: str
    rel: str
    alt: str
    is_leaf: bool
    is_link: bool
    empty: bool


_TARGETS = {"a": "href", "area": "href", "frame": "src", "iframe": "src"}
"""Attributes that make elements links."""

TEXT = Step("text()", "")
END = Step("/", "")
"""Any end tag."""
VOID = Step("", "")
"""Any element without content that is no leaf."""


class TagTable:
    """What the insides of tags (``div class="post"``, ``/div``, ``br/``) mean, remembered across pages.

    Pages of a site repeat their tags, so most tags of a page are one dictionary look-up.

    `steps`: meaning of the tags that only change the place: a `Step` to go down, `END` or `VOID`.
    `specials`: meaning of the tags that are leaves or links.
    """

    def __init__(self) -> None:
        self.steps: dict[str, Step] = {}
        self.specials: dict[str, Special] = {}
        self._interned: dict[tuple[str, str], Step] = {}
        self._chars = 0

    def __len__(self) -> int:
        """Return the number of entries, where `_ENTRY_CHARS` of long tags count as one more."""
        return len(self.steps) + len(self.specials) + len(self._interned) + self._chars // _ENTRY_CHARS

    def learn(self, raw: str) -> Step | Special:
        """Read a tag that is not in the table yet, and remember it."""
        self._chars += len(raw)
        special = self._special(raw) if raw.startswith(("a ", "area ", "img", "frame ", "iframe ")) else None
        if special is not None:
            self.specials[raw] = special
            return special
        step = self.steps[raw] = self._step(raw)
        return step

    def _step(self, raw: str) -> Step:
        if raw[:1] == "/":
            return END
        if raw[-1:] == "/":
            return VOID
        return self._intern(tag_name(raw), class_tokens(attribute_of(raw, "class")))

    def _special(self, raw: str) -> Special | None:
        name, found = tag_name(raw), attributes_of(raw)
        href = found.get(_TARGETS.get(name, ""))
        if name != "img" and href is None:
            return None
        text = found.get("title" if name in {"frame", "iframe"} else "alt", "") if name != "a" else ""
        return Special(
            step=self._intern(name, class_tokens(found.get("class", ""))),
            href=href or "",
            rel=rel_tokens(found.get("rel", "")) if name in {"a", "area"} else "",
            alt=" ".join(text[:MAX_ALT_CHARS].split()),
            is_leaf=name in {"a", "img"},
            is_link=name != "img",
            empty=raw[-1] == "/",
        )

    def _intern(self, name: str, classes: str) -> Step:
        key = (name, classes)
        found = self._interned.get(key)
        if found is None:
            found = self._interned[key] = Step(name, classes)
        return found


def attributes_of(raw: str) -> dict[str, str]:
    """Return the attributes of the inside of a start tag like ``a href="x" class="y"``."""
    found = _ATTRIBUTE.findall(raw.replace(_CONTROL, " "))
    if "&" in raw:
        return {name: unescaped(value) for name, value in found}
    return dict(found)


def attribute_of(raw: str, name: str) -> str:
    """Return one attribute of the inside of a start tag, empty if there is none."""
    return attributes_of(raw).get(name, "") if f' {name}="' in raw else ""


def unescaped(text: str) -> str:
    """Return ``html.unescape(text)`` of a text as libxml2 serialises it, at a fiftieth of its cost.

    Such a text has escapes of ``<``, ``>``, ``&`` and the double quote, and of some controls by number.

    Examples
    --------
    >>> unescaped("a &amp;lt; b &#9;")
    'a &lt; b \\t'
    """
    if "&" not in text:
        return text
    while found := _NUMBERED.search(text):  # few different ones, however long the text
        text = text.replace(found[0], _unescape(found[0]))
    text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"')
    return text.replace("&amp;", "&")


def class_tokens(value: str) -> str:
    """Return a class attribute as `PathTrie.classes` has it: distinct tokens, sorted, joined by one space.

    Of one longer than `MAX_CLASS_CHARS` the tokens that end before that.
    """
    if len(value) > MAX_CLASS_CHARS:
        is_cut = not value[MAX_CLASS_CHARS - 1].isspace() and not value[MAX_CLASS_CHARS].isspace()
        tokens = value[:MAX_CLASS_CHARS].split()
        value = " ".join(tokens[:-1] if is_cut else tokens)
    if not value or value.isalnum():
        return value
    return " ".join(sorted(set(value.split())))


def rel_tokens(value: str) -> str:
    """Return a ``rel`` attribute as `Links.rels` has it: lower case tokens joined by one space."""
    return " ".join(value[:MAX_REL_CHARS].lower().split())


def tag_name(raw: str) -> str:
    """Return the element name of the inside of a start tag."""
    return raw.partition(" ")[0].rstrip("/")


def mend(markup: str) -> str:
    """Replace every ``<`` inside a tag by ``_``: HTML allows it in names, but here it begins a tag."""
    return _TAG.sub(lambda tag: "<" + tag[0][1:].replace("<", "_"), markup)
