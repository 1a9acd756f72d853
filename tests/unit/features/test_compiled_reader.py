"""The compiled reader gives what the pure one gives; without it these tests are skipped."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html.entities import html5
from pathlib import Path
from random import Random

import pytest

from linkscore_lab.archives import open_archive
from linkscore_scoring.features.html import Extractor
from linkscore_scoring.features.types import Limits
from linkscore_scoring.kernels import KERNELS, PURE
from support.hostile import PAGES
from support.readers import Readers, generated_page

pytestmark = pytest.mark.skipif(KERNELS is PURE, reason="the compiled reader is not installed: make native")
FIXTURES = Path(__file__).parents[2] / "fixtures" / "native"
URL = "http://site.example/forum/list.php?page=2"
STORED_PAGES = 2_000


def pages() -> Iterator[tuple[bytes, str]]:
    """Yield bodies and types: pages that once differed, hostile ones, drawn ones, every named character."""
    for file in sorted(FIXTURES.glob("*.html")):
        yield file.read_bytes(), "text/html; charset=utf-8"
    for family in PAGES.values():
        yield from ((family.body(size), family.content_type) for size in (2_000, 40_000))
    rng = Random(5)
    for _ in range(400):
        yield generated_page(rng), "text/html; charset=utf-8"
    named = "".join(
        f"<p>a&{name}b &{name}= <a href='&{name}x' class='&{name}='>&{name}</a>" for name in html5
    )
    yield named.encode(), "text/html; charset=utf-8"
    for mark in (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf\x00"):
        yield from ((mark + b"<p>x<a href=y>z</a>", f"text/html{kind}") for kind in ("", "; charset=utf-16"))


def test_pages_are_read_alike() -> None:
    readers = Readers()
    for body, content_type in pages():
        assert readers.difference(body, content_type=content_type) == "", body[:2_000]


@pytest.mark.slow
def test_many_more_drawn_pages_are_read_alike() -> None:
    rng, readers = Random(6), Readers()
    for body in (generated_page(rng) for _ in range(50_000)):
        assert readers.difference(body) == "", body


@pytest.mark.slow
def test_stored_pages_are_read_alike() -> None:
    archives = sorted(Path(os.environ.get("LINKSCORE_CORPORA", "corpora")).glob("*.warc.*"))
    if not archives:
        pytest.skip("no archives: LINKSCORE_CORPORA names a folder of them")
    readers = Readers()
    for archive in archives:
        for number, record in enumerate(open_archive([archive]).records()):
            if number >= STORED_PAGES / len(archives):
                break
            found = readers.difference(record.body, record.url, record.headers.get("Content-Type", ""))
            assert found == "", f"{archive.name} {record.url}"


@pytest.mark.parametrize(
    "limits",
    [
        *(Limits(elements=elements) for elements in (1, 2, 8)),
        *(Limits(depth=depth) for depth in (1, 3)),
        *(Limits(path_nodes=nodes) for nodes in (1, 10)),
        *(Limits(links=links) for links in (0, 3)),
        Limits(anchor_chars=2),
        Limits(url_chars=45),
    ],
    ids=str,
)
def test_bounds_cut_alike(limits: Limits) -> None:
    rng = Random(7)
    for body in [generated_page(rng) for _ in range(40)]:
        pure, compiled = (
            Extractor(limits, kernels=kernels).extract(body, url=URL) for kernels in (PURE, KERNELS)
        )
        assert compiled == pure


def test_threads_share_a_reader_and_what_it_remembers_changes_no_page() -> None:
    rng = Random(12)
    bodies = [generated_page(rng) * 20 for _ in range(40)]
    shared = Extractor(kernels=KERNELS, max_remembered=200)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda body: shared.extract(body, url=URL), bodies))
    assert found == [Extractor(kernels=PURE).extract(body, url=URL) for body in bodies]


@pytest.mark.parametrize(
    ("reason", "markup"),
    [
        ("depth", "<div>" * 600 + "text"),
        ("attributes", f"<p {' '.join(f'a{i}=1' for i in range(3000))}>text</p>{' ' * 50_000}"),
        ("attributes", f"<p title='{'a ' * 25_000}>text</p><a href=x>"),  # no quote ends it
        ("rel", "<a href=x rel='tést'>text</a>"),
    ],
)
def test_a_page_it_cannot_answer_for_is_left_to_python_and_told(reason: str, markup: str) -> None:
    told: list[str] = []
    found = Extractor(kernels=KERNELS, on_left=told.append).extract(markup.encode(), url=URL)
    assert found == Extractor(kernels=PURE).extract(markup.encode(), url=URL)
    assert told == [reason]


def test_the_environment_turns_it_off() -> None:
    code = "from linkscore_scoring.kernels import KERNELS; print(KERNELS.name)"
    for value, name in (("0", "pure"), ("1", "native")):
        environment = {**os.environ, "LINKSCORE_NATIVE": value}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        assert run.stdout.split()[0] == name, run.stderr
