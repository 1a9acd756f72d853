"""What pages mean by an embedding, said once while a site is read: no crawl asks its model again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.features.types import PageWords
from linkscore_scoring.wanted import Wanted
from linkscore_server.crawls.embeddings import Embeddings, installed_embeddings

Compare = Callable[[Sequence[PageWords]], None]


def comparison(wanted: Wanted | None) -> Compare | None:
    """Return what says of pages how near they are to what is wanted; None if no embedding is asked for."""
    if wanted is None or not wanted.embedding:
        return None
    embeddings = Embeddings(installed_embeddings())
    embeddings.check(wanted)
    if not embeddings.load(wanted.embedding):
        raise InvalidInput(f"{wanted.embedding!r} cannot be loaded, see the log", field="embedding")
    return partial(embeddings.compare_words, wanted)
