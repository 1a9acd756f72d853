"""CPU of feature extraction against the bare parse of the same pages.

Pages are new to the extractor, which has read as many others of the site before; ``layout`` adds their
records, link groups and signals, which only crawls with a policy that reads them pay.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence

import lxml.html

from benchmarks.pages import Corpus, Page
from benchmarks.table import Row
from linkscore_scoring.features.html import Extractor
from linkscore_scoring.kernels import KERNELS, PURE

ROUNDS, PAGES = 5, 400


def rows(corpus: Corpus) -> list[Row]:
    """Return rows for each site: extraction, by the compiled reader if it is there, and with layout."""
    found = []
    kinds = {"Feature extraction": {"kernels": PURE}}
    if KERNELS is not PURE:
        kinds["Feature extraction, compiled reader"] = {"kernels": KERNELS}
    for site in corpus.names:
        pages = corpus.pages(site, PAGES)
        known, new = pages[1::2], pages[::2]
        bare = min(_cpu_ms(_parse, new) for _ in range(ROUNDS))
        for name, options in kinds.items():
            ours = min(_extracted(known, new, layout=False, **options) for _ in range(ROUNDS))
            found.append(Row(name, site, ours, "ms CPU/page", bare))
        ours = min(_extracted(known, new, layout=True, kernels=PURE) for _ in range(ROUNDS))
        found.append(Row("Feature extraction with layout", site, ours, "ms CPU/page", bare))
    return found


def _parse(page: Page) -> None:
    lxml.html.document_fromstring(page.body)


def _extracted(known: Sequence[Page], new: Sequence[Page], *, layout: bool, kernels: object) -> float:
    extractor = Extractor(kernels=kernels)

    def extract(page: Page) -> None:
        extractor.extract(page.body, url=page.url, content_type=page.content_type, layout=layout)

    _cpu_ms(extract, known)
    return _cpu_ms(extract, new)


def _cpu_ms(work: Callable[[Page], None], pages: Sequence[Page]) -> float:
    gc.collect()
    start = time.process_time()
    for page in pages:
        work(page)
    return (time.process_time() - start) / len(pages) * 1e3
