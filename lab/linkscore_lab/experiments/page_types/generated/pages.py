"""Made-up engines, and some pages of each with the kind they are."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from linkscore_lab.experiments.page_types.examples import Example
from linkscore_lab.experiments.page_types.generated import lists, others, threads
from linkscore_lab.experiments.page_types.generated.style import Writer, draw_style
from linkscore_lab.experiments.page_types.train import GENERATED
from linkscore_scoring.features.html import Extractor

ENGINES = 150
_SEED = 7
_MAKERS: dict[str, tuple[Callable[[Writer], str], ...]] = {
    "INDEX": (lists.thread_list, lists.thread_list, lists.thread_list, lists.board_list),
    "THREAD": (threads.posts, threads.posts, threads.article, threads.article),
    "OTHER": (
        others.stub, others.form, others.profile, others.people, others.word_list, others.link_list,
        others.document, others.changes,
    ),
}  # fmt: skip


def generated_pages(engines: int = ENGINES) -> Iterator[tuple[str, str, str, str]]:
    """Yield kind, name of the sort of page, URL and HTML of pages of `engines` engines; always the same ones.

    URLs say nothing, but that lists of one person's threads and profiles stand below a person's URL as often
    as not.
    """
    rng = random.Random(_SEED)
    for n in range(engines):
        style = draw_style(rng)
        for kind, makers in _MAKERS.items():
            for i, maker in enumerate(makers):
                writer = Writer(style, random.Random(f"{n}/{kind}/{i}"))
                url = f"http://e{n}.test/{'t/' if kind == 'THREAD' else 'x/'}{writer.number}"
                if maker is others.profile and style.person:
                    url = f"http://e{n}.test{style.person.format(writer.number)}"
                yield kind, maker.__name__, url, maker(writer)
        if style.person:
            writer = Writer(style, random.Random(f"{n}/own"))
            url = f"http://e{n}.test{style.person.format(writer.number)}"
            yield "OTHER", "own_threads", url, lists.thread_list(writer)


def generated_examples(engines: int = ENGINES) -> list[Example]:
    """Return the generated pages as examples of one site."""
    extractor, found = Extractor(), []
    for kind, name, url, html in generated_pages(engines):
        page = extractor.extract(html.encode(), url=url, content_type="text/html; charset=utf-8", layout=True)
        if page.layout is not None:
            found.append(Example(GENERATED, name, name, kind, url, 1.0, tuple(page.layout.signals)))
    return found
