"""What a stored site is crawled for: what its pages are worth, the budget, and the examples given away."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from linkscore_lab.datasets.relevance import WANTED_REWARD, Relevance
from linkscore_lab.replay.stored import StoredSite
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.hashing import hash64
from linkscore_scoring.site.texts import TextOwners, text_reward

USER_CONTENT = "user_content"
NEW_TEXT = "new_text"
"""The task of a site nothing is said about: pages with text of their own."""


def target_name(page_type: str) -> str:
    """Return the name of the task to find pages of one type."""
    return f"target:{page_type}"


@dataclass(frozen=True, slots=True)
class Task:
    """A task on one site."""

    name: str  # ``user_content``, ``new_text`` or ``target:TYPE``
    # Reachable wanted pages by identity, each with its page type (empty if it has none)
    wanted: Mapping[str, str]
    # Reward in [0, 1] of every page something is known of, by identity: what extraction would report
    rewards: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_target(self) -> bool:
        """Whether one type is looked for, with a budget of as many fetches as it has pages."""
        return self.name not in (USER_CONTENT, NEW_TEXT)

    def budget(self, text: str, n_reachable: int) -> int:
        """Return a number of fetches: that of the wanted pages for a target, else a share or a number."""
        return len(self.wanted) if self.is_target else read_budget(text, n_reachable)


def read_budget(text: str, n_reachable: int) -> int:
    """Return a number of fetches from ``"25%"`` of the reachable pages, rounded down, or ``"1000"``."""
    number, share = text.removesuffix("%").strip(), text.endswith("%")
    try:
        budget = int(n_reachable * float(number) / 100) if share else int(number)
    except (ValueError, OverflowError):
        budget = 0
    if budget < 1:
        rule = f"must be a share like 25% or a number of pages, at least one, got {text!r}"
        raise InvalidInput(rule, field="budget")
    return budget


def draw_examples(site: StoredSite, task: Task, k: int, seed: int, pages: Sequence[int]) -> list[int]:
    """Return `k` example pages of each wanted type, drawn by seed from those that copy no other page."""
    by_type: dict[str, list[int]] = {}
    seen: set[str] = set()
    for number in pages:
        record = site.records[number]
        first = record.facts.content not in seen
        seen.add(record.facts.content)
        if first and record.key in task.wanted:
            by_type.setdefault(task.wanted[record.key], []).append(number)
    rng = random.Random(f"{site.name} {task.name} {seed}")
    return [n for _, numbers in sorted(by_type.items()) for n in rng.sample(numbers, min(k, len(numbers)))]


def draw_starts(site: StoredSite, pages: Sequence[int], n: int, seed: int = 0) -> list[str]:
    """Return the entry and `n` - 1 further start pages drawn at random from the reachable ones."""
    entry = site.entries[0]
    others = [site.records[number].key for number in pages if site.records[number].key != entry]
    rng = random.Random(f"{site.name} starts {seed}")
    return [entry, *rng.sample(others, min(max(0, n - 1), len(others)))]


def page_rewards(site: StoredSite, relevance: Relevance) -> dict[str, float]:
    """Return the reward of each page by identity; pages nothing is known of are left out.

    Cost: a decompression and a parse a page where relevance lies in the body, else O(pages).
    """
    rewards = {}
    for number, record in enumerate(site.records):
        if record.is_page and record.key not in rewards:
            body = site.body(number) if relevance.reads_body else b""
            reward = relevance.reward(record.key, record.url, site.types.get(record.key, ""), body)
            if reward is not None:
                rewards[record.key] = reward
    return rewards


def new_text_rewards(site: StoredSite) -> dict[str, float]:
    """Return what the text of its own makes each reachable page worth, by identity: a policy without labels.

    Text that several pages show belongs to the one that is its source, as `TextOwners` decides over all
    pages in breadth-first order; `text_reward` turns characters into a reward, 0.5 at `HALF_CHARS`.

    Cost: a decoding a page.
    """
    owners, own = TextOwners(), dict.fromkeys((hash64(record.key) for record in site.records), 0)
    reachable = site.reachable()
    for number in reachable:
        event = site.event(number)
        if event is None or event.features is None:
            continue
        features, page = event.features, hash64(site.records[number].key)
        identity = hash64(features.canonical_key or features.key)
        change = owners.see(page, identity, features.block_hashes, features.block_chars)
        own[page] += change.own_chars
        for loser, chars in change.lost.items():
            own[loser] -= chars
    keys = [site.records[number].key for number in reachable]
    return {key: text_reward(own[hash64(key)]) for key in keys}


def type_rewards(site: StoredSite, page_type: str) -> dict[str, float]:
    """Return 1 for the pages of a type and 0 for the others."""
    return {r.key: float(site.types.get(r.key) == page_type) for r in site.records if r.is_page}


def wanted_pages(
    site: StoredSite, pages: Mapping[str, object], rewards: Mapping[str, float]
) -> dict[str, str]:
    """Return those of the reachable `pages` that are relevant, each with its page type (empty without)."""
    return {key: site.types.get(key, "") for key in pages if rewards.get(key, 0.0) >= WANTED_REWARD}
