"""The numbers of `harvest`, all of them; one that several parts mean alike is one here.

Its parameters (`HarvestParams`) are for users; these are chosen once, for all sites. Whoever tries others
passes them in: ``Harvest(params, tunables=...)``. Where a number is from is said beside it: *four sites*, set
while looking at four stored sites; *six sites*, on six of them and synthetic ones, by few trials of each;
*measured*, with what was tried; *chosen*, by judgement, not measured alone; *a bound*, of memory or time. No
whole run of `make tune` changed any. What was tried without is in research/notebook/occam.md.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Tunables:
    """All of them.

    Attributes
    ----------
    prior
        Reward expected on a site nothing is known of, in [0, 1]. Four sites.
    prior_weight
        Observations that a belief held before them weighs as much as, > 0: pulls of the node above an arm,
        links that took no text, pages that are worth their text and not their label. Four sites; of examples
        measured against 1.
    few
        Cases that make a rule of what may be chance, >= 1: links of a link path followed, or standing between
        texts, and pages that show such links; pages that show an arm, or a class token; tries of a URL
        pattern, and pages of it to ask about. Chosen on four sites.
    half_saturation
        Links that wait in an arm, or pages in doubt, that make half of what a try or an answer can teach,
        > 0. Six sites.
    pooled
        Share of its parents' pulls that an arm counts as its own in its bonus, in [0, 1]. Four sites.
    hub_links
        Expected reward of fresh links that makes a whole hub, > 0. Four sites.
    link_share
        Share of the mean reward of the site that a link of a list is expected to bring, in (0, 1]. Six sites.
    bulk, bulk_half_saturation
        Share by which the reward of an arm counts more if many links wait in it, >= 0, and how many make half
        of that: what a site has most of, it is there for. Six sites.
    trust
        Reward by which an arm that was tried, or where many links wait, is preferred to one of neither, >= 0.
        Six sites.
    places_per_pull
        Fetches more that may be under way for each answer, > 0. Measured with many in flight.
    worth_a_place
        Share of the mean worth of what is under way below which a fetch waits, in [0, 1]. Measured with many
        in flight: .85, .9, .95.
    text_quantile, text_share
        Characters worth a reward of 0.5 are this share of this quantile of the own text of pages,
        `site.texts.HALF_CHARS` at most. Six sites.
    prior_pages
        Pages that a new site is taken to have had before its first one, with so much text that half of a
        reward takes `HALF_CHARS`. Six sites.
    bins_per_octave
        Of the histogram: text need not be told apart finer. Chosen.
    look_growth
        Times as many pages as at the last look at the quantile: rewards are revised when it moves. Chosen.
    least_left
        Of a pull whose text may be excerpts, of the value of asking about what is surely like a named page,
        and of text that no example speaks for, in (0, 1): what is left can be scaled up again. Chosen.
    decay
        Share of earlier yields behind links kept a pull, in (0, 1]. Measured: with 1, recall of the target
        `question` is .66.
    unopened, unopened_kept
        Worth per fetch that a kind of pages nobody opened is granted where labels decide and no link of its
        link path was followed, and the share of it that each of `few` tries leaves, both in [0, 1]. Chosen on
        synthetic sites by few trials.
    hub_pages
        Pages whose links are remembered. A bound.
    wanted
        Reward by feedback, or label by examples, from which a page counts as wanted, in (0, 1). Chosen.
    at_once
        Pages or arms that are gone through at once: the latest pages, labelled anew after an answer in 0.05 s
        or so; pages unlike the examples that a fit reads, the latest; arms that trust in experience is judged
        by, the first ones found; arms of fresh links kept of a page, those with most; URL patterns to ask
        about. A bound of work.
    least_cosine
        Of a page that counts as like an example, in (0, 1]. Measured: a fifth site, forum_opendcl, moved it
        from .5.
    latest
        Latest pages that stand for many: those not wanted that a page is compared with, and of a URL pattern
        those whose mean is its uncertainty, about. A bound.
    few_pages
        Pages until which two with a class token will do, or nothing would count at first. Chosen.
    uncertain
        Uncertainty from which a page is worth a question, in [0, 1]. Chosen.
    most_pulls
        That experience of a group of links counts as, > 0; and of an arm that count as evidence: one big arm
        is not the whole site. This and `least_scale` on 20 synthetic sites.
    least_scale
        Labels say 1 of a page whose text says .6 or .7, so rewards that experience tells are scaled to those
        of text: by no less than this, in (0, 1], or one that is all wrong would pass for one that is modest.
    kept, pages
        Arms, link paths, class tokens and names of buckets kept, and pages whose rewards can be revised
        (ADR 6), or shapes of URLs remembered. Bounds; those of a site lower or replace them with its first
        page.
    """

    prior: float = 0.3
    prior_weight: float = 2.0
    few: int = 3
    half_saturation: float = 5.0
    pooled: float = 0.3
    hub_links: float = 20.0
    link_share: float = 0.8
    bulk: float = 0.2
    bulk_half_saturation: float = 30.0
    trust: float = 0.2
    places_per_pull: float = 0.25
    worth_a_place: float = 0.95
    text_quantile: float = 0.75
    text_share: float = 0.125
    prior_pages: float = 4.0
    bins_per_octave: int = 2
    look_growth: float = 1.1
    least_left: float = 0.1
    decay: float = 0.9
    unopened: float = 0.5
    unopened_kept: float = 0.8
    hub_pages: int = 1_000
    wanted: float = 0.5
    at_once: int = 256
    least_cosine: float = 0.4
    few_pages: int = 40
    uncertain: float = 0.25
    latest: int = 16
    most_pulls: float = 8.0
    least_scale: float = 0.6
    kept: int = 20_000
    pages: int = 5_000


DEFAULTS = Tunables()
"""What `harvest` is served with."""
