"""Names of templates that a person can tell apart: by address, by kind of page, by title."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import unquote, urlsplit

from linkscore.v1 import inspection_service_pb2 as pb
from linkscore_console import words

_LABELLED = 40
"""Characters of a label of a node."""
_LONG = 24
"""Characters of a segment of a path beyond which it is taken for a title."""
_TITLE = 28
"""Characters of a title beside a kind of page; chosen."""


def names_of(templates: Sequence[pb.Template]) -> dict[str, str]:
    """Return a name for each template, each once.

    A template is called by the common part of its addresses if that has words and no other has the same; else
    by the kind of page that the classes of its body name, and of several of one kind also by the title that
    the address of a page holds.
    """
    hints = {one.name: hint_of(one.example_url) for one in templates}
    kinds = _kinds_of(templates)
    titles = {one.name: title_of(one.example_url) for one in templates}
    plain = {name: hint if _has_words(hint) else kinds[name] or hint for name, hint in hints.items()}
    found: dict[str, str] = {}
    for names in _alike(plain):
        found |= _told_apart(names, plain, kinds, titles)
    taken = Counter(found.values())
    return {name: found[name] if taken[found[name]] == 1 else f"{found[name]} ({name})" for name in found}


def hint_of(url: str) -> str:
    """Return a short name of the pages like one: its path, with `#` for numbers and `…` for long names.

    Examples
    --------
    >>> hint_of("http://a.org/thread/1234"), hint_of("http://a.org/"), hint_of("http://a.org/index.php?id=7")
    ('/thread/#', '/', '/index.php?id')
    >>> hint_of("http://a.org/2020/how-to-do-it/")
    '/#/…/'
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return words.shown(url, _LABELLED)
    segments = [_named(segment) for segment in parts.path.split("/")]
    keys = [pair.partition("=")[0] for pair in parts.query.split("&") if pair]
    hint = "/".join(segments) or "/"
    return words.shown(hint + (f"?{'&'.join(keys)}" if keys else ""), _LABELLED)


def title_of(url: str) -> str:
    """Return the title that an address holds, empty if none.

    Examples
    --------
    >>> title_of("http://a.org/2020/how-to-do-it.html"), title_of("http://a.org/2020/05/")
    ('how to do it', '')
    """
    try:
        last = urlsplit(url).path.rstrip("/").rpartition("/")[2]
    except ValueError:
        return ""
    stem = last.rpartition(".")[0] or last
    text = " ".join(unquote(stem).replace("-", " ").replace("_", " ").split())
    cut = text if len(text) <= _TITLE else f"{text[:_TITLE].rstrip()}…"
    return words.shown(cut, _LABELLED) if any(sign.isalpha() for sign in text) else ""


def _told_apart(
    names: Sequence[str], plain: Mapping[str, str], kinds: Mapping[str, str], titles: Mapping[str, str]
) -> dict[str, str]:
    """Return longer names of templates that would be called alike, the shortest that tell them apart."""
    longer: list[Callable[[str], str]] = [
        lambda name: plain[name],
        lambda name: _joined(kinds[name], plain[name]),
        lambda name: _joined(plain[name], titles[name] and f"“{titles[name]}”"),
    ]
    for called in longer:
        found = {name: called(name) for name in names}
        if len(set(found.values())) == len(names):
            break
    return found


def _joined(first: str, second: str) -> str:
    return f"{first} {second}" if first and second and first != second else first or second


def _alike(plain: Mapping[str, str]) -> list[list[str]]:
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for name, text in plain.items():
        groups[text].append(name)
    return list(groups.values())


def _kinds_of(templates: Sequence[pb.Template]) -> dict[str, str]:
    """Return the kind of page of each template, from the rarest class of its body; empty if none is rare.

    Words that most templates have (``qa-template-`` of ``qa-template-question``) are left out.
    """
    classes = {one.name: _body_classes(one) for one in templates}
    known = Counter(token for tokens in classes.values() for token in tokens)
    spread = Counter(word for tokens in classes.values() for word in {w for t in tokens for w in _words(t)})
    most = max(1, len(templates) // 2)
    found = {}
    for name, tokens in classes.items():
        rare = {
            token: [word for word in _words(token) if spread[word] <= most]
            for token in sorted(tokens, key=known.__getitem__)
            if known[token] <= most
        }
        found[name] = next((" ".join(kept) for kept in rare.values() if kept), "")
    return found


def _body_classes(template: pb.Template) -> list[str]:
    """Return the classes of the body of a template's pages, each once."""
    steps = [step for path in template.tag_paths for step in path.split("/")[:2]]
    bodies = [step for step in steps if step.startswith(("body.", "body["))]
    tokens = [token for step in bodies for token in step[5:].rstrip("]").replace(".", " ").split()]
    return list(dict.fromkeys(tokens))


def _words(token: str) -> list[str]:
    return [word for word in token.replace("_", "-").lower().split("-") if len(word) > 1 and word.isalpha()]


def _has_words(hint: str) -> bool:
    return hint == "/" or any(sign.isalpha() for sign in hint)


def _named(segment: str) -> str:
    """Return a segment of a path as it may stand for those of all pages alike."""
    if segment.isdigit():
        return "#"
    is_slug = len(segment) > _LONG or segment.count("-") > 1 or any(c.isdigit() for c in segment)
    return "…" if is_slug else segment
