"""The numbers of `harvest`, all of them, by the part that they are given to.

Its parameters (`HarvestParams`) are for users; these are chosen once, for all sites. Whoever tries others
passes them in: ``Harvest(params, tunables=...)``. Where a number is from is said beside it: *four sites*, set
while looking at four stored sites; *six sites*, on six of them and synthetic ones, by few trials of each;
*measured*, with what was tried; *chosen*, by judgement, not measured alone; *a bound*, of memory or time. No
whole run of `make tune` changed any. Experiments are in research/notebook/harvest-unseen-sites.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmTunables:
    """Of `arms`: how means are shrunk, and the bonus.

    Attributes
    ----------
    prior
        Reward expected on a site nothing is known of, in [0, 1]. Four sites.
    parent_pulls
        Pseudo-pulls of the node above, > 0; as many stand for what is believed of hubs, and of experience,
        before anything is known. Four sites.
    pooled
        Share of its parents' pulls that an arm counts as its own in its bonus, in [0, 1]. Four sites.
    doubt
        Standard errors by which a pull in flight is expected below the mean, >= 0. Measured with many in
        flight.
    """

    prior: float = 0.3
    parent_pulls: float = 2.0
    pooled: float = 0.3
    doubt: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueTunables:
    """Of `policy`: what an arm is worth beside its mean reward.

    Attributes
    ----------
    hub_links
        Expected reward of fresh links that makes a whole hub, > 0. Four sites.
    link_share
        Share of the mean reward of the site that a link of a list is expected to bring, in (0, 1]. Six sites.
    waiting_half_saturation
        Links waiting in an arm by which it is half worth trying, > 0. Six sites.
    bulk, bulk_half_saturation
        Share by which the reward of an arm counts more if many links wait in it, >= 0, and how many make half
        of that: what a site has most of, it is there for. Six sites.
    trust
        Reward by which an arm that was tried, or where many links wait, is preferred to one of neither, >= 0.
        Six sites.
    curious_tries, curious_pages
        Links of a link path followed until curiosity ends, >= 1, and pages showing it between texts for full
        curiosity, > 0. Chosen, looking at four sites.
    menu_pages
        Pages since the first that showed an arm before it may be a menu: at first every link is on all of
        them. Chosen.
    """

    hub_links: float = 20.0
    link_share: float = 0.8
    waiting_half_saturation: float = 5.0
    bulk: float = 0.2
    bulk_half_saturation: float = 30.0
    trust: float = 0.2
    curious_tries: int = 3
    curious_pages: float = 3.0
    menu_pages: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class InFlightTunables:
    """Of `arms`: how much may be under way together.

    Attributes
    ----------
    places_per_pull
        Fetches more that may be under way for each answer, > 0. Measured with many in flight.
    worth_a_place
        Share of the mean worth of what is under way below which a fetch waits, in [0, 1]. Measured with many
        in flight: .85, .9, .95.
    """

    places_per_pull: float = 0.25
    worth_a_place: float = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTunables:
    """Of `own_text`: what a page's own text is worth.

    Attributes
    ----------
    quantile, share
        Characters worth a reward of 0.5 are this share of this quantile of the own text of pages. Six sites.
    prior_pages, prior_chars
        Pages that a new site is taken to have had before its first one, and their own text. Six sites.
    least_half, most_half
        Bounds of the characters worth 0.5. Six sites.
    least_chars
        Of a page that counts in the quantile: the shortest text block there is (`features.walk`).
    bins_per_octave
        Of the histogram: text need not be told apart finer. Chosen.
    look_growth
        Times as many pages as at the last look at the quantile: rewards are revised when it moves. Chosen.
    excerpt_links
        Pseudo-links that took nothing from the page they stand on, > 0. Four sites.
    between_links
        Links of a link path, each after another new text, that stand between texts, >= 1. Chosen, looking at
        four sites.
    most_doubt
        Of a page whose text may be excerpts, in (0, 1): what is left of a pull can be scaled up
        again. Chosen.
    """

    quantile: float = 0.75
    share: float = 0.125
    prior_pages: float = 4.0
    prior_chars: float = 4_096.0
    least_half: float = 10.0
    most_half: float = 400.0
    least_chars: int = 25
    bins_per_octave: int = 2
    look_growth: float = 1.1
    excerpt_links: float = 2.0
    between_links: int = 3
    most_doubt: float = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class HubTunables:
    """Of `hubs`: what a page earns by the links behind it, where labels decide.

    Attributes
    ----------
    decay
        Share of earlier yields kept a pull, in (0, 1]. Measured: with 1, recall of the target `question` is
        .66.
    unopened, unopened_kept, trials
        Worth per fetch that a kind of pages nobody opened is granted where no link of its link path was
        followed, in [0, 1]; the share of it that each try leaves, in [0, 1]; and how many tries are granted,
        >= 0. Chosen on synthetic sites by few trials.
    tie
        Share of an arm's own worth, in [0, 1), that orders kinds of pages hardly opened. Chosen.
    max_pages, arms_per_page
        Pages whose links are remembered, and arms of fresh links kept of each, those with most. Bounds.
    count_each, count_often, every_often, every
        All pages are counted anew every pull up to `count_each`, every `every_often` pulls up to
        `count_often`, then every `every`: early on worths change with every fetch, later a full count would
        cost O(pages) a fetch for little. Chosen.
    """

    decay: float = 0.9
    unopened: float = 0.5
    unopened_kept: float = 0.8
    trials: float = 3.0
    tie: float = 0.1
    max_pages: int = 1_000
    arms_per_page: int = 64
    count_each: int = 32
    count_often: int = 512
    every_often: int = 8
    every: int = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelTunables:
    """Of `rewards`: how far labels, not text, decide.

    Attributes
    ----------
    wanted
        Reward by feedback, or label by examples, from which a page counts as wanted, in (0, 1). Chosen.
    half_saturation
        Wanted pages known after which text counts half, and examples after which a page like none is worth
        half of its text, > 0. Measured of examples: 1, 2.
    relabelled
        Pages labelled anew after an answer, the latest: 0.1 s or so. A bound.
    """

    wanted: float = 0.5
    half_saturation: float = 2.0
    relabelled: int = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class LikenessTunables:
    """Of `likeness`: whether a page is like an example.

    Attributes
    ----------
    least_cosine
        Of a page that counts as alike, in (0, 1]. Measured: a fifth site, forum_opendcl, moved it from .5.
    first_fit, last_fit
        Fits read pages, so they come when the pages unlike the examples have doubled, from the first number
        to the last: weights move by shares, not by counts. Bounds; chosen.
    background, max_unwanted
        Pages unlike the examples that a fit reads, and pages not wanted that a page is compared with, the
        latest. Bounds.
    few_pages, least_of_few, least_pages, least_share
        A class token counts from `least_pages` and this share of the pages on, as in
        `clustering.class_paths`; from `least_of_few` while there are fewer than `few_pages`, or nothing would
        count at first. Chosen.
    max_tokens
        Class tokens and elements remembered. A bound.
    """

    least_cosine: float = 0.4
    first_fit: int = 2
    last_fit: int = 256
    background: int = 128
    max_unwanted: int = 16
    few_pages: int = 40
    least_of_few: int = 2
    least_pages: int = 4
    least_share: float = 0.005
    max_tokens: int = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionTunables:
    """Of `rewards`: which pages a user is asked about.

    Attributes
    ----------
    half_saturation
        Uncertain pages, or summed rewards, that make half the value, > 0. Chosen.
    sure_left
        Of the value of asking about what is surely like a named page, in (0, 1). Chosen.
    uncertain
        Uncertainty from which a page is worth a question, in [0, 1]. Chosen.
    latest
        Pages the uncertainty of a URL pattern is the mean of, about. Chosen.
    kept, max_groups
        Pages kept of a URL pattern, and URL patterns kept: 512 URLs in all. Bounds.
    """

    half_saturation: float = 5.0
    sure_left: float = 0.1
    uncertain: float = 0.25
    latest: int = 32
    kept: int = 4
    max_groups: int = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class StartTunables:
    """Of `starts`: what arms start with. Those of warm starts were chosen on 20 sites
    of the choosing half of the synthetic corpus.

    Attributes
    ----------
    most_pulls
        That experience of a group of links counts as, > 0; and of an arm that count as evidence: one big arm
        is not the whole site.
    patience
        Squared error, in pulls, that experience is granted before it loses trust, > 0.
    least_scale
        Labels say 1 of a page whose text says .6 or .7, so rewards are scaled to those of text: by no less
        than this, in (0, 1], or an experience that is all wrong would pass for one that is modest.
    judged_arms
        Arms, the first ones found, that trust is judged by. A bound of work.
    example_pulls
        Pulls that examples count as for the URL patterns of their shape, > 0. Measured: 1, 2, 4.
    max_shapes
        URL patterns whose shapes are remembered: as many as a tree has nodes. A bound.
    """

    most_pulls: float = 8.0
    patience: float = 1.0
    least_scale: float = 0.6
    judged_arms: int = 256
    example_pulls: float = 1.0
    max_shapes: int = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HarvestBounds:
    """What is kept of a site, at most; its own bounds lower or replace these with its first page.

    Attributes
    ----------
    arms, nodes_per_arm
        Arms, and nodes kept for each: Link path, pattern and the arm itself.
    apaths
        link paths whose links are followed up.
    pages
        Pages whose rewards can be revised (ADR 6).
    """

    arms: int = 20_000
    nodes_per_arm: int = 3
    apaths: int = 20_000
    pages: int = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Tunables:
    """All of them: one field a part."""

    arms: ArmTunables = field(default_factory=ArmTunables)
    value: ValueTunables = field(default_factory=ValueTunables)
    in_flight: InFlightTunables = field(default_factory=InFlightTunables)
    text: TextTunables = field(default_factory=TextTunables)
    hubs: HubTunables = field(default_factory=HubTunables)
    labels: LabelTunables = field(default_factory=LabelTunables)
    likeness: LikenessTunables = field(default_factory=LikenessTunables)
    questions: QuestionTunables = field(default_factory=QuestionTunables)
    starts: StartTunables = field(default_factory=StartTunables)
    bounds: HarvestBounds = field(default_factory=HarvestBounds)


DEFAULTS = Tunables()
"""What `harvest` is served with."""
