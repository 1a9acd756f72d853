"""No page costs more than a fixed time for each byte: doubled inputs cost no more than twice."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import pytest

from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.features.body import MAX_ATTRIBUTES, MAX_MEMBERS, decompress
from linkscore_scoring.features.html import MAX_LINKS_CHARS, Extractor, extract
from linkscore_scoring.features.walk import MAX_PATH_CHARS
from linkscore_scoring.kernels import KERNELS, PURE
from support.hostile import PAGES, Family

MOST_GROWTH = 2**1.5
"""Of the cost, for twice the input: as far from the 2 of a linear cost as from the 4 of a square."""
NOISE_S = 0.03
"""Of CPU time: below that costs are not told apart, other programs on the machine make as much."""
_TRIES = 5
"""Measurements of each of the two, chosen; the least counts, since a busy machine only adds."""


def cpu_s(work: Callable[[], object]) -> float:
    """CPU time of this process for a piece of work, in seconds."""
    start = process_time()
    work()
    return process_time() - start


def check_growth(cost: Callable[[int], float], size: int, *, doublings: int = 1) -> None:
    """Assert that the cost of an input grows with its size and not with a power of it.

    Parameters
    ----------
    cost
        CPU time in seconds of an input of so many bytes, characters or items.
    size
        Of the smaller input; the larger is doubled so often.
    """
    larger, most = size * 2**doublings, MOST_GROWTH**doublings
    dear, cheap = cost(larger), cost(size)
    for _ in range(_TRIES - 1):
        if dear <= max(most * cheap, NOISE_S):
            return
        dear, cheap = min(dear, cost(larger)), min(cheap, cost(size))
    assert dear <= max(most * cheap, NOISE_S)


URL = "http://a.test/b/c"


def read(extractor: Extractor, family: Family, body: bytes) -> str:
    """Return what becomes of a page: read, or a reason why not."""
    try:
        extractor.extract(
            body,
            url=URL,
            content_type=family.content_type,
            content_encoding=family.content_encoding,
            layout=True,
        )
    except InvalidPage as refused:
        return refused.reason
    return "read"


def check(family: Family, size: int) -> None:
    """Compare a page with one of twice the bytes, both read by the reader that reads the larger."""
    left: list[str] = []
    read(Extractor(on_left=left.append), family, family.body(2 * size))
    extractor = Extractor(kernels=PURE if left else KERNELS)  # deep nestings are left to the pure one

    def cost(size: int) -> float:
        body = family.body(size)
        return cpu_s(lambda: read(extractor, family, body))

    check_growth(cost, size)


def test_every_hostile_page_is_read_or_refused_with_a_reason() -> None:
    found = {name: read(Extractor(), family, family.body(16_000)) for name, family in PAGES.items()}
    assert "" not in found.values()
    assert sum(outcome == "read" for outcome in found.values()) > 0.8 * len(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_a_large_page_of_twice_the_bytes_costs_twice_the_time(name: str) -> None:
    check(PAGES[name], 1_000_000)


def test_tag_paths_of_a_page_have_a_bound_in_characters() -> None:
    long = "c" * 900
    body = "".join(f'<p class="{long}{n}">x</p>' for n in range(2_000)).encode()
    page = extract(body, url=URL)
    assert sum(map(len, page.paths.classes)) <= MAX_PATH_CHARS
    assert "paths_cut" in page.notes


def test_links_of_a_page_have_a_bound_in_characters_of_their_urls() -> None:
    body = f"<base href='http://a.test/{'a' * 2_000}/'>".encode()
    page = extract(body + b"".join(b"<a href=%d>x</a>" % n for n in range(5_000)), url=URL)
    assert MAX_LINKS_CHARS - 3_000 < sum(map(len, page.links.urls)) <= MAX_LINKS_CHARS
    assert "links_cut" in page.notes


@pytest.mark.parametrize("name", ["gzip members", "zstd frames", "zstd skippable frames"])
def test_a_body_of_very_many_members_is_refused(name: str) -> None:
    family = PAGES[name]
    with pytest.raises(InvalidPage, match=f"at most {MAX_MEMBERS}") as caught:
        decompress(family.body(200_000), family.content_encoding, max_bytes=10_000)
    assert caught.value.reason == "CORRUPT_BODY"


def test_a_body_in_very_many_encodings_is_refused() -> None:
    with pytest.raises(InvalidPage, match="at most 4 encodings") as caught:
        decompress(b"x", ",".join(["gzip"] * 5), max_bytes=100)
    assert caught.value.reason == "UNSUPPORTED_ENCODING"


@pytest.mark.parametrize("between", [" ", "\n", " / ", " \t\r\n"])
@pytest.mark.parametrize("attribute", ["a", "a=1", "a='>'", 'a = "x>y\'"', "<", '"'])
def test_only_crowded_tags_lose_their_attributes(attribute: str, between: str) -> None:
    crowd = (between + attribute) * MAX_ATTRIBUTES
    other = "<b class=y><!-- <i" + crowd + "> --><script>'<i" + crowd + "'</script>" + "and more " * 6_000
    page = extract(f"{other}<i class=x {crowd}><a href=/1>a</a></i>".encode(), url=URL)
    assert page.paths.classes == ["", "", "y", "", "", "", ""]
    assert (page.links.urls, page.notes) == (["http://a.test/1"], ["attributes_cut"])
