"""Distances to templates: the kernel gives what numpy does, to the last bit; without it these are skipped."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("linkscore_native", reason="the compiled kernels are not installed: make native")

from linkscore_scoring.clustering import CLUSTERERS, class_paths, cosine_linkage
from linkscore_scoring.clustering.cosine_linkage import CosineLinkageModel, _Nearness
from linkscore_scoring.clustering.sample import SamplePage
from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.kernels import PURE
from linkscore_scoring.kernels.native import NATIVE
from linkscore_scoring.testing.pages import trie_of


def page(rng: Random, kind: int) -> PathTrie:
    """Return a page of a kind of its own, with classes that few pages have and some that none has."""
    name, noise = "xyzw"[kind], "".join(rng.choices("abcdefgh", k=2))
    paths = [f"html/body[{rng.choice('st')}]/div[k{name} {noise}]/p/text()"] * rng.randrange(1, 6)
    paths += [f"html/body/ul[m{name}]/li[{rng.choice('uv')}]/a"] * rng.randrange(1, 9)
    return trie_of([*paths, "html/body/h1/text()"])


@pytest.fixture(scope="module")
def model() -> CosineLinkageModel:
    rng = Random(1)
    sample = [SamplePage(str(n), page(rng, n % 3)) for n in range(60)]
    found = CLUSTERERS["cosine_linkage"]().fit(sample).model
    assert isinstance(found, CosineLinkageModel)
    assert len(found.means) >= 3
    return found


def both(model: CosineLinkageModel, monkeypatch: pytest.MonkeyPatch, tries: list[PathTrie]) -> list[list]:
    answers = []
    for kernels in (PURE, NATIVE):
        monkeypatch.setattr(cosine_linkage, "KERNELS", kernels)
        nearness = _Nearness(model.paths, model.vectorizer, model.means)
        answers.append([nearness.distances(trie) for trie in tries])
    return answers


def test_distances_are_equal_to_the_last_bit(
    model: CosineLinkageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(2)
    tries = [page(rng, n % 4) for n in range(80)]
    pure, compiled = both(model, monkeypatch, tries)
    assert compiled == pure
    assert len({tuple(row) for row in pure}) > 20
    by_vectors = 1.0 - model.vectors([SamplePage("", trie) for trie in tries]) @ model.means.T
    assert compiled == pytest.approx(by_vectors, abs=1e-12)


def test_they_are_when_places_are_forgotten_and_numbered_anew(
    model: CosineLinkageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_paths, "_REMEMBERED", 12)
    rng = Random(3)
    pure, compiled = both(model, monkeypatch, [page(rng, n % 4) for n in range(60)])
    assert compiled == pure


NAMES = ["html", "body", "div", "ul", "li", "a", "p"]
CLASSES = ["kx", "ky", "mx", "s", "t", "u", "post-7", "post-41", "p2", "\u0664", "\x1f", "\xa0", "\u0416"]


@given(st.lists(st.lists(st.tuples(st.sampled_from(NAMES), st.lists(st.sampled_from(CLASSES)))), max_size=9))
def test_paths_are_shortened_alike(paths: list[list[tuple[str, list[str]]]]) -> None:
    rng = Random(4)
    noise = ["html/body[s]/div[kx post-7]/p[p2]/a", "html/body[t]/ul[mx post-12 \u0416]/li[u post-5]/a"]
    sample = [page(rng, n % 3) for n in range(40)] + [trie_of([*noise, f"a[n{n}]"]) for n in range(9)]
    found = CLUSTERERS["cosine_linkage"]().fit([SamplePage(str(n), trie) for n, trie in enumerate(sample)])
    tries = [
        trie_of(["/".join(f"{tag}[{' '.join(classes)}]" for tag, classes in path)]) for path in paths if path
    ]
    assert isinstance(found.model, CosineLinkageModel)
    with pytest.MonkeyPatch.context() as patch:
        pure, compiled = both(found.model, patch, tries)
    assert compiled == pure


@pytest.mark.parametrize(
    "paths",
    [[], ["nav/q"], ["html/body/ul[mx]/li/a"] * 5_000, ["\u00fc[\u0416]/p/text()"], ["html/a[\ud800]/p"]],
    ids=["empty", "unknown", "many leaves", "letters", "no UTF-8"],
)
def test_odd_pages(model: CosineLinkageModel, monkeypatch: pytest.MonkeyPatch, paths: list[str]) -> None:
    pure, compiled = both(model, monkeypatch, [trie_of(paths)])
    assert compiled == pure
    assert len(compiled[0]) == len(model.means)
