"""The text by which a fetched page was linked: the longest of the latest links, bounded."""

from __future__ import annotations

from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.features.types import Links, PageFeatures
from linkscore_server.crawls import anchors
from linkscore_server.crawls.anchors import MAX_CHARS, AnchorTexts


def fetched(url: str, links: dict[str, str], *, requested: str = "") -> PageFetched:
    """The event of a page with links by URL, each with its text."""
    found = Links(urls=list(links), keys=list(links), anchors=list(links.values()))
    return PageFetched(
        event_id=url,
        site="a.test",
        url=url,
        requested_key=requested or url,
        status_code=200,
        fetch_error="",
        ticket=b"",
        now_s=0.0,
        features=PageFeatures(url, url, links=found),
    )


def see(texts: AnchorTexts, url: str, links: dict[str, str], *, requested: str = "") -> None:
    texts.see(fetched(url, links, requested=requested), url)


def test_a_page_has_the_longest_text_it_was_linked_by() -> None:
    texts = AnchorTexts()
    see(texts, "http://a.test/", {"http://a.test/1": "How to bake bread", "http://a.test/2": ""})
    see(texts, "http://a.test/list", {"http://a.test/1": "more"})
    see(texts, "http://a.test/1", {})
    see(texts, "http://a.test/2", {})
    assert texts.of("http://a.test/1") == "How to bake bread"
    assert texts.of("http://a.test/2") == texts.of("http://a.test/") == ""


def test_a_page_that_was_redirected_has_the_text_of_the_link_that_led_there() -> None:
    texts = AnchorTexts()
    see(texts, "http://a.test/", {"http://a.test/go?1": "Bread"})
    see(texts, "http://a.test/bread", {}, requested="http://a.test/go?1")
    assert texts.of("http://a.test/bread") == "Bread"


def test_a_page_that_is_linked_only_after_it_was_fetched_has_that_text() -> None:
    texts = AnchorTexts()
    see(texts, "http://a.test/1", {})
    see(texts, "http://a.test/", {"http://a.test/1": "Bread"})
    assert texts.of("http://a.test/1") == "Bread"


def test_texts_are_cut_and_the_oldest_forgotten(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(anchors, "MAX_LINKS", 2)
    texts = AnchorTexts()
    see(texts, "http://a.test/", {f"http://a.test/{n}": "x" * 10_000 for n in range(3)})
    found = [texts.of(f"http://a.test/{n}") for n in range(3)]
    assert found == ["", "x" * MAX_CHARS, "x" * MAX_CHARS]
