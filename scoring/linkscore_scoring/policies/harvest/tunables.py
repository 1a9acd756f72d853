"""The constants of `harvest` that decide its order, in one place, so that they can be chosen together."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Tunables:
    """What `make tune` chooses; the parameters of the policy are for users, these are not.

    `prior`, `parent_pulls`, `pooled`, `hub_links` and `excerpt_links` were set while looking at four stored
    sites; `link_share` and those of text, waiting, bulk and trust on six of them and the zoo, by few trials
    of each (docs/policies.md, chosen by regret on sites nobody chose). No whole run of `make tune` changed
    any.

    Attributes
    ----------
    prior
        Reward expected on a site nothing is known of, in [0, 1].
    parent_pulls
        Pseudo-pulls of the node above an arm, > 0.
    pooled
        Share of its parents' pulls that an arm counts as its own in its exploration bonus, in [0, 1].
    hub_links
        Expected reward of fresh links that makes a whole hub, > 0.
    link_share
        Share of the mean reward of the site that a link of a list is expected to bring, in (0, 1].
    text_quantile, text_share
        Characters worth a reward of 0.5 are this share of this quantile of the own text of pages.
    text_prior_pages, text_prior_chars
        Pages that a new site is taken to have had before its first one, and their own text.
    text_least, text_most
        Bounds of the characters worth 0.5.
    excerpt_links
        Pseudo-links that took nothing from the page they stand on, > 0.
    waiting_half
        Links waiting in an arm by which it is half worth trying, > 0.
    bulk, bulk_half
        Share by which the reward of an arm counts more if many links wait in it, >= 0, and how many make half
        of that: what a site has most of, it is there for.
    unopened, unopened_kept, trials
        Worth per fetch, by labels, that a kind of pages nobody opened is granted, in [0, 1]; the share of it
        that each try leaves, in [0, 1]; and how many tries are granted, >= 0. Chosen on the zoo by few trials
        (docs/policies.md, what lies behind one list).
    trust
        Reward by which an arm that was tried, or where many links wait, is preferred to one of neither, >= 0.
    """

    prior: float = 0.3
    parent_pulls: float = 2.0
    pooled: float = 0.3
    hub_links: float = 20.0
    link_share: float = 0.8
    text_quantile: float = 0.75
    text_share: float = 0.125
    text_prior_pages: float = 4.0
    text_prior_chars: float = 4_096.0
    text_least: float = 10.0
    text_most: float = 400.0
    excerpt_links: float = 2.0
    waiting_half: float = 5.0
    bulk: float = 0.2
    bulk_half: float = 30.0
    trust: float = 0.2
    unopened: float = 0.5
    unopened_kept: float = 0.8
    trials: float = 3.0
