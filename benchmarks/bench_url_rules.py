"""Page links and learned URL patterns: cost a link, beside extraction and beside Python's `re`.

``page links`` is `page_links_of` over pages just extracted, beside `Extractor.extract` of the same pages.
``URL patterns`` matches URLs of the site against patterns learned from 30 of each of its most frequent URL
patterns, with RE2 as a set, and with `re` one after the other. ``pathological`` is a pattern that backtracks.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from benchmarks.pages import Corpus
from benchmarks.table import Row
from linkscore_scoring.features.html import Extractor
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.pagination.page_links import page_links_of
from linkscore_scoring.policies.focus.expressions import RegexSet
from linkscore_scoring.policies.focus.itf import learn_patterns
from linkscore_scoring.urls.pattern_tree import url_tokens

_PAGES, _URLS, _KINDS, _EACH, _ROUNDS = 400, 5_000, 8, 30, 5
_BAD, _TEXT = r"^(a+)+$", "a" * 22 + "!"


def rows(corpus: Corpus) -> list[Row]:
    """Return two rows for each site, and one for the pathological pattern."""
    found: list[Row] = []
    for site in corpus.names:
        pages, extract_us = _extracted(corpus, site)
        page_links_us = _cpu_us(lambda page: page_links_of(page.url, page.links), pages) / len(pages)
        found.append(Row("Page links", site, page_links_us / 1e3, "ms CPU/page", extract_us / 1e3, 0.1))
        found.append(_matching(site, pages))
    slow = _cpu_us(re.compile(_BAD).match, [_TEXT])
    fast = min(_cpu_us(RegexSet([_BAD], [1]).match, [_TEXT]) for _ in range(_ROUNDS))
    return [*found, Row("URL patterns, pathological", _BAD, fast, "us", slow)]


def _extracted(corpus: Corpus, site: str) -> tuple[list[PageFeatures], float]:
    """Return features of every other page, and the cost of each once the extractor has read the rest."""
    extractor = Extractor()
    pages = [(p.body, p.url, p.content_type) for p in corpus.pages(site, _PAGES)]
    for body, url, kind in pages[1::2]:
        features = extractor.extract(body, url=url, content_type=kind)
        page_links_of(features.url, features.links)
    started = time.process_time()
    found = [extractor.extract(body, url=url, content_type=kind) for body, url, kind in pages[::2]]
    return found, (time.process_time() - started) / len(found) * 1e6


def _matching(site: str, pages: Sequence[PageFeatures]) -> Row:
    keys = list(islice(dict.fromkeys(key for page in pages for key in page.links.keys), _URLS))
    patterns = _learned(keys)
    compiled = [re.compile(pattern) for pattern in patterns]
    together = RegexSet(patterns, [1] * len(patterns))
    ours = min(_cpu_us(together.match, keys) for _ in range(_ROUNDS)) / len(keys)
    bare = min(_cpu_us(lambda url: [c.match(url) for c in compiled], keys) for _ in range(_ROUNDS)) / len(
        keys
    )
    return Row(f"URL patterns ({len(patterns)})", site, ours, "us/link", bare)


def _learned(keys: Sequence[str]) -> list[str]:
    kinds: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for key in keys:
        tokens = url_tokens(key)
        kinds[(*tokens[:2], str(len(tokens)))].append(key)
    largest = sorted(kinds.values(), key=len, reverse=True)[:_KINDS]
    return list(dict.fromkeys(p.regex for urls in largest for p in learn_patterns(urls[:_EACH])))


def _cpu_us(work: Callable[[Any], object], inputs: Sequence[Any]) -> float:
    started = time.process_time()
    for one in inputs:
        work(one)
    return (time.process_time() - started) * 1e6
