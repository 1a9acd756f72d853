"""The constants of `topic` that decide its order, in one place, so that they can be chosen together."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Tunables:
    """Weights, pulls and gains are those of a simulator tried on the dev half of the tasks of `make wanted`
    (research/notebook/topic.md); precisions, `sign_power`, `list_trust`, optimism and what is
    said of pages found were chosen on that half
    itself, of a few values; what is said of questions on the first half of research/notebook/questions.md;
    what says when a page is a list was chosen, not measured.
    """

    # what a link is expected to be worth by each feature of `LinkSignals.vector`, before any page
    prior_weights: tuple[float, ...] = (0.0, 0.6, 0.3, 0.2, 0.3, 0.0)
    # pages by which half of that is believed, if they have nothing but this feature, > 0
    prior_precisions: tuple[float, ...] = (5.0, 10.0, 10.0, 10.0, 10.0, 10.0)
    prior_mean: float = 0.1  # worth of a page of a crawl nothing is known of, in [0, 1]
    parent_pulls: float = 2.0  # pseudo-pulls of the node above an arm, > 0
    gain_decay: float = 0.9  # share of earlier gains kept a pull, in (0, 1]
    gain_links: int = 20  # best links of a page that its gain is computed from, >= 1
    # how much of its arm's gain a link without any signal gets, in [0, 1]; signals add to it
    gain_floor: float = 0.3
    # site_optimism, site_pulls: what it is worth at most that a site is hardly known while others are, and as
    # much that a page of it shows links nobody has seen, until a page of it is surely relevant, >= 0; and the
    # pages of the site, or of others, at which the former is half of that, > 0
    site_optimism: float = 0.4
    site_pulls: float = 8.0
    # power of the share of the topic's words that anchor or URL say, > 0: one of two words says little
    sign_power: float = 2.0
    # told_words, least_told: words of a question that an anchor or URL is hoped to say, >= 1: of a longer one
    # as many tell all, but never less than this share, in (0, 1]
    told_words: int = 3
    least_told: float = 0.5
    # unseen_worth, unseen_half: what it is worth at most that a page shows links nobody has seen, until a
    # page found surely answers a question, >= 0, and how many such links make half of that, or of
    # `site_optimism`, > 0
    unseen_worth: float = 0.2
    unseen_half: float = 30.0
    # what a link is worth, in mean worth of the links of its list alone, if sample pages are known, >= 0
    list_trust: float = 0.8
    found_relevance: float = 0.7  # what a page must be worth to be surely relevant, in [0, 1]
    # what it is worth that a URL says all words of a query, >= 0: more than all else together
    named: float = 2.0
    # signals of its own link, and relevance, together, from which on a page may be a list
    list_signals: float = 0.5
    list_links: int = 3  # links at one link path of a page, not fetched yet, that make a list, >= 1
    max_lists: int = 200  # lists told apart, the latest: a bound of what RankBuckets is asked about
