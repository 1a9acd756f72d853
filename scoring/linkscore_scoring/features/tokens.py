"""Tags of a page as bytes, before it is parsed: what a parser would choke on goes, and `<meta>` is found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html import unescape

MAX_ATTRIBUTES = 1_000
"""Attributes of a tag, from which on it loses all: libxml2 appends them to a linked list, so that many take
quadratic time. Chosen, not measured."""

MAX_OPEN = 500
"""Elements within each other that are kept of a page too deep for libxml2; browsers keep 512."""

CROWDED_BYTES = 16_384
"""Pages smaller than this are not searched for crowded tags: 8,000 attributes take 4 ms."""

_ATTRIBUTE = rb"[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>\"'][^\s>]*+)?+)?+"
# Whole tags, one after the other and never one inside of another, so that each byte is read once. What has no
# tags in it (comments, scripts) is passed over as a tokenizer does.
_TEXT = (
    rb"!--(?:-?>|.*?(?:-->|--!>|\Z))"
    rb"|(script|style|title|textarea|xmp|iframe|noembed|noframes)(?=[\s/>])(?:"
    + _ATTRIBUTE
    + rb")*+.*?(?:</\1|\Z)"
)
_FLAGS = re.DOTALL | re.IGNORECASE
_TAG = re.compile(rb"<(?:" + _TEXT + rb"|[a-zA-Z][^\s/>]*+(?:" + _ATTRIBUTE + rb")*+)", _FLAGS)
_TAG_OR_END = re.compile(
    rb"<(?:" + _TEXT + rb"|(/?[a-zA-Z][^\s/>]*+)(?:" + _ATTRIBUTE + rb")*+[\s/]*+>?)", _FLAGS
)
_NAME = re.compile(rb"</?([a-zA-Z][^\s/>]*)")
_ONE_ATTRIBUTE = re.compile(
    rb"[\s/]*+([^\s/>][^\s/>=]*+)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>\"'][^\s>]*+))?+)?+"
)
_CROWDED_TAG = re.compile(
    rb"<([a-zA-Z][^\s/>]*+)((?:" + _ATTRIBUTE + rb"){%d,}+)" % MAX_ATTRIBUTES, re.DOTALL
)
# A name and what separates it from the next: so long is the shortest tag that is crowded, at least.
_CROWDED_TAG_BYTES = 2 * MAX_ATTRIBUTES
_QUOTED_TAG_END = re.compile(rb"=\s*+(?:\"[^\">]*+>|'[^'>]*+>)")
_TAG_START = re.compile(rb"<[a-zA-Z]")
_LAST_ENDS = re.compile(rb"</(?:body|html)(?=[\s/>])[^>]*+(?:>|\Z)", re.IGNORECASE)
# Empty elements, and those that are links or that the head is read from.
_KEPT_AT_ANY_DEPTH = frozenset(
    b"a /a area base br col embed frame hr img input link meta param source track wbr".split()
)


def without_last_ends(markup: bytes) -> bytes:
    """Return a page without end tags of body and html: what follows them belongs to the body, as browsers
    have it (WHATWG HTML, 13.2.6.4.19 and following).
    """
    return _LAST_ENDS.sub(b"", markup)


def tags_in(markup: bytes, name: bytes, *, having: bytes) -> Iterator[bytes]:
    """Yield the start tags of a name, without ``>``, as far as `having` stands behind the first of them."""
    lower = markup.lower()
    start, last = lower.find(b"<" + name), lower.rfind(b"<" + name)
    if start < 0 or lower.find(having, start) < 0:
        return
    for tag in _TAG.finditer(markup):
        if tag.start() > last:
            return
        found = _NAME.match(tag[0])
        if found is not None and found[1].lower() == name:
            yield tag[0]


def attributes_of_tag(tag: bytes) -> dict[str, str]:
    """Return the attributes of a start tag: names in lower case, of several of one name the first.

    Examples
    --------
    >>> attributes_of_tag(b"<meta CHARSET=utf-8 content='a &amp; b'")
    {'charset': 'utf-8', 'content': 'a & b'}
    """
    name = _NAME.match(tag)
    found: dict[str, str] = {}
    for key, *values in _ONE_ATTRIBUTE.findall(tag, name.end() if name else 0):
        value = next(filter(None, values), b"").decode("latin-1")
        found.setdefault(key.decode("latin-1").lower(), unescape(value))
    return found


def flattened(markup: bytes, max_tags: int) -> bytes:
    """Return a page without the tags that open elements below `MAX_OPEN` others, and without their ends; cut
    behind `max_tags`.

    What stands in them is kept, one level higher: as browsers do with what is too deep for them.
    """
    parts: list[bytes] = []
    names: list[bytes] = []
    n_open: Counter[bytes] = Counter()
    done = 0
    for number, token in enumerate(_TAG_OR_END.finditer(markup)):
        if number == max_tags:
            markup = markup[: token.start()]
            break
        name = token[2]
        if name is None or (name := name.lower()) in _KEPT_AT_ANY_DEPTH:
            continue
        if name[:1] == b"/":
            name = name[1:]
            is_dropped = not n_open[name] or len(names) > MAX_OPEN
            while n_open[name]:
                n_open[last := names.pop()] -= 1
                if last == name:
                    break
        elif token[0][-2:] == b"/>":
            continue
        else:
            names.append(name)
            n_open[name] += 1
            is_dropped = len(names) > MAX_OPEN
        if is_dropped:
            parts.append(markup[done : token.start()])
            done = token.end()
    return b"".join([*parts, markup[done:]])


def without_crowds(markup: bytes) -> bytes:
    """Return a page whose tags of `MAX_ATTRIBUTES` and more have none."""
    if not _may_be_crowded(markup):
        return markup
    parts, done = [], 0
    for tag in _TAG.finditer(markup):
        start, end = tag.span()
        if end - start > _CROWDED_TAG_BYTES and (crowded := _CROWDED_TAG.match(markup, start)):
            parts += [markup[done : crowded.start(2)]]
            done = crowded.end()
    return b"".join([*parts, markup[done:]]) if parts else markup


def _may_be_crowded(markup: bytes) -> bool:
    """Say whether a page may have a crowded tag, at a fifth of the cost of looking at each of its tags.

    Such a tag is long, and ``>`` stands in it within quotes only. Pages with such quotes are not judged here;
    in all others there must be as many bytes without ``>`` behind the start of a tag.
    """
    if _QUOTED_TAG_END.search(markup):
        return True
    at = 0
    while at + _CROWDED_TAG_BYTES <= len(markup):
        # The last ">" of the window, not the first: what begins before it ends there, or is too short.
        found = markup.rfind(b">", at, at + _CROWDED_TAG_BYTES)
        if found < 0:
            found = markup.find(b">", at + _CROWDED_TAG_BYTES)
            found = len(markup) if found < 0 else found
            if _TAG_START.search(markup, at, found - _CROWDED_TAG_BYTES + 2):
                return True
        at = found + 1
    return False
