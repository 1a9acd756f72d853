"""CPU of feature extraction against the bare parse of the same pages.

Usage::

    python -m benchmarks.bench_features [WARC ...]

Without WARC files a generated forum stands in. ``extract`` is the cost of pages the extractor has not seen,
after it has read as many others of the site; ``again`` that of pages it has seen; ``layout`` that of new
pages with their records, link groups and signals, which only crawls with a policy that reads them pay.

Designs tried, CPU as a ratio to the bare parse of the same pages (CPython 3.11, lxml 6.1, shared cores). The
first three rows are parts, not the whole: a parse (1.0) comes on top, and so do links, texts and blocks.
Whole rows are ``extract`` and, behind the slash, ``again``; one run each, noise about 5 %.

================================================  ===========  ===========  ===========  ===========
design                                            forum        Q&A          wiki         blog
================================================  ===========  ===========  ===========  ===========
part: tag, class, texts, parent of elements       0.58         0.60         0.49         0.42
part: the same by iterwalk, start and end events  0.63         0.54         0.52         0.49
part: serialise in C, split at the tags           0.41         0.36         0.41         0.35
whole: path automaton kept for a site             3.79 / 3.34  5.28 / 3.06  7.24 / 6.44  7.79 / 7.36
whole: meanings of tags kept for a site (now)     3.14 / 2.93  3.11 / 2.58  3.39 / 2.76  3.10 / 2.88
================================================  ===========  ===========  ===========  ===========
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import lxml.html

from benchmarks.pages import Corpus
from benchmarks.table import Row
from linkscore_scoring.features.html import Extractor
from linkscore_scoring.kernels import KERNELS, PURE

ROUNDS = 5
WORK = {
    "Feature extraction": "extract_us",
    "Feature extraction, compiled reader": "native_us",
    "Feature extraction with layout": "layout_us",
}
Page = tuple[str, str, bytes]


def generated_pages(count: int = 50) -> list[Page]:
    """Return thread pages of a made-up forum, about 25 KB each."""
    return [(f"http://forum.test/t/{i}", "text/html", _thread(i).encode()) for i in range(count)]


def warc_pages(path: str, every: int = 4) -> list[Page]:
    """Return every `every`-th response of a WARC file."""
    return list(islice(_responses(path), 0, None, every))


def run(sample: dict[str, list[Page]] | None = None) -> dict[str, dict[str, float]]:
    """Return per site: pages, bytes a page, CPU microseconds a page by work, and ratios to the parse."""
    return {site: _measure(pages) for site, pages in (sample or {"generated": generated_pages()}).items()}


def rows(corpus: Corpus) -> list[Row]:
    """Return rows for each site: extraction, without and with layout, beside the bare parse."""
    found = run(
        {name: [(p.url, p.content_type, p.body) for p in corpus.pages(name, 400)] for name in corpus.names}
    )
    return [
        Row(name, site, row[work] / 1e3, "ms CPU/page", row["parse_us"] / 1e3)
        for name, work in WORK.items()
        for site, row in found.items()
        if work in row
    ]


def _measure(pages: list[Page]) -> dict[str, float]:
    known, new = pages[1::2], pages[::2]
    parse = min(_cpu_us(_parse, new) for _ in range(ROUNDS))
    extract, again = map(min, zip(*(_extract(known, new) for _ in range(ROUNDS)), strict=True))
    layout = min(_extract(known, new, layout=True)[0] for _ in range(ROUNDS))
    native = min(_extract(known, new, native=True)[0] for _ in range(ROUNDS)) if KERNELS is not PURE else 0.0
    return {
        "pages": len(new),
        "bytes": sum(len(body) for _, _, body in new) / len(new),
        "parse_us": parse,
        "extract_us": extract,
        "again_us": again,
        "layout_us": layout,
        **({"native_us": native} if KERNELS is not PURE else {}),
        "ratio": extract / parse,
        "again_ratio": again / parse,
        "layout_ratio": layout / parse,
    }


def _parse(page: Page) -> None:
    lxml.html.document_fromstring(page[2])


def _extract(
    known: list[Page], new: list[Page], *, layout: bool = False, native: bool = False
) -> tuple[float, float]:
    extractor = Extractor(kernels=KERNELS if native else PURE)

    def extract(page: Page) -> None:
        extractor.extract(page[2], url=page[0], content_type=page[1], layout=layout)

    _cpu_us(extract, known)
    return _cpu_us(extract, new), _cpu_us(extract, new)


def _cpu_us(work: Callable[[Page], None], pages: list[Page]) -> float:
    gc.collect()
    start = time.process_time()
    for page in pages:
        work(page)
    return (time.process_time() - start) / len(pages) * 1e6


def _responses(path: str) -> Iterator[Page]:
    from warcio.archiveiterator import ArchiveIterator

    with Path(path).open("rb") as stream:
        for record in ArchiveIterator(stream):
            if record.rec_type == "response":
                url = record.rec_headers.get_header("WARC-Target-URI")
                content_type = record.http_headers.get_header("Content-Type") or ""
                yield url, content_type, record.content_stream().read()


def _thread(number: int) -> str:
    nav = "".join(
        f'<li class="nav-item"><a href="/board/{i}" class="nav-link">Board {i}</a></li>\n' for i in range(30)
    )
    posts = "".join(_post(number * 20 + i) for i in range(20))
    return (
        f'<!DOCTYPE html><html lang="en"><head><title>Thread {number}</title>'
        f'<link rel="canonical" href="/t/{number}"></head><body class="thread t-{number}">'
        f'<ul class="nav">\n{nav}</ul>\n<div id="posts">{posts}</div></body></html>'
    )


def _post(number: int) -> str:
    user = number % 97
    text = f"Post {number} says a few things that readers of the thread may want to know. " * 6
    return (
        f'<div class="post has-avatar" id="p{number}"><div class="post-head">'
        f'<a class="user" href="/u/{user}"><img class="avatar" src="/a/{user}.png" alt="user {user}"></a>\n'
        f'<span class="date">today</span>\n'
        f'<a class="permalink" href="?p={number}#p{number}">#{number}</a></div>\n'
        f'<div class="body"><p>{text}</p>\n<p>{text}<br>{text} '
        f'<a href="http://b.test/{number}" rel="nofollow">link</a></p></div></div>\n'
    )


def main(paths: list[str]) -> None:
    """Print the table for the generated site and for the given WARC files."""
    sites = {Path(path).name.partition(".")[0]: warc_pages(path) for path in paths}
    sample = {"generated": generated_pages()} | sites
    heads = ("pages", "KB", "parse us", "extract us", "ratio", "again", "layout")
    print(f"{'site':<20}" + "".join(f"{head:>11}" for head in heads))
    for site, row in run(sample).items():
        sizes = (row["pages"], row["bytes"] / 1024, row["parse_us"], row["extract_us"])
        ratios = (row["ratio"], row["again_ratio"], row["layout_ratio"])
        print(f"{site:<20}" + "".join(f"{x:>11.0f}" for x in sizes) + "".join(f"{x:>11.2f}" for x in ratios))


if __name__ == "__main__":
    main(sys.argv[1:])
