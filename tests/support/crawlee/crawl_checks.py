"""What holds for every adapter, whatever the crawler."""

from __future__ import annotations

from support.fake_linkscore import FakeLinkscore

NOWHERE = "127.0.0.1:1"


def kinds(asked: list[str]) -> list[str]:
    """First segments of the paths that were asked for, the start left out, each run of equal ones once."""
    names = [path.split("/")[1] for path in asked if path not in ("/", "/robots.txt")]
    return [name for i, name in enumerate(names) if i == 0 or names[i - 1] != name]


def check_whole_crawl(fake: FakeLinkscore, asked: list[str], counts: dict[str, int]) -> None:
    """The best bucket went first, every page was fetched and sent once, failures and tickets reported."""
    assert kinds(asked) == ["thread", "tag", "gone"]
    assert len(asked) == len(set(asked))
    sent = {page.url.split("/", 3)[3]: page for page in fake.pages}
    assert len(sent) == len(fake.pages) == 1 + 2 * 3 * 3 + 3
    failed = {url for url, page in sent.items() if page.status_code == 404 or page.fetch_error}
    assert failed == {f"gone/{n}" for n in (1, 2, 3)}
    assert [link.url.split("/", 3)[3] for link in sent[""].outlinks][-1] == "thread/3"
    assert sent[""].ticket == b""
    assert all(page.ticket.endswith(url.encode()[-20:]) for url, page in sent.items() if url)
    assert (counts["pages"], counts["failed"], counts["scored"]) == (19, 3, 9 + 12)
    assert not counts["fallback"]
