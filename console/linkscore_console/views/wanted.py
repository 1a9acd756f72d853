"""What a crawl is for in words: shown on its page, and changed."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from linkscore.v1 import crawl_service_pb2
from linkscore_console.page import back_to, console_of


def has_texts(wanted: crawl_service_pb2.Wanted) -> bool:
    """Say whether samples were given as texts, which the server does not give back."""
    return any(not sample.url for sample in wanted.samples)


async def change(request: Request) -> Response:
    """Take queries, languages and least words from the form; samples given by URL stay."""
    console, name = console_of(request), request.path_params["crawl"]
    form = await console.form_of(request)
    source = console.source
    before = (await source.ask(source.client.get_crawl, crawl=name)).wanted
    if has_texts(before):
        raise HTTPException(409, "Samples given as texts would be lost: change it where they are kept.")
    words = form.get("least_words", "").strip() or "0"
    if not words.isdecimal():
        raise HTTPException(400, f"least_words: must be a number of words, got {words[:20]!r}.")
    weights = {query.text: query.weight for query in before.queries if query.HasField("weight")}
    wanted = crawl_service_pb2.Wanted(
        queries=[
            crawl_service_pb2.WantedQuery(text=text, weight=weights.get(text))
            for text in map(str.strip, form.get("queries", "").splitlines())
            if text
        ],
        samples=before.samples,
        languages=form.get("languages", "").replace(",", " ").split(),
        least_words=int(words[:9]),
    )
    # An empty one takes what was wanted away.
    await source.tell(source.client.update_crawl, crawl=name, wanted=wanted if wanted.ByteSize() else {})
    return back_to(f"/crawls/{name}")
