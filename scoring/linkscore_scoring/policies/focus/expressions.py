"""Regular expressions of the URLs on the way (ITF regexes, Jiang 2013, section 4.3.2): one a URL pattern."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from linkscore_scoring.columns import left_sum
from linkscore_scoring.policies.focus.paths import ANY, ForumPaths, KindVotes, LinkTable
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import INDEX, OTHER, PAGE_FLIP, THREAD, UrlRule
from linkscore_scoring.urls.pattern_tree import expression_of, is_fixed, wildcard_of

Tokens = tuple[str, ...]

_TYPES = {"index": INDEX, "thread": THREAD, "index_flip": PAGE_FLIP, "thread_flip": PAGE_FLIP}
"""Type of the URLs of each kind of rule; a flip is a link that turns pages of the other two."""
_FEW = 4  # patterns that differ in one value before any value may stand there; chosen, not measured
_MAX_PATTERNS = 400  # of index pages, and of threads: those with the most pages; a bound
_MAX_RULES = 200  # those of the most patterns; a bound: each URL is held against all
_MAX_OFF_PATH = 300  # URLs off the way that expressions are held against; a bound
_MAX_KNOWN = 20_000  # URLs whose type is remembered; a bound
_OFF_PATH_SHARE = 0.1  # URLs off the way that an expression may fit, against its own; chosen, not measured


class Expressions(Stateful):
    """Expressions of index pages, of threads, and of the page links of both.

    Differences from the paper, which refines ``*`` token by token over the URLs of one type: patterns are
    those of the tree that votes are pooled by; four that differ in one value have one with any value, too.
    """

    found: Stored[list[UrlRule]]

    def __init__(self) -> None:
        self.after_load()

    def learn(self, paths: ForumPaths, links: LinkTable, votes: KindVotes) -> None:
        """Write the patterns on the way, those with the most pages first."""
        off_path, forms = _off_path_urls(links, votes), defaultdict[tuple[str, Tokens], list[int]](list)
        for name, on_way in (("index", paths.index), ("thread", paths.thread)):
            for pattern in sorted(on_way, key=lambda pattern: -on_way[pattern])[:_MAX_PATTERNS]:
                kind = f"{name}_flip" if votes.turns_pages(pattern) else name
                tokens = tuple(votes.patterns.tokens(pattern))
                forms[kind, tokens].insert(0, pattern)
                for wider in _wider(tokens):
                    forms[kind, wider].append(pattern)
        rules: list[UrlRule] = []
        for (kind, tokens), patterns in sorted(forms.items(), key=lambda form: -len(form[1])):
            if len(patterns) < _FEW and tokens != tuple(votes.patterns.tokens(patterns[0])):
                continue
            urls = [url for pattern in patterns for url in links.samples.get(pattern, {}).values()]
            written = re.compile(expression_of(tokens) or "$")
            own = [url for url in urls if written.match(url)]
            if not own or any(all(re.match(rule.pattern, url) for url in own) for rule in rules):
                continue
            if sum(written.match(url) is not None for url in off_path) > _OFF_PATH_SHARE * len(own):
                continue
            sure = left_sum(votes.estimate(pattern, ANY).prob for pattern in patterns) / len(patterns)
            rules.append(UrlRule(kind, written.pattern, round(sure, 3), len(own), len(urls), own[0]))
            if len(rules) == _MAX_RULES:
                break
        self.found = rules
        self.after_load()

    def match(self, url: str) -> int:
        """Return the type of a URL, 0 if nothing fits; remembered until expressions are learned anew."""
        if (known := self._known.get(url)) is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            known = next((kind for written, kind in self._written if written.match(url)), 0)
            self._known[url] = known
        return known

    def after_load(self) -> None:
        """Compile the expressions."""
        self._known: dict[str, int] = {}
        self._written = [(re.compile(rule.pattern), _TYPES[rule.kind]) for rule in self.found]


def _wider(tokens: Tokens) -> Iterator[Tokens]:
    """Yield the slots of a pattern with one of its values open, each in turn."""
    for at, token in enumerate(tokens):
        if at and not (is_fixed(token) or token.startswith("?")):
            yield (*tokens[:at], wildcard_of(token), *tokens[at + 1 :])


def _off_path_urls(links: LinkTable, votes: KindVotes) -> list[str]:
    """Return some URLs of patterns that were voted off the way."""
    urls: list[str] = []
    for pattern, samples in links.samples.items():
        if len(urls) < _MAX_OFF_PATH and votes.pages(pattern) and votes.estimate(pattern, ANY).kind == OTHER:
            urls += samples.values()
    return urls[:_MAX_OFF_PATH]
