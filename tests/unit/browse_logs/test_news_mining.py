"""News of a site from clicks: prefixes, thresholds from labels, abstention, state."""

from __future__ import annotations

from dataclasses import replace

import pytest

from linkscore_scoring.browse_logs.counts import BrowseCounts
from linkscore_scoring.browse_logs.mined import MinedSite
from linkscore_scoring.browse_logs.mining import MiningSettings, mine_site
from linkscore_scoring.browse_logs.news.calibration import PAPER_THRESHOLD, NewsThreshold
from linkscore_scoring.browse_logs.news.mining import mine_news
from linkscore_scoring.browse_logs.news.model import NewsModel
from linkscore_scoring.browse_logs.news.settings import NewsSettings
from linkscore_scoring.errors import CorruptState
from linkscore_scoring.state import from_state, plain
from support.browse_logs.clicks import counts_of

HOST = "http://a.test"
DYING = {10: 20, 11: 8, 12: 3, 13: 1}
STEADY = dict.fromkeys(range(30), 2)
PAPER = NewsSettings(signal="consistent", weighed=False, min_pages=1, min_coverage=0.0)


def log(news: list[str], other: list[str], *, hub: str = "") -> BrowseCounts:
    clicks = {f"{HOST}/{path}": DYING for path in news} | {f"{HOST}/{path}": STEADY for path in other}
    ways = [(f"{HOST}/{hub}", f"{HOST}/{path}", 5) for path in news] if hub else []
    return counts_of(clicks, n_days=30, transits=ways)


NEWS = [f"news/{i}.html" for i in range(20)]
WIKI = [f"wiki/{i}.html" for i in range(20)]
ARTICLES = [f"{i}/title-{i}" for i in range(40)]


def test_the_news_folder_of_a_site_is_found_and_its_hub() -> None:
    found = mine_news(log(NEWS, WIKI, hub="start"), NewsSettings())
    assert [prefix.text for prefix in found.prefixes] == ["a.test/news/"]
    assert (found.pages, found.news, found.covered, found.reason) == (40, 20, 1.0, "")
    assert [(hub.url, hub.news) for hub in found.hubs] == [(f"{HOST}/start", 20)]
    assert found.prefixes[0].share > found.prefixes[0].at_least > 0.9
    assert found.summary() == (
        "1 news prefixes hold 100% of the news; 20 of 40 pages are news (decay > 0, not fitted)"
    )


def test_the_paper_counts_what_lies_above_its_threshold() -> None:
    found = mine_news(log(NEWS, [*WIKI, "news/faq"]), PAPER)
    assert found.threshold.value == PAPER_THRESHOLD
    assert [(p.text, p.share) for p in found.prefixes] == [("a.test/news/", pytest.approx(20 / 21))]


def test_where_every_article_has_a_folder_of_its_own_the_model_abstains() -> None:
    pages = [f"{path}{query}" for path in ARTICLES for query in ("", "?show=1", "?show=2")]
    found = mine_news(log(pages[:60], pages[60:]), NewsSettings())
    assert found.abstains
    assert "URLs carry no news prefix (20 folders" in found.summary()
    assert not mine_news(log(pages[:60], pages[60:]), replace(PAPER, min_coverage=0.0)).abstains


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        (counts_of({f"{HOST}/a": {0: 5}}, n_days=30), "no page of the log has 1 clicks a day"),
        (log([], WIKI), "no page of the log is news"),
    ],
)
def test_a_model_says_why_it_knows_nothing(counts: BrowseCounts, reason: str) -> None:
    found = mine_news(counts, NewsSettings())
    assert found.reason == reason
    assert found.prefixes == []


def test_labels_fit_the_threshold_and_stand_for_themselves() -> None:
    labels = {f"{HOST}/{path}": path in NEWS for path in [*NEWS, *WIKI]} | {f"{HOST}/wiki/0.html": True}
    found = mine_news(log(NEWS, WIKI), NewsSettings(), labels)
    assert (found.threshold.n, found.threshold.hits, found.threshold.misses) == (40, 39, 1)
    assert found.news == 21


def test_few_labels_fit_nothing() -> None:
    labels = {f"{HOST}/news/0.html": True, f"{HOST}/wiki/0.html": False}
    assert mine_news(log(NEWS, WIKI), NewsSettings(), labels).threshold.n == 0


def test_what_was_fitted_stays_in_force_in_windows_without_labels() -> None:
    labels = {f"{HOST}/{path}": path in NEWS for path in [*NEWS, *WIKI]}
    before = mine_news(log(NEWS, WIKI), NewsSettings(), labels)
    later = mine_news(log(NEWS[:5], WIKI), NewsSettings(), before=before)
    assert (later.threshold, later.evidence) == (before.threshold, before.evidence)
    other = mine_news(log(NEWS, WIKI), NewsSettings(signal="literal"), before=before)
    assert other.threshold.n == 0


def test_a_threshold_that_is_given_stays_in_force() -> None:
    mined = mine_site(log(NEWS, WIKI), MiningSettings(news_threshold=0.5))
    later = mine_site(log(NEWS, WIKI), before=from_state(MinedSite, plain(mined)))
    for found in (mined.news, later.news):
        assert found is not None
        assert found.threshold == NewsThreshold(0.5, given=True)
        assert "(decay > 0.5, given)" in found.summary()
    changed = MiningSettings(news=NewsSettings(threshold=0.7))
    news = mine_site(log(NEWS, WIKI), changed, before=mined).news
    assert news is not None
    assert news.threshold == NewsThreshold(0.7)


def test_pages_too_young_for_concentration_are_counted_apart() -> None:
    clicks = {f"{HOST}/{path}": {26: 40, 27: 9} for path in NEWS[:4]}
    young = counts_of(clicks | {f"{HOST}/{path}": STEADY for path in WIKI}, n_days=30)
    assert mine_news(young, PAPER).undecided == 4
    assert mine_news(young, NewsSettings()).undecided == 0


def test_of_too_many_prefixes_those_with_most_news_are_kept() -> None:
    news = [f"{folder}/{i}" for folder, n in (("a", 3), ("b", 9), ("c", 5)) for i in range(n)]
    found = mine_news(log(news, WIKI), NewsSettings(max_prefixes=2, min_coverage=0.0))
    assert [prefix.text for prefix in found.prefixes] == ["a.test/b/", "a.test/c/"]


def test_mined_sites_survive_their_state() -> None:
    mined = mine_site(log(NEWS, WIKI, hub="start"))
    again = from_state(MinedSite, plain(mined))
    assert again.news == mined.news
    assert again.records == sum(DYING.values()) * 20 + 60 * 20


@pytest.mark.parametrize(
    "field", ["signal", "threshold", "evidence", "covered", "prefixes", "hubs", "reason"]
)
def test_a_state_that_lacks_a_field_is_refused(field: str) -> None:
    state = plain(mine_news(log(NEWS, WIKI), NewsSettings()))
    del state[field]
    with pytest.raises(CorruptState, match=field):
        from_state(NewsModel, state)
