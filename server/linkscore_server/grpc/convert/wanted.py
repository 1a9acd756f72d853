"""What a crawl is for in words: messages to values and back. Of sample texts hashes are kept."""

from __future__ import annotations

from linkscore.v1 import crawl_service_pb2 as pb
from linkscore_scoring.errors import FieldProblem, InvalidInput, InvalidPage
from linkscore_scoring.features.html import extract
from linkscore_scoring.features.types import PageWords, Words
from linkscore_scoring.features.words import words_of_texts
from linkscore_scoring.urls.identity import validate_url
from linkscore_scoring.wanted import Wanted, WantedQuery, WantedSample

MAX_TEXT_BYTES = 1_000_000  # of a sample text, as the contract says
_NO_URL = "http://example.invalid/"  # a sample without a URL; its links are not read


def wanted_of(crawl: pb.Crawl) -> Wanted | None:
    """Return what a crawl is for; None if it does not say. Cost: a parse for each body.

    Raises
    ------
    InvalidInput
        With the path of every bad field, such as ``crawl.wanted.queries[1].text``.
    """
    if not crawl.HasField("wanted"):
        return None
    message = crawl.wanted
    samples, problems = [], list[FieldProblem]()
    for i, given in enumerate(message.samples):
        try:
            samples.append(_sample(given))
        except InvalidInput as exc:
            samples.append(WantedSample())  # so that the numbers of the others stay
            problems += exc.under(f"crawl.wanted.samples[{i}]").problems
    wanted = Wanted(
        tuple(WantedQuery(q.text, q.weight if q.HasField("weight") else 1.0) for q in message.queries),
        tuple(samples),
        tuple(message.languages),
        message.least_words,
        message.quality_weight,
        message.embedding,
        message.embedding_weight if message.HasField("embedding_weight") else None,
    )
    problems += wanted.problems("crawl.wanted")
    if problems:
        raise InvalidInput(problems)
    return wanted


def wanted_message(wanted: Wanted) -> pb.Wanted:
    """Return what a crawl is for as a message; of samples without the texts."""
    return pb.Wanted(
        queries=[pb.WantedQuery(text=one.text, weight=_given(one.weight)) for one in wanted.queries],
        samples=[
            pb.WantedSample(url=one.url, unwanted=one.unwanted, weight=_given(one.weight))
            for one in wanted.samples
        ],
        languages=wanted.languages,
        least_words=wanted.least_words,
        quality_weight=wanted.quality_weight,
        embedding=wanted.embedding,
        embedding_weight=wanted.embedding_weight,
    )


def _given(weight: float) -> float | None:
    """Return a weight that is not the default."""
    return weight if weight != 1.0 else None


def _sample(message: pb.WantedSample) -> WantedSample:
    if message.text and message.body:
        raise InvalidInput("must not be given beside `text`", field="body")
    if not (message.url or message.text or message.body):
        raise InvalidInput("must be given, or else text or body", field="url", reason="REQUIRED")
    if (size := len(message.text.encode())) > MAX_TEXT_BYTES:
        raise InvalidInput(f"must be at most {MAX_TEXT_BYTES} bytes, got {size}", field="text")
    key = validate_url(message.url, "url", error=InvalidPage) if message.url else ""
    weight = message.weight if message.HasField("weight") else 1.0
    return WantedSample(message.url, key, _words(message), message.unwanted, weight)


def _words(message: pb.WantedSample) -> PageWords | None:
    if message.text:
        words = words_of_texts("", "", message.text)
        if not words.hashes:
            raise InvalidInput("must have a word", field="text")
        return words
    if not message.body:
        return None
    page = extract(
        message.body, url=message.url or _NO_URL, content_type=message.content_type, words=Words.COUNTED
    )
    if page.words is None or not page.words.hashes:
        raise InvalidPage("must be a page in HTML with words", field="body")
    return page.words
