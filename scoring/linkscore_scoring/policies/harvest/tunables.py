"""The numbers of `harvest`, all of them; one that several parts mean alike is one here.

Its parameters (`HarvestParams`) are for users; these are chosen once, for all sites. Beside a number stands
where it is from: *four sites*, set while looking at four stored sites; *six sites*, on six of them and
synthetic ones, by few trials; *measured*, with what was tried; *chosen*, by judgement; *a bound*, of memory
or time. What was tried without is in research/notebook/occam.md.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Tunables:
    """All of them; shares are in [0, 1], rewards too."""

    prior: float = 0.3  # reward expected on a site nothing is known of. Four sites
    # Observations that a belief held before them weighs as much as. Four sites; of examples against 1
    prior_weight: float = 2.0
    # Cases that make a rule of what may be chance: links of a link path followed, or standing between texts,
    # and pages that show them; pages that show an arm, or a class token; tries of a URL pattern. Four sites
    few: int = 3
    # Pulls of one kind of links that experience counts as at most, and pages with one text that are one page.
    # 20 synthetic sites
    evidence: int = 8
    flat: float = 1.2  # times as much text as the page with least has, up to which all have as much. Chosen
    trusted: float = 0.1  # mean reward from which an arm is trusted in full. 160 drawn mazes, of .1 and .3
    in_vain: float = 4.0  # fetches after which a new pattern is opened, doubled by each. 160 drawn mazes
    half_saturation: float = 5.0  # waiting links of an arm, half of what a try can teach. Six sites
    pooled: float = 0.3  # share of its parents' pulls that an arm counts as its own in its bonus. Four sites
    hub_links: float = 20.0  # expected reward of fresh links that makes a whole hub. Four sites
    link_share: float = 0.8  # of the mean reward of the site that a link of a list should bring. Six sites
    # Reward, or share of one, by which an arm that was tried, or has many links waiting, comes before others,
    # and how many make half of that share: what a site has most of, it is there for. Six sites
    edge: float = 0.2
    bulk_half_saturation: float = 30.0
    # Fetches more that may be under way for each answer. Measured with many in flight
    places_per_pull: float = 0.25
    worth_a_place: float = 0.95  # of the mean under way, below which a fetch waits. Measured: .85 to 1
    # Of a pull whose text may be excerpts, and of text that no example speaks for: what is left can be scaled
    # up again. Chosen
    least_left: float = 0.1
    decay: float = 0.9  # of earlier yields kept a pull. Measured: with 1, recall of target `question` is .66
    passes: int = 2  # times yields are followed on: a list that leads to lists is worth something. Chosen
    # Reward by feedback, or label by examples, of a page that counts as wanted, which a kind of pages nobody
    # opened is granted where labels decide; and the share of that left by each of `few` tries. Chosen
    wanted: float = 0.5
    unopened_kept: float = 0.8
    # Latest pages labelled anew after an answer, or unlike the examples that a fit reads; arms, the first
    # ones found, that trust in experience is judged by. A bound of work
    at_once: int = 256
    # Of a page that counts as like an example. Measured: a fifth site, forum_opendcl, moved it from .5
    least_cosine: float = 0.4
    # Power of the cosine to an example that text counts by where the URL is of another shape: that of one
    # template is .98, of guides beside jobs .6. Two sites, of 2, 4 and 8
    same_layout: float = 8.0
    # Label of a page whose URL has the shape of an example of which nothing else is known. Measured: .2, .45,
    # and, as if it were sure, 1, by which a site whose menu has the same shape loses .4
    shape: float = 0.2
    few_pages: int = 40  # until which two pages with a class token will do, or none would count. Chosen
    # Rewards that experience tells are scaled to those of text by no less, or one that is all wrong would
    # pass for one that is modest. 20 synthetic sites
    least_scale: float = 0.6
    kept: int = 20_000  # arms, class tokens and names of buckets; those of a site lower it. A bound
    worked_per_doubling: int = 128  # times all is worked out anew while pulls double. A bound of time
    pages: int = 2_000  # whose rewards are worked out anew (ADR 6); older ones keep their last. A bound


DEFAULTS = Tunables()
"""What `harvest` is served with."""
