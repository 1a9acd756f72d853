"""Synthetic sites differ in what they were drawn with, and are the same whenever they are drawn again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from linkscore_lab.datasets.survey import survey_site
from linkscore_lab.replay.prepare import prepare_generated
from linkscore_research.zoo import CHOOSING, JUDGING, SiteTraits, SyntheticSite, draw_traits

PLAIN = SiteTraits(
    items=24,
    item_chars=600,
    spread=0.3,
    thin_items=0.0,
    parts=0.0,
    item_url="id",
    related=0,
    levels=1,
    sections=2,
    per_list=8,
    shows="titles",
    paging="query",
    list_chars=0,
    sorts=0,
    facets=0,
    canonical=False,
    tags=0,
    dates=False,
    authors=0,
    author_chars=0,
    authors_wanted=False,
    hidden=0,
    hidden_chars=0,
    copies=0.0,
    logins=0.0,
    calendar=0,
    dead=0,
    about=1,
    about_chars=0,
    menu="top",
    boilerplate=0,
    rotating=0,
    languages=1,
    redesigned=0.0,
)


def counts(site: SyntheticSite) -> dict[str, int]:
    types = list(site.labels().values())
    return {kind: types.count(kind) for kind in sorted(set(types))}


def test_sites_to_choose_on_and_to_judge_on_are_two_hundred_each_and_none_is_both() -> None:
    assert (len(CHOOSING), len(JUDGING), set(CHOOSING) & set(JUDGING)) == (200, 200, set())


def test_a_site_of_few_traits_has_its_items_their_lists_a_front_page_and_a_page_about_it() -> None:
    assert counts(SyntheticSite(1, replace(PLAIN, sections=1))) == {
        "about": 1,
        "home": 1,
        "item": 24,
        "list": 3,
    }


@pytest.mark.parametrize(
    ("traits", "kind", "pages"),
    [
        ({"tags": 1}, "tag", None),
        ({"sections": 1, "sorts": 3}, "list_variant", 9),
        ({"facets": 2}, "list_variant", None),
        ({"copies": 1.0}, "copy", 24),
        ({"logins": 1.0}, "login", 24),
        ({"parts": 1.0}, "item_part", None),
        ({"authors": 5}, "author", 5),
        ({"hidden": 10}, "hidden", 10),
        ({"levels": 2}, "index", 1),
        ({"calendar": 20}, "calendar", 20),
        ({"dead": 2}, "gone", 4),
        ({"languages": 2}, "item", 48),
        ({"dates": True}, "month", None),
    ],
)
def test_a_trait_brings_pages_of_its_kind(traits: dict[str, object], kind: str, pages: int | None) -> None:
    found = counts(SyntheticSite(1, replace(PLAIN, **traits))).get(kind, 0)  # type: ignore[arg-type]
    assert found == pages if pages is not None else found > 0


def test_an_excerpt_shows_how_an_item_begins() -> None:
    site = SyntheticSite(1, replace(PLAIN, shows="excerpts"))
    item = site.respond("http://zoo1.test/item/24").body.decode()
    begins = item.partition("<article><p>")[2][:40]
    assert begins in site.respond(site.entry).body.decode()


@pytest.mark.parametrize("seed", [*CHOOSING[:8], *JUDGING[:4]])
def test_nearly_every_page_of_a_drawn_site_can_be_reached_and_all_have_a_label(seed: int) -> None:
    site = SyntheticSite(seed)
    reached = survey_site(site).pages
    assert reached.keys() <= site.labels().keys()
    assert len(reached) >= 0.9 * len(site.labels())


def test_the_same_seed_draws_the_same_site_and_another_one_another() -> None:
    digests = []
    for seed in (1_000, 1_000, 1_001):
        with prepare_generated(SyntheticSite(seed)) as site:
            digests.append(site.digest)
    assert digests[0] == digests[1] != digests[2]


def test_no_two_items_share_a_text() -> None:
    with prepare_generated(SyntheticSite(1, PLAIN)) as site:
        items = [record.facts.content for record in site.records if "/item/" in record.url]
    assert len(set(items)) == len(items) == 24


def test_traits_vary_over_the_sites_to_choose_on() -> None:
    drawn = [draw_traits(seed) for seed in CHOOSING]
    assert {traits.item_url for traits in drawn} == {"id", "id-slug", "slug", "flat", "query", "dated"}
    assert min(t.item_chars for t in drawn) < 100 < 2_000 < max(t.item_chars for t in drawn)


def test_the_front_page_comes_first_whatever_is_written_first() -> None:
    assert SyntheticSite(1_003).urls()[0] == SyntheticSite(1_003).entry
