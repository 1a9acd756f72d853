"""Embeddings that plug-ins bring: how near pages are to the queries of a crawl, by meaning.

Their models are the user's. What they say of a page goes into its event as one number, so that a log is read
again without the model, and with the same result.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from importlib.metadata import EntryPoint, entry_points
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.features.types import PageWords
from linkscore_scoring.wanted import Wanted, WantedQuery

Embed = Callable[[Sequence[str]], Any]
"""Texts to their vectors, (n_texts, n_dimensions)."""

_MAX_REMEMBERED = 100  # sets of queries whose vectors are kept; a bound
_DIGITS = 4  # of what goes into the log; chosen: below what any model means

_log = logging.getLogger(__name__)


def installed_embeddings() -> dict[str, Callable[[], Embed]]:
    """Return what loads each embedding that installed packages register; nothing is loaded yet."""
    return {entry.name: partial(_made_by, entry) for entry in entry_points(group="linkscore.embeddings")}


class Embeddings:
    """The embeddings of installed plug-ins, each loaded when the first crawl asks for it."""

    def __init__(self, found: Mapping[str, Callable[[], Embed]] | None = None) -> None:
        self._found = dict(found or {})
        self._loaded: dict[str, Embed] = {}
        self._vectors_of = lru_cache(_MAX_REMEMBERED)(self._queries_embedded)
        self._loading = Lock()
        # One thread: models use all cores by themselves, and need not be safe for two callers.
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="linkscore-embed")

    def check(self, wanted: Wanted | None) -> None:
        """Refuse an embedding that no plug-in brings."""
        if wanted is not None and wanted.embedding and wanted.embedding not in self._found:
            installed = ", ".join(sorted(self._found)) or "none"
            rule = f"no plug-in brings {wanted.embedding!r} (installed: {installed})"
            raise InvalidInput(rule, field="wanted.embedding")

    def load(self, name: str) -> bool:
        """Load the model of a name, which takes its time; blocks. One that fails is logged and left out."""
        with self._loading:
            if name not in self._loaded:
                try:
                    self._loaded[name] = self._found[name]()
                except Exception:
                    _log.exception(
                        "embedding %r cannot be loaded: pages are judged by their words alone", name
                    )
            return name in self._loaded

    async def compare(self, wanted: Wanted | None, pages: Sequence[PageFetched]) -> None:
        """Say of pages how near they are to what is wanted, and drop the texts they came with."""
        read = [page.features.words for page in pages if page.features is not None]
        found = [words for words in read if words is not None and words.excerpt]
        if wanted is not None and found and wanted.embedding in self._loaded:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._executor, self._compare, wanted, found)
        for words in found:
            words.excerpt = ""

    def close(self) -> None:
        """Let the thread go."""
        self._executor.shutdown()

    def _compare(self, wanted: Wanted, pages: Sequence[PageWords]) -> None:
        """Say of pages how near they are, by a model that was loaded. One that fails is logged."""
        try:
            queries = self._vectors_of(wanted.embedding, wanted.queries)
            near = self._embedded(wanted.embedding, [page.excerpt for page in pages]) @ queries.T
        except Exception:  # a page is worth its words where a model fails
            _log.exception("embedding %r failed on %d pages", wanted.embedding, len(pages))
            return
        for page, nearest in zip(pages, near.max(axis=1).tolist(), strict=True):
            page.meaning = round(min(1.0, max(0.0, nearest)), _DIGITS)

    def _queries_embedded(self, name: str, queries: tuple[WantedQuery, ...]) -> NDArray[np.float64]:
        """Return the vectors of queries, (n_queries, n_dimensions), as long as the queries weigh."""
        weights = np.array([query.weight for query in queries], dtype=np.float64)
        vectors = self._embedded(name, [query.text for query in queries])
        weighed: NDArray[np.float64] = vectors * (weights / weights.max())[:, None]
        return weighed

    def _embedded(self, name: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the vectors of texts, each of length 1, or of 0s."""
        vectors = np.asarray(self._loaded[name](texts), dtype=np.float64)
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise ValueError(f"want {len(texts)} vectors of finite numbers, got shape {vectors.shape}")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / np.where(lengths > 0.0, lengths, 1.0)


def _made_by(entry: EntryPoint) -> Embed:
    embed: Embed = entry.load()()
    return embed
