"""The constants of `topic` that decide its order, in one place, so that they can be chosen together."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Tunables:
    """Weights, precisions, pulls and gains are those of a simulator tried on the dev half of the tasks of
    `make wanted` (docs/policies.md, topic); what says when a page is a list was chosen, not measured.

    Attributes
    ----------
    prior_weights
        What a link is expected to be worth by each feature of `Signs.vector`, before any page.
    prior_precisions
        Pages by which half of that is believed, if they have nothing but this feature, > 0.
    prior_mean
        Worth of a page of a crawl nothing is known of, in [0, 1].
    parent_pulls
        Pseudo-pulls of the node above an arm, > 0.
    gain_decay
        Share of earlier gains kept a pull, in (0, 1].
    gain_links
        Best links of a page that its gain is computed from, >= 1.
    gain_floor
        How much of its arm's gain a link without any sign gets, in [0, 1]; signs add to it.
    list_signs
        Signs of its own link, and relevance, together, from which on a page may be a list.
    list_links
        Links at one Apath of a page, not fetched yet, that make a list, >= 1.
    max_lists
        Lists told apart, the latest: a bound of what RankBuckets is asked about.
    """

    prior_weights: tuple[float, ...] = (0.0, 0.6, 0.3, 0.2, 0.3, 0.0)
    prior_precisions: tuple[float, ...] = (1.0, 5.0, 5.0, 5.0, 5.0, 5.0)
    prior_mean: float = 0.1
    parent_pulls: float = 2.0
    gain_decay: float = 0.9
    gain_links: int = 20
    gain_floor: float = 0.3
    list_signs: float = 0.5
    list_links: int = 3
    max_lists: int = 200
