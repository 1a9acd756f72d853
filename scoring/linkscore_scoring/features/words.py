"""The words of pages, anchors and URLs, as 32-bit hashes: what a crawl that is told by words learns from.

A word is a run of letters and digits, in lower case, without accents (as in URLs) and English endings
(Porter 2, by Snowball); of scripts without blanks (Chinese, Japanese, Thai, ...) every two neighbouring
characters are one. Texts are not kept, hashes are.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Container
from functools import lru_cache
from itertools import islice
from threading import get_ident
from urllib.parse import unquote, urlsplit

import numpy as np
import Stemmer
from lxml import etree

from linkscore_scoring.features.types import PageWords
from linkscore_scoring.features.walk import BLOCK_CHARS
from linkscore_scoring.hashing import hash64

MAX_WORDS = 2_000
"""Distinct words kept of a page, those met first: a bound, chosen; 10 bytes each in the log."""
MAX_TEXT_CHARS = 200_000
"""Characters of a page that are read for words: a bound, chosen."""
_MAX_LINK_WORDS = 32  # words of an anchor or a URL; a bound
_MAX_HEADING_TEXTS = 2_000  # texts in headings that are read, so that headings in headings end; a bound
_REMEMBERED = 1 << 16  # words and anchors whose hashes are remembered; a bound
_REMEMBERED_URLS = 1 << 14  # the same of URLs, which may be ten times as long
# Characters read of a word, so that what is remembered is bounded in bytes: a hostile page is one word of
# 200,000. German has words of 80; chosen, not measured.
_MAX_WORD_CHARS = 100

# With accents of their own, and vowel signs of Hebrew, Arabic and the scripts of India: no letters to `re`.
_WORD = re.compile("[^\\W_](?:[^\\W_]|[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0963\u0966-\u0dff])*")
_HEADINGS = ("h1", "h2", "h3")
# Scripts written without blanks: Thai, Lao, Khmer, Kana, Han. Hangul has blanks.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def fold(text: str) -> str:
    """Return a text in lower case, without accents and other combining marks, width variants unified."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def words_of(text: str) -> list[str]:
    """Return the words of a text in their order, as they are hashed.

    Examples
    --------
    >>> words_of("Selection sets & 2 parsers")
    ['select', 'set', '2', 'parser']
    >>> words_of("検索エンジン")
    ['検索', '索エ', 'エン', 'ンジ', 'ジン']
    >>> words_of("ÉDUCATION, Straße") == words_of("education STRASSE")
    True
    """
    found: list[str] = []
    for word in _WORD.findall(text.lower()):
        if word.isascii() or not _UNSPACED.search(word):
            found.append(_stem(word))
        else:
            found += _pairs(word)
    return found


@lru_cache(maxsize=_REMEMBERED)
def word_hash(word: str) -> int:
    """Return the hash of one of `words_of`: the upper half of `hash64`."""
    return hash64(word) >> 32


@lru_cache(maxsize=_REMEMBERED)
def text_hashes(text: str) -> tuple[int, ...]:
    """Return the distinct words of an anchor text, hashed, in their order."""
    return tuple(dict.fromkeys(map(word_hash, words_of(text))))[:_MAX_LINK_WORDS]


def url_words(url: str) -> list[str]:
    """Return the words of the path and the query of a URL, camel case taken apart.

    Examples
    --------
    >>> url_words("http://a.org/wiki/SelectionSets_2?tab=Price%20list")
    ['wiki', 'select', 'set', '2', 'tab', 'price', 'list']
    """
    return words_of(_url_text(url))


@lru_cache(maxsize=_REMEMBERED_URLS)
def url_hashes(url: str) -> tuple[int, ...]:
    """Return the distinct words of a URL, hashed, in their order."""
    return tuple(dict.fromkeys(map(word_hash, url_words(url))))[:_MAX_LINK_WORDS]


def matching_words(text: str, terms: Container[int], *, is_url: bool = False) -> list[str]:
    """Return the words of an anchor text or a URL, as written there, that are among some hashes."""
    plain = _url_text(text) if is_url else text
    found = dict.fromkeys(
        word for word in _WORD.findall(plain.lower()) if any(word_hash(w) in terms for w in words_of(word))
    )
    return list(found)[:_MAX_LINK_WORDS]


def page_words(root: etree._Element, title: str) -> PageWords:
    """Return the words of a page of a title, as parsed, without what is not displayed; its tree is used up.

    Main text is every text of 25 characters and more outside of anchors, as everywhere in linkscore: menus,
    lists of links and buttons are not part of it.

    Examples
    --------
    >>> markup = "<h1>Sets</h1><p>A selection set is a list of objects.</p>"
    >>> page = page_words(etree.fromstring(markup, etree.HTMLParser()), "Sets")
    >>> page.lengths, len(page.hashes) // 4
    ([1, 1, 8], 7)
    """
    found = (text for heading in root.iter(*_HEADINGS) for text in heading.itertext())
    headings = " ".join(islice(found, _MAX_HEADING_TEXTS))
    etree.strip_elements(root, "a", "title", with_tail=False)
    return words_of_texts(
        title, headings, *(t for t in map(str.strip, root.itertext()) if len(t) >= BLOCK_CHARS)
    )


def words_of_texts(title: str, headings: str, *blocks: str) -> PageWords:
    """Return the words of a page whose texts were taken apart already; see `page_words`."""
    texts = [" ".join(one[:MAX_TEXT_CHARS].split()) for one in (title, headings, " ".join(blocks))]
    found = [words_of(one) for one in texts]
    counts = list(map(Counter, found))
    known = list(dict.fromkeys(word for counted in counts for word in counted))[:MAX_WORDS]
    hashes = np.array([word_hash(word) for word in known], np.uint32)
    distinct, rows = np.unique(hashes, return_index=True)
    title_count, headings_count, text_count = (
        np.array([min(255, counted[known[row]]) for row in rows.tolist()], np.uint8).tobytes()
        for counted in counts
    )
    return PageWords(
        distinct.astype("<u4").tobytes(), title_count, headings_count, text_count, list(map(len, found))
    )


def _url_text(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return _CAMEL.sub(" ", unquote(f"{parts.path} {parts.query}"))


def _stem(word: str) -> str:
    """Take off English endings; what that does to other languages it does to query and page alike."""
    return _known_stem(word[:_MAX_WORD_CHARS])


@lru_cache(maxsize=_REMEMBERED)
def _known_stem(word: str) -> str:
    return str(_stemmer(get_ident()).stemWord(fold(word)))


@lru_cache(maxsize=64)
def _stemmer(thread: int) -> Stemmer.Stemmer:
    """Return the stemmer of a thread: one must not be used by two."""
    return Stemmer.Stemmer("english", 0)


def _pairs(word: str) -> list[str]:
    """Return the words of a run with characters of an unspaced script: neighbours, and what is between."""
    found: list[str] = []
    at = 0
    for run in _UNSPACED.finditer(word):
        if between := word[at : run.start()]:
            found.append(_stem(between))
        text = run.group()
        found += [text[i : i + 2] for i in range(len(text) - 1)] or [text]
        at = run.end()
    if rest := word[at:]:
        found.append(_stem(rest))
    return found
