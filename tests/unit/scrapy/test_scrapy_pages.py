"""What the server is told about a fetch."""

from __future__ import annotations

import pytest
from scrapy import Request
from scrapy.exceptions import CannotResolveHostError, DownloadFailedError, DownloadTimeoutError
from scrapy.http import HtmlResponse, Response
from twisted.internet.error import ConnectionRefusedError as Refused
from twisted.web._newclient import ResponseNeverReceived

from linkscore.scrapy import pages
from linkscore.scrapy.pages import failed_page, fetch_error, fetched_page, page_message
from linkscore.scrapy.scoring import is_web


def test_a_page_says_what_was_asked_and_what_was_got() -> None:
    meta = {"linkscore": {"ticket": b"t"}, "redirect_urls": ["http://h/old#x", "http://h/older"]}
    request = Request("http://h/new", meta=meta)
    headers = {"Content-Type": "text/html"}
    response = HtmlResponse("http://h/new", 200, headers, b"<p>", request=request)
    page = page_message(fetched_page(response), response)
    assert (page.url, page.final_url, page.ticket) == ("http://h/old", "http://h/new", b"t")
    assert (page.status_code, page.content_type, page.body) == (200, "text/html", b"<p>")
    assert page.event_id


def test_a_binary_body_stays_here() -> None:
    response = Response(
        "http://h/a.pdf",
        headers={"Content-Type": "application/pdf"},
        body=b"%PDF",
        request=Request("http://h/a.pdf"),
    )
    page = page_message(fetched_page(response), response)
    assert (page.WhichOneof("content"), page.content_type) == (None, "application/pdf")
    assert page.final_url == ""


def test_a_huge_body_is_cut(monkeypatch) -> None:
    monkeypatch.setattr(pages, "MAX_BODY_BYTES", 4)
    response = HtmlResponse("http://h/", body=b"123456", request=Request("http://h/"))
    assert page_message(fetched_page(response), response).body == b"1234"


def test_a_failed_fetch_says_why() -> None:
    page = failed_page(Request("http://h/a", meta={"linkscore": {"ticket": b"t"}}), DownloadTimeoutError())
    assert (page.url, page.status_code, page.fetch_error, page.ticket) == ("http://h/a", 0, "timeout", b"t")


def caused(by: Exception) -> Exception:
    error = DownloadFailedError()
    error.__cause__ = by
    return error


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (TimeoutError(), "timeout"),
        (CannotResolveHostError(), "dns"),
        (Refused(), "refused"),
        (caused(ResponseNeverReceived([])), "connection_lost"),
        (caused(KeyError()), "DownloadFailedError"),
    ],
)
def test_errors_have_words(error: Exception, word: str) -> None:
    assert fetch_error(error) == word


def test_only_web_pages_are_sent() -> None:
    assert is_web("https://h/")
    assert not is_web("data:text/html,x")
    assert not is_web("file:///etc/passwd")
