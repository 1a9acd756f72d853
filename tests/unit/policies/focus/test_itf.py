"""Patterns learned from URLs of one type: the paper's examples, and what sites do beyond them."""

from __future__ import annotations

import re

from linkscore_scoring.policies.focus.expressions import LearnedPattern, learn_patterns

STEW = "http://www.gardenstew.com/"
ABOUT = [f"{STEW}about{n}.html" for n in (20152, 18382, 19741, 20142)]
TITLES = ["alpha-one", "big-dog", "cool-x", "dear-me", "eggs", "flip-3", "great-day", "hello", "ink", "jump"]


def regexes(found: list[LearnedPattern]) -> list[str]:
    return [pattern.regex for pattern in found]


def fits(found: list[LearnedPattern], url: str) -> bool:
    return any(re.search(pattern.regex, url) for pattern in found)


def test_the_papers_example_keeps_four_of_six_and_drops_one_of_six():
    found = learn_patterns([*ABOUT, f"{STEW}user-34.html", f"{STEW}post-180803.html"])
    assert found == [
        LearnedPattern(
            r"^https?://www\.gardenstew\.com/about\d+\.html$", 4, 6, confident=True, example=ABOUT[0]
        )
    ]


def test_titles_become_one_slug_and_a_member_among_threads_is_dropped():
    urls = [f"http://f.org/threads/{title}.{i}/" for i, title in enumerate(TITLES)]
    found = learn_patterns([*urls, "http://f.org/members/bob.5/"])
    assert regexes(found) == [r"^https?://f\.org/threads/[^/?&.=:;@]+\.\d+/?$"]
    assert (found[0].matches, found[0].total) == (10, 11)


def test_the_query_is_learned_sorted_and_fits_as_it_was_seen():
    urls = [f"http://f.org/viewtopic.php?t={i}&f={i % 3}" for i in range(20)]
    ours = learn_patterns(urls)
    assert regexes(ours) == [r"^https?://f\.org/viewtopic\.php\?(?:f=\d+&t=\d+|t=\d+&f=\d+)$"]
    assert fits(ours, urls[0])
    assert fits(ours, "https://f.org/viewtopic.php?f=1&t=99")
    assert not fits(ours, "https://f.org/viewtopic.php?f=1")


def test_support_is_strictly_more_than_the_share_of_all_urls():
    four_fifths = [f"http://f.org/t/{i}" for i in range(4)]
    assert regexes(learn_patterns([*four_fifths, "http://f.org/u-1"])) == [r"^https?://f\.org/t/\d+/?$"]


def test_titles_that_begin_with_digits_or_escapes_are_slugs_too():
    words = [*TITLES, "2016-cup", "%E3%81%82", "9lives"]
    found = learn_patterns([f"http://f.org/t/{word}" for word in words])
    assert [(p.regex, p.matches) for p in found] == [(r"^https?://f\.org/t/[^/?&.=:;@]+/?$", 13)]


def test_a_slug_leaves_out_a_sign_that_few_of_its_urls_have():
    wiki = "http://w.org/wiki/"
    articles = learn_patterns([wiki + title for title in TITLES])
    assert not fits(articles, f"{wiki}Category:Ships")
    mixed = learn_patterns([wiki + (f"{t}:x" if i % 2 else t) for i, t in enumerate(TITLES)])
    assert fits(mixed, f"{wiki}Some:thing")


def test_a_slash_at_the_end_may_be_missing_but_not_after_a_file_or_the_root():
    assert fits(learn_patterns([f"http://f.org/t/{i}/" for i in range(9)]), "http://f.org/t/7")
    assert fits(learn_patterns([f"http://f.org/t/{i}" for i in range(9)]), "http://f.org/t/7/")
    assert not fits(learn_patterns(ABOUT), f"{STEW}about7.html/")


def test_each_group_keeps_its_pattern_beside_a_larger_one():
    boards = [f"http://f.org/board/{i}" for i in range(3)]
    threads = [f"http://f.org/thread/{i}" for i in range(60)]
    found = learn_patterns(threads, boards, threads[:2])
    assert [(p.matches, p.total) for p in found] == [(60, 63), (3, 63)]
    assert len(learn_patterns([*threads, *boards])) == 1


def test_long_urls_of_single_signs_are_no_problem():
    urls = [f"http://f.org/{'-_' * 1000}{i}" for i in range(9)]
    assert learn_patterns(urls)[0].matches == 9
