"""How well the main text of a page reads, for corpora of language models: measures, and what they are worth.

The measures stand in the event of a page; what they are worth is computed from them, so that bounds may
change without reading a page again. The bounds are those by which published corpora kept or dropped pages:

- Gopher: Rae et al., Scaling Language Models, 2021, appendix A.1.1 (quality and repetition removal).
- FineWeb: Penedo et al., The FineWeb Datasets, 2024, section 3.6 (share of lines that end in punctuation,
  after C4: Raffel et al., Exploring the Limits of Transfer Learning, 2020, section 2.2).
- Kohlschütter, Fankhauser and Nejdl, Boilerplate Detection using Shallow Text Features, 2010 (link density).

Differences: they drop a page at a bound, here it is worth less in proportion beyond it. A line is a text
block here, and repetition is measured on stemmed words; a block that comes again, as the labels of a form
below every comment do, is a repeated block and not so many repeated phrases too. Gopher's list of English
stop words is left out, so that other languages are measured alike; so is the length of words in scripts
without blanks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_LEAST_WORDS = 50  # Gopher
_MOST_IN_ANCHORS = 1 / 3  # link density above which Kohlschütter's tree takes a block for boilerplate
_MOST_REPEATED_BLOCKS = 0.2  # Gopher: characters in duplicate paragraphs
_MOST_TOP_GRAMS = {2: 0.20, 3: 0.18, 4: 0.16}  # Gopher: characters in the most frequent n-gram
_MOST_REPEATED_GRAMS = {5: 0.15, 10: 0.10}  # Gopher: characters in duplicate n-grams; its 6 to 9 lie between
_LEAST_ENDED = 0.12  # FineWeb: lines that end in punctuation
_LEAST_WORD_CHARS, _MOST_WORD_CHARS = 3.0, 10.0  # Gopher: mean length of a word
_LEAST_ALPHABETIC = 0.8  # Gopher: words with a letter
_MOST_SYMBOLS = 0.1  # Gopher: hash signs and ellipses for each word

_SENTENCE_END = re.compile(r"[.!?…。！？؟।][\"'”’»)\]」』]*\Z")
_LETTER = re.compile(r"[^\W\d_]")
_GRAM_BASE = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no word number is lost in a product: 2^64 / phi
_MAX_MEASURED_WORDS = 20_000  # of a page, the first ones; a bound, chosen: some 10 ms


class Measures(NamedTuple):
    """What is measured of the main text of a page; shares are in [0, 1].

    `words`: of main text, each block once. `in_anchors`: share of the displayed characters that are in
    anchors. `repeated_blocks`: share of the characters of text blocks that another block said before.
    `top_grams`, `repeated_grams`: share of its characters in the most frequent n-gram of words, and in
    n-grams that occur again, each as a multiple of the most that Gopher keeps, for the n where it is most.
    `ended`: share of the characters of text blocks that end like a sentence. `word_chars`: mean length of a
    word; 0 in a script without blanks. `alphabetic`: share of the words that have a letter. `symbols`: hash
    signs and ellipses for each word.
    """

    words: float
    in_anchors: float
    repeated_blocks: float
    top_grams: float
    repeated_grams: float
    ended: float
    word_chars: float
    alphabetic: float
    symbols: float


@dataclass(frozen=True, slots=True)
class TextQuality:
    """How well a page reads: parts in [0, 1], each 1 within the published bounds."""

    length: float
    links: float
    repetition: float
    readability: float

    @property
    def value(self) -> float:
        """All parts multiplied."""
        return self.length * self.links * self.repetition * self.readability


def measure(
    blocks: Sequence[str], words: Sequence[str], in_anchors: float, *, spaced: bool = True
) -> Measures:
    """Return the measures of a page.

    `blocks`: texts of its main text, in their order. `words`: words of the distinct blocks, as `words_of`
    gives them. `in_anchors`: see `Measures`. `spaced`: whether the words are separated by blanks, as in most
    scripts.

    Examples
    --------
    >>> prose = ["The kayak was repaired at home, with glue and a little patience.", "It floats again."]
    >>> measured = measure(prose, " ".join(prose).split(), 0.1)
    >>> measured.words, measured.ended, measured.repeated_grams
    (15, 1.0, 0.0)
    >>> quality_of(measured).length
    0.3
    """
    text = " ".join(blocks)
    written = text.split()
    n = max(1, len(written))
    chars = max(1, sum(map(len, blocks)))
    counted = Counter(blocks)
    top, repeated = _grams(words[:_MAX_MEASURED_WORDS])
    return Measures(
        words=len(words),
        in_anchors=in_anchors,
        repeated_blocks=sum((times - 1) * len(block) for block, times in counted.items()) / chars,
        top_grams=top,
        repeated_grams=repeated,
        ended=sum(len(block) for block in blocks if _SENTENCE_END.search(block)) / chars,
        word_chars=sum(map(len, written)) / n if spaced else 0.0,
        alphabetic=sum(_LETTER.search(word) is not None for word in written) / n,
        symbols=(text.count("#") + text.count("...") + text.count("…")) / n,
    )


def quality_of(measured: Measures) -> TextQuality:
    """Return what measures are worth.

    Examples
    --------
    >>> menu = Measures(200, 0.9, 0.5, 0.0, 0.0, 0.06, 5.0, 1.0, 0.0)
    >>> {name: round(getattr(quality_of(menu), name), 2) for name in ("links", "repetition", "readability")}
    {'links': 0.15, 'repetition': 0.4, 'readability': 0.5}
    """
    return TextQuality(
        length=min(1.0, measured.words / _LEAST_WORDS),
        links=min(1.0, (1.0 - measured.in_anchors) / (1.0 - _MOST_IN_ANCHORS)),
        repetition=_within(
            max(
                measured.repeated_blocks / _MOST_REPEATED_BLOCKS,
                measured.top_grams,
                measured.repeated_grams,
            )
        ),
        readability=min(
            1.0,
            measured.ended / _LEAST_ENDED,
            measured.alphabetic / _LEAST_ALPHABETIC,
            measured.word_chars / _LEAST_WORD_CHARS if measured.word_chars else 1.0,
            _within(measured.word_chars / _MOST_WORD_CHARS),
            _within(measured.symbols / _MOST_SYMBOLS),
        ),
    )


def _within(multiple: float) -> float:
    """Return what a multiple of a bound is worth: 1 up to the bound, then in proportion less."""
    return 1.0 if multiple <= 1.0 else 1.0 / multiple


def _grams(words: Sequence[str]) -> tuple[float, float]:
    """Return the top and the repeated n-grams, each as the largest multiple of its bound."""
    numbers: dict[str, int] = {}
    ids = np.array([numbers.setdefault(word, len(numbers)) for word in words], np.uint64)
    chars = np.array([len(word) for word in words], np.float64)
    top = max((_top(ids, chars, n) / most for n, most in _MOST_TOP_GRAMS.items()), default=0.0)
    repeated = max((_repeated(ids, chars, n) / most for n, most in _MOST_REPEATED_GRAMS.items()), default=0.0)
    return float(top), float(repeated)


def _top(ids: NDArray[np.uint64], chars: NDArray[np.float64], n: int) -> float:
    """Return the share of the characters in the n-gram that has most of them, if it occurs twice."""
    _, first, counts = np.unique(_hashed(ids, n), return_index=True, return_counts=True)
    if not len(first) or counts.max() < 2:
        return 0.0
    sums = np.concatenate(([0.0], np.cumsum(chars)))
    covered = counts * (sums[first + n] - sums[first])
    return min(1.0, float(covered[counts > 1].max()) / float(sums[-1]))


def _repeated(ids: NDArray[np.uint64], chars: NDArray[np.float64], n: int) -> float:
    """Return the share of the characters in n-grams that occur again, each character once."""
    grams = _hashed(ids, n)
    if not len(grams):
        return 0.0
    _, group, counts = np.unique(grams, return_inverse=True, return_counts=True)
    begins = np.zeros(len(ids) + 1)
    again = np.flatnonzero(counts[group] > 1)
    np.add.at(begins, again, 1.0)
    np.add.at(begins, again + n, -1.0)
    return float(chars[np.cumsum(begins[:-1]) > 0].sum() / chars.sum())


def _hashed(ids: NDArray[np.uint64], n: int) -> NDArray[np.uint64]:
    """Return a hash of every n neighbours, (len(ids) - n + 1,)."""
    if len(ids) < n:
        return np.zeros(0, np.uint64)
    grams = np.zeros(len(ids) - n + 1, np.uint64)
    for at in range(n):
        grams = grams * _GRAM_BASE + ids[at : at + len(grams)] + np.uint64(1)
    return grams
