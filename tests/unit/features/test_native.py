"""The compiled reader gives what the pure one gives; without it these tests are skipped."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from html import escape
from html.entities import html5
from itertools import islice, product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("linkscore_native", reason="the compiled reader is not installed: make native")

import linkscore_native
from campaigns.readers import Readers, generated_page
from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.features.html import Extractor, kernel_bounds
from linkscore_scoring.features.kernel_reader import KernelReader
from linkscore_scoring.features.types import Limits, PageFeatures
from linkscore_scoring.kernels import PURE
from linkscore_scoring.kernels.native import NATIVE
from support.hostile import PAGES

FIXTURES = Path(__file__).parents[2] / "fixtures"
URL = "http://site.example/forum/list.php?page=2"


def batched(names: Iterable[str], n: int) -> Iterator[list[str]]:
    rest = iter(names)
    while batch := list(islice(rest, n)):
        yield batch


def both(body: bytes, limits: Limits | None = None, content_type: str = "") -> list[PageFeatures]:
    readers = [Extractor(limits, kernels=kernels) for kernels in (PURE, NATIVE)]
    return [reader.extract(body, url=URL, content_type=content_type) for reader in readers]


@pytest.mark.parametrize("file", sorted((FIXTURES / "native").glob("*.html")), ids=lambda file: file.stem)
def test_pages_that_once_differed_are_read_alike(file: Path) -> None:
    assert Readers().difference(file.read_bytes()) == ""


@pytest.mark.parametrize("seed", range(8))
def test_pages_made_to_differ_do_not(seed: int) -> None:
    rng, readers = Random(seed), Readers()
    for _ in range(150):
        body = generated_page(rng)
        assert readers.difference(body) == "", body


@pytest.mark.parametrize("name", PAGES)
def test_hostile_pages_are_read_alike(name: str) -> None:
    family = PAGES[name]
    readers = Readers()
    for size in (2_000, 40_000):
        assert readers.difference(family.body(size), content_type=family.content_type) == ""


def test_every_named_character_is_read_alike_in_texts_and_attributes() -> None:
    readers = Readers()
    form = "<p>a&{0}b &{0}= &{0}<a href='&{0}x' class='&{0}='>&{0}</a>"
    for names in batched(html5, 100):
        body = "".join(form.format(name) for name in names)
        assert readers.difference(body.encode()) == "", names
    for number in (0, 9, 13, 31, 127, 128, 150, 159, 160, 0xD800, 0xFFFE, 0x10FFFF, 0x110000, 10**12):
        body = f"<p>&#{number}; &#x{number:x};<a class='&#{number}'>&#{number}</a>"
        assert readers.difference(body.encode()) == "", number


@pytest.mark.parametrize(
    "limits",
    [
        *(Limits(elements=elements) for elements in (1, 2, 3, 7, 8, 9)),
        *(Limits(depth=depth) for depth in (1, 2, 3, 5)),
        *(Limits(path_nodes=nodes) for nodes in (1, 2, 10)),
        *(Limits(links=links) for links in (0, 1, 3)),
        *(Limits(anchor_chars=chars) for chars in (1, 2, 5)),
        Limits(url_chars=45),
    ],
    ids=str,
)
def test_bounds_cut_alike(limits: Limits) -> None:
    rng = Random(7)
    pages = [generated_page(rng) for _ in range(40)]
    pages.append(b"<div><ul>" + b"<li><b><i>text <a href=a class=x>one</a> <a href=/b>two</a> tail" * 30)
    for page in pages:
        pure, native = both(page, limits)
        assert native == pure


MARKS = [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff"]
CHARSETS = ["", "text/html; charset=utf-8", "text/html; charset=utf-16", "text/html; charset=gb18030"]


@pytest.mark.parametrize("content_type", CHARSETS)
def test_bodies_of_marks_and_their_pieces_are_read_alike(content_type: str) -> None:
    readers = Readers()
    for length in range(5):
        for body in map(bytes, product(b"\xef\xbb\xbf\xff\xfe\x00<", repeat=length)):
            assert readers.difference(body, content_type=content_type) == "", body


@given(
    marks=st.lists(st.sampled_from([*MARKS, b" ", b"\n", b"\x00", b"<p>", b"\xef\xbb"]), max_size=6),
    text=st.sampled_from([b"", b"x", b"<p>x<a href=y>z</a>", "é\ufeff<b>x".encode()]),
    content_type=st.sampled_from(CHARSETS),
)
def test_pages_that_begin_with_marks_are_read_alike(
    marks: list[bytes], text: bytes, content_type: str
) -> None:
    assert Readers().difference(b"".join(marks) + text, content_type=content_type) == ""


@pytest.mark.parametrize("most", [0, 200, 60_000])
def test_what_is_remembered_of_pages_changes_none_of_those_that_follow(most: int) -> None:
    rng = Random(11)
    pages = [generated_page(rng) for _ in range(30)]
    reader, limits = Extractor(Limits(links=9), kernels=NATIVE, max_remembered=most), Limits(links=9)
    for page in [*pages, *reversed(pages)]:
        assert reader.extract(page, url=URL) == Extractor(limits, kernels=PURE).extract(page, url=URL)


def test_pages_are_read_alike_by_threads_that_share_a_reader() -> None:
    rng = Random(12)
    pages = [generated_page(rng) * 20 for _ in range(40)]
    shared = Extractor(kernels=NATIVE)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda page: shared.extract(page, url=URL), pages))
    assert found == [Extractor(kernels=PURE).extract(page, url=URL) for page in pages]


def test_many_link_paths_and_long_names_are_cut_alike() -> None:
    link_paths = "".join(f"<a class=c{i % 3000} href=x{i}>y</a>" for i in range(3100))
    names = "".join(f"<{'x' * 45}{i % 3} class='{'k ' * 600}l{i}'>t<a href=x>y</a>" for i in range(200))
    for markup in (link_paths, names):
        pure, native = both(markup.encode())
        assert native == pure
    assert "apaths_cut" in both(link_paths.encode())[1].notes


@pytest.mark.parametrize(
    ("reason", "markup"),
    [
        ("depth", "<div>" * 600 + "text"),
        ("attributes", f"<p {' '.join(f'a{i}=1' for i in range(3000))}>text</p>{' ' * 17_000}"),
        ("rel", "<a href=x rel='tést'>text</a>"),
    ],
)
def test_a_page_it_cannot_answer_for_is_left_to_the_pure_reader_and_told(reason: str, markup: str) -> None:
    told: list[str] = []
    found = Extractor(kernels=NATIVE, on_left=told.append).extract(markup.encode(), url=URL)
    assert found == Extractor(kernels=PURE).extract(markup.encode(), url=URL)
    assert told == [reason]


def test_a_layout_changes_nothing_else_of_a_page() -> None:
    told: list[str] = []
    reader = Extractor(kernels=NATIVE, on_left=told.append)
    found = reader.extract(b"<ul><li><a href=x>text</a>", url=URL, layout=True)
    assert replace(found, layout=None) == reader.extract(b"<ul><li><a href=x>text</a>", url=URL)
    assert told == []


def tree_of(markup: str) -> Any:
    """Return what the compiled reader says is where."""
    from linkscore_scoring.policies.focus.layout.tree import PageTree  # an annex

    page = linkscore_native.Reader(kernel_bounds(Limits())).read(markup.encode(), True)
    return PageTree.of(**page.outline())


def test_places_of_texts_and_anchors_are_those_of_the_page() -> None:
    """Elements in document order; the empty `br` and `hr` are none, the empty `p` is one."""
    tree = tree_of("<div id=d>one<br><p></p><hr id=h><a href=#d>two <b>three</b></a></div><time datetime=5>")
    assert [step.name for step in tree.steps[1:]] == ["html", "body", "div", "p", "a", "b", "time"]
    assert tree.texts == ["one", "two", "three"]
    assert tree.text_anchors == [-1, 0, 0]
    assert (tree.anchor_nodes, tree.hrefs, tree.breaks) == ([5], ["#d"], [1])
    assert (tree.ids, tree.moments) == ({"d", "h"}, [(3, "5")])
    assert (tree.first_texts[5], tree.last_texts[5], tree.ends[3]) == (1, 3, 7)


def test_texts_of_form_fields_are_not_displayed() -> None:
    assert tree_of("<p>a<select><option>b<option>c</select><textarea>d</textarea>e").texts == ["a", "e"]


# What hrefs and URLs are made of: each piece is a case of `urls.resolve` or `urls.identity`, or part of one.
PIECES = [
    "http://", "https://", "HTTP://", "http:", "//", "/", "./", "../", ".", "..", "?", "#", "&", "=", ";",
    "%", "a.example", "b.example:8080", "A.example", "h-1.example", "x.",
    "b\u00fccher.example", ":80", ":080", ":99999",
    "a", "b1", "B", "0", "_", "~", "-", "+", "*", ",", "$", "!", "(", ")", "'", ":", "|", "[", "]", "{",
    "\\", " ", "\t", "\n", "\u00e9", "\u0416", "%20", "%2F", "%2f", "%41", "%C3%A9", "%c3", "%0A", "%3D", "@",
    "q=1", "p=2&a=1", "a=1&a=0", "sid=a1b2c3d4e5f6a7b8", "mailto:", "javascript:", "x" * 60,
]  # fmt: skip
hrefs = st.lists(st.sampled_from(PIECES), max_size=7).map("".join)
plain_bases = [
    "http://a.example", "http://a.example/", "http://a.example/b/c/d.html?q=1", "https://a.example:8080/b//c/d",
    "http://a.example/b;p/c", "http://a.example/b/./c/../d", "http://me@A.example/\u00e9/x", "http://a.example?q",
]  # fmt: skip
OF_MANY_PAGES = [Extractor(Limits(url_chars=90), kernels=kernels) for kernels in (PURE, NATIVE)]


@given(
    st.one_of(st.sampled_from(plain_bases), hrefs.map("http://a.example/".__add__)),
    st.lists(hrefs, max_size=12),
    st.sampled_from(["utf-8", "cp1251", "utf-16"]),
    st.one_of(st.just(""), hrefs),
)
def test_hrefs_lead_to_the_same_whatever_was_read_before(
    url: str, targets: list[str], charset: str, base: str
) -> None:
    anchors = "".join(f'<a href="{escape(href)}">x</a>' for href in targets)
    head = f'<base href="{escape(base)}">' if base else ""
    page = f"<html><head>{head}</head><body>{anchors}{anchors}</body></html>".encode(
        charset, "xmlcharrefreplace"
    )
    kind = f"text/html; charset={charset}"
    try:
        pure, native = (reader.extract(page, url=url, content_type=kind) for reader in OF_MANY_PAGES)
    except InvalidPage:
        return
    assert native == pure


def test_what_hrefs_lead_to_is_forgotten_rather_than_kept_for_ever() -> None:
    small = KernelReader(NATIVE, kernel_bounds(Limits()), print, max_urls=10)
    reader = Extractor(kernels=NATIVE)
    reader._kernel = small
    for n in range(0, 300, 3):
        page = "".join(f"<a href='/{n + i}'>x</a><a href='?{n + i}'>x</a>" for i in range(3)).encode()
        assert reader.extract(page, url=URL) == Extractor(kernels=PURE).extract(page, url=URL)
        assert len(small._reader.urls) <= 30


def test_the_environment_turns_it_off() -> None:
    code = "from linkscore_scoring.kernels import KERNELS; print(KERNELS.name)"
    for value, name in (("0", "pure"), ("1", "native")):
        environment = {**os.environ, "LINKSCORE_NATIVE": value}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        assert run.stdout.split()[0] == name, run.stderr
