"""The default policy: learn while crawling which groups of links lead to what is wanted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, compress, islice
from math import log
from typing import Any, NamedTuple

import numpy as np

from linkscore_scoring.columns import Repeated
from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.policies.answers import Experience
from linkscore_scoring.policies.base import Explanation, Params, Policy, Scored, Scores, Term, within
from linkscore_scoring.policies.harvest.tables import (
    ANY,
    EXAMPLE,
    NOBODY,
    SITE,
    TO_EXAMPLE,
    Ints,
    Node,
    Rows,
    Source,
    Tables,
    Worked,
    down,
)
from linkscore_scoring.policies.harvest.told import Likeness, Starts, experience_of
from linkscore_scoring.policies.harvest.tunables import DEFAULTS, Tunables
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stored
from linkscore_scoring.types import (
    ExamplePage,
    ExampleWanted,
    FeedbackObservation,
    LinkBatch,
    PageObservation,
    SiteWarning,
)

_FIRST = 100.0
"""Value of a link to an example: above that of any other. Chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HarvestParams(Params):
    """Parameters of `harvest`."""

    # weight of the UCB bonus, >= 0, in rewards. This and the others fade as labels come
    exploration: float = within(0.02, 0.0, 10.0)
    # worth of a page that leads to 20 good links, against a page that is good itself (1), >= 0; what it pays
    # per fetch counts in any case. Measured against 0 only
    hub_weight: float = within(0.25, 0.0, 10.0)
    # bonus for links between text blocks that were never tried, >= 0, in rewards
    curiosity: float = within(0.2, 0.0, 10.0)


_COPY = 5  # of the wire contract: SKIP_REASON_COPY

_TERMS = {
    "fetched": "pages fetched through this arm",
    "mean_reward": "mean reward, shrunk to tag path, URL pattern and site",
    "menu": "share of the pages that link to it: lowers high rewards",
    "link_reward": "reward of a link of a list, which a menu lowers towards",
    "bulk": "factor for how many links wait",
    "reward": "mean reward, lowered if a menu, times bulk",
    "hub": "credit for the links found behind it",
    "fresh_links": "links worth following that nobody showed before, expected behind it",
    "exploration": "bonus for what was tried, or tried little and has links waiting",
    "curiosity": "bonus for untried links between texts",
    "labelled": "how far labels, not text, decide",
}
"""Terms of an explanation; reward + hub + exploration + curiosity is the value of the arm."""


_LEAST, _MENU_PAGES, _LATEST = 40, 50, 40
"""Fetches before anything is said; latest fetches looked at for menus, and for labels. Chosen."""
_MENUS, _SURE = 0.5, 0.75
"""Share of fetches of menus from which, and mean reward expected of the next 100 fetches below which, a crawl
without labels goes wrong. Chosen on half of the sites at hand: research/notebook/when-to-stop.md."""
_SAMPLED = 200
"""Pages whose links tell what most pages link to, the latest. A bound."""
_BEHIND, _MANY = 0.5, 10
"""Share of what the best links that wait brought below which the latest fetches are bad, and how many of them
must wait. Chosen."""


class Parts(NamedTuple):
    """What the value of arms is made of, (n_arms,) each or a number each."""

    pulls: Any
    mean: Any
    menu: Any
    reward: Any
    bulk: Any
    hub: Any
    exploration: Any
    curiosity: Any

    @property
    def score(self) -> Any:
        """Value / (1 + value)."""
        value = self.reward * self.bulk + self.hub + self.exploration + self.curiosity
        return value / (1.0 + value)


class Harvest(Policy):
    """A sleeping bandit over (URL pattern, link path) arms whose reward is text of a page's own.

    Needs no labels. The reward of a fetch is x / (x + 400), x = characters in long text blocks that belong to
    the page (`site.texts`) less what its links are expected to take over; likeness to example pages if there
    are any; feedback before both.

    Value of an arm by text = mean reward, shrunk along site -> link path -> pattern -> arm, + hub credit +
    exploration x UCB bonus + curiosity; by labels = worth per fetch of the page and the fresh links behind
    it. Score = value / (1 + value); bucket = ``h<pattern>.<link path>``. See docs/concepts/harvest.md.

    Shapes: n links in, (n,) float64 out. Cost: O(distinct arms) a call, O(links) a page. References: sleeping
    bandits, Kleinberg 2010 and Gauquier 2026; UCB1, Auer 2002; arm-acquiring bandits, Whittle 1981; hub
    credit after ACHE and deep-deep. The rewards are ours.

    Examples
    --------
    A crawl of 60 pages of a generated board, of whose pages three in ten are wanted; nobody says which:

    >>> from linkscore_scoring.engine.config import PolicyChoice
    >>> from linkscore_scoring.testing.crawl import SimulatedCrawl, crawl_model
    >>> from linkscore_scoring.testing.crawl import GeneratedSite
    >>> crawl = SimulatedCrawl(crawl_model(PolicyChoice("harvest")), GeneratedSite(seed=1)).fetch(60)
    >>> crawl.wanted_share() > 0.6
    True
    """

    name = "harvest"
    Params = HarvestParams
    reads_templates = False

    tables: Stored[Tables]
    likeness: Stored[Likeness]

    def __init__(self, params: Any, *, seed: int = 0, tunables: Tunables = DEFAULTS) -> None:
        super().__init__(params, seed=seed)
        self.tunables = tunables
        self.starts = Starts(tunables)
        self.tables = Tables(tunables)
        self.likeness = Likeness(tunables)

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        """Enter a page and its links, and what it cost the pages that linked to it."""
        if page.refetch and not page.redirects:
            return
        tables = self.tables
        self._leave(page, site)
        followed = _followed(page.pattern, page.contexts, site)
        if page.redirects:  # where it leads waits in its place; it is no pull
            tables.find(page.links.grouped(site.link_paths.folded), page.fresh)
            tables.follow([tables.row(arm) for arm in followed])
            self._changed(site)
            return
        source, label, near, alone = self._compare(page, site)
        tables.add_page(
            page.key,
            page.url,
            followed,
            chars=page.long_chars,
            novel=page.novel_chars,
            thing=page.thing_chars,
            own=page.own_chars + page.thing_chars,
            noindex=page.noindex,
            renamed=page.is_copy,
            pattern=page.pattern,
            askable=not (page.failed or (page.is_copy and site.memory.is_fetched(page.canonical))),
            source=source,
            label=label,
            near=near,
            alone=alone,
            copied=page.long_chars > 0 and not page.own_chars + page.thing_chars,
        )
        if not page.failed:
            tables.add_links(page.links.grouped(site.link_paths.folded), page)
        self._changed(site)

    def _changed(self, site: SiteModel) -> None:
        """Note the end of an event; score all arms anew when everything else is worked out anew."""
        self.tables.bound(min(self.tunables.pages, site.bounds.links), site.bounds.arms)
        if self.tables.changed():
            self.tables.nodes["score"][:] = self._parts(self.tables.all_rows).score

    def _leave(self, page: PageObservation, site: SiteModel) -> None:
        """Let the pages that linked to a page know what text it took from them."""
        ways = [*page.contexts, *page.displaced]
        paths = site.link_paths.folded([path for _, path in ways])
        gone, n = [(source, path) for (source, _), path in zip(ways, paths, strict=True)], len(page.contexts)
        sources = dict(reversed(gone[:n]))
        for source, path in sources.items():
            self.tables.test(source, path, page.lost.get(source, 0))
        self.tables.wait_no_more(Counter([*sources.items(), *gone[n:]]))
        own, rows = self.tables.pages["own"], self.tables.page_of
        for key, chars in chain(page.lost.items(), page.thing_lost.items()):
            if key in rows:
                own[rows[key]] = max(0.0, own[rows[key]] - chars)

    def feedback(self, event: FeedbackObservation, site: SiteModel) -> None:
        """Let an outside reward replace the page's own; a page never seen credits the arms of its links.

        Of a fetched page that is not remembered, such as a redirect, it teaches nothing, and nothing of one
        that nobody linked to: it may be an address in another form than the crawl has it.
        """
        tables, page = self.tables, self.tables.page_of.get(event.key)
        if page is None and (not event.contexts or site.memory.is_fetched(event.key)):
            return
        if page is None:
            page = tables.add_page(event.key, event.url, _followed(event.pattern, event.contexts, site))
        tables.reported += int(tables.pages["source"][page] != Source.FEEDBACK)
        tables.pages["source"][page], tables.pages["label"][page] = Source.FEEDBACK, event.reward
        if (
            self.likeness.examples
            and event.reward < self.tunables.wanted
            and tables.reported <= 2 * self.tunables.evidence
        ):
            self._relabel(site)
        self._changed(site)

    def set_examples(self, examples: Sequence[ExamplePage], site: SiteModel) -> None:
        """Compare pages fetched from now on with these, and expect them behind URLs of their shapes."""
        if self.likeness.set_examples(examples):
            for page in site.sample:
                self.likeness.find(page.hash, page.key, page.paths, site.aliases)
            # Which pages are unlike the examples must be known before layouts can be learned from them.
            self.likeness.fit((), site.patterns)
            self._label_sample(site)
            self._relabel(site)
            if not examples:
                pages = self.tables.pages
                alike = pages["source"] == Source.LIKENESS
                pages["source"][alike], pages["label"][alike] = Source.TEXT, 0.0
            self.starts.set_examples((example.key for example in examples), site.patterns)
            self.tables.starts = self.starts
            self._changed(site)

    def set_experience(self, experiences: Sequence[Experience], site: SiteModel) -> None:
        """Let what was learned on other sites count beside the pulls of this one."""
        if experiences:
            self.starts.set_experience(experiences, site.patterns)
            self.tables.starts = self.starts
            self._changed(site)

    def experience(self, site: SiteModel) -> Experience:
        """Return what the arms learned on this site."""
        return experience_of(self.tables, site.patterns)

    def describe(self, site: SiteModel) -> str:
        """Say how far experience counts here; empty if none was given."""
        trust = self.starts.trust_in(self.tables)
        said = f"experience of other sites is trusted by {', '.join(f'{each:.2f}' for each in trust)}"
        return said if trust else ""

    def after_load(self) -> None:
        """Count the examples that are known by layout."""
        self.tables.n_examples = len(self.likeness)

    def suggest_examples(self, n: int, site: SiteModel) -> list[ExampleWanted]:
        """Return one page of each of up to `n` URL patterns that nobody told of, most waiting links first.

        Told of is a pattern that an example names, or of which a page has feedback. The page is that whose
        text is nearest to the mean of its pattern, the latest of several; value = w / (w + 30), w links of
        the pattern that wait. Among equals the pattern with most pages comes first.
        """
        tables, likeness, patterns = self.tables, self.likeness, site.patterns
        pages, nodes, text = tables.pages, tables.nodes, Worked(tables).text
        told = {patterns.finest(example.key) for example in likeness.examples if example.key} - {0}
        groups = defaultdict[int, list[int]](list)
        for page in range(pages.rows):
            pattern = patterns.resolve(int(pages["pattern"][page]))
            if pages["source"][page] == Source.FEEDBACK or tables.keys[page] in likeness.keys:
                told.add(pattern)
            elif pages["askable"][page]:
                groups[pattern].append(page)
        waiting = Counter[int]()
        for (pattern, path), row in tables.node_of.items():
            if pattern > ANY and path > ANY:
                waiting[patterns.resolve(pattern)] += int(nodes["waiting"][row])
        found = []
        for pattern in groups.keys() - told:
            alike = groups[pattern]
            nearest = np.abs(text[alike] - text[alike].mean())[::-1].argmin()
            typical = alike[len(alike) - 1 - int(nearest)]
            links, shown = waiting[pattern], patterns.text(pattern) or "any URL"
            reason = f"nobody told of {shown} yet; links that wait: {links}, pages fetched: {len(alike)}"
            label = float(pages["label"][typical]) if likeness else None
            value = links / (links + tables.t.bulk_half_saturation)
            found.append(ExampleWanted(tables.urls[typical], reason, value, len(alike), label))
        return sorted(found, key=lambda wanted: (-wanted.value, -wanted.pages, wanted.url))[:n]

    def _compare(self, page: PageObservation, site: SiteModel) -> tuple[Source, float, float, bool]:
        """Return where the reward of a page just fetched comes from, and what `Likeness.label` says of it."""
        likeness = self.likeness
        if page.failed:
            return Source.FAILED, 0.0, 0.0, False
        if likeness.examples and likeness.see(page.key, page.url, page.paths, site.aliases):
            self._relabel(site)
        found = self._label(page.url, page.paths, site)
        likeness.unlike += bool(likeness) and found[1] < self.tunables.wanted
        return found

    def _label(self, url: str, paths: PathTrie, site: SiteModel) -> tuple[Source, float, float, bool]:
        """Return the same of a page that has no feedback."""
        likeness = self.likeness
        if not likeness.examples:
            return Source.TEXT, 0.0, 0.0, False
        found = likeness.label(url, paths, site.patterns)
        return Source.LIKENESS if likeness or found[0] else Source.TEXT, *found

    def _relabel(self, site: SiteModel) -> None:
        """Learn layouts anew, and label the sampled pages again."""
        tables, likeness, t = self.tables, self.likeness, self.tunables
        is_wanted, is_told = tables.pages["label"] >= t.wanted, tables.pages["source"] == Source.FEEDBACK
        alike = set(compress(tables.keys, is_wanted | tables.pages["alone"]))
        refused = set(islice(compress(tables.keys, is_told & ~is_wanted), 2 * t.evidence))
        likeness.refused = {page.key: page.paths for page in site.sample if page.hash in refused}
        likeness.fit([page.paths for page in site.sample if page.hash not in alike], site.patterns)
        self._label_sample(site)

    def _label_sample(self, site: SiteModel) -> None:
        """Label the latest of the sampled pages again."""
        self.after_load()
        pages = self.tables.pages
        for page in islice(reversed(site.sample), self.tunables.at_once):
            row = self.tables.page_of.get(page.hash)
            if row is not None and pages["source"][row] != Source.FEEDBACK:
                found = self._label(page.key, page.paths, site)
                pages["source"][row], pages["label"][row], pages["near"][row], pages["alone"][row] = found

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score by arm: all links of one are equal. One page under many addresses is a copy."""
        arms = self._with_examples(links, site)
        values, skips = self._scores(arms.distinct), None
        is_repeated = self.tables.nodes["repeated"]
        if is_repeated.any():
            _, *own = self.tables.rows_of(arms.distinct)
            is_copy = np.any(is_repeated[np.array(own)], axis=0)
            skips = (_COPY * is_copy[arms.places]).tolist() if is_copy.any() else None
        buckets = Repeated(list(map(_bucket, arms.distinct)), arms.places)
        return Scored(values[arms.places], buckets, skip_reasons=skips)

    def _with_examples(self, links: LinkBatch, site: SiteModel) -> Repeated[Node]:
        """Return the arm of each link; one that leads to an example is of an arm of its own."""
        arms, examples = links.grouped(site.link_paths.folded), self.likeness.keys
        if examples.isdisjoint(links.keys):
            return arms
        return Repeated.of(
            TO_EXAMPLE if key in examples else arm for key, arm in zip(links.keys, arms, strict=True)
        )

    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        """Return the score of each arm; a bucket of another policy is worth what the site is on average."""
        return self._scores(list(map(_arm, buckets)))

    def in_flight(self, site: SiteModel) -> PullsInFlight:
        """Return what fetches under way are counted in."""
        return PullsInFlight(self)

    def expected_rewards(self, groups: Sequence[Node], site: SiteModel) -> Scores:
        """Return the mean reward of each arm, shrunk, without hub credit and bonuses."""
        return np.asarray(self._parts(self.tables.rows_of(groups)).mean)

    def latest_rewards(self, n: int, site: SiteModel) -> Scores:
        """Return the rewards of the latest pages, as they are known now."""
        return np.asarray(Worked(self.tables).page_reward[-n:])

    def warnings(self, expected: float, site: SiteModel) -> Iterator[SiteWarning]:
        """Say that menus are fetched, that no example is met, or that labels are not followed."""
        tables, likeness = self.tables, self.likeness
        if tables.pulls < _LEAST:
            return
        worked, nodes, history = Worked(tables), tables.nodes, site.history
        if 2 * (unmet := len(history.reported_only())) > max(_MANY, history.reported):
            yield SiteWarning(
                "feedback_not_met",
                f"{unmet} of {history.reported} reported pages were not fetched: report the URL that was, "
                "with its scheme, host and last slash, or the ticket",
            )
        if likeness.examples and not worked.is_wanted.any():
            yield SiteWarning(
                "examples_not_met",
                f"none of the latest {tables.pages.rows} fetches is like an example: start at a page that "
                "links to one, give examples with URL and HTML, or answer what `linkscore console` asks",
            )
        if not tables.share:
            share = _share_of_menus(tables.keys[-_MENU_PAGES:], site)
            if share >= _MENUS and expected < _SURE:
                yield SiteWarning(
                    "menus",
                    f"{share:.0%} of the latest fetches are of what most pages link to: give example pages "
                    "of what is wanted, or answer what `linkscore console` asks",
                )
            return
        is_arm = np.flatnonzero(tables.all_rows[2])
        arms = is_arm[(nodes["waiting"][is_arm] >= _MANY) & (worked.own_n[is_arm] >= tables.t.few)]
        recent = float(worked.page_reward[-_LATEST:].mean())
        mean = worked.own_reward[arms] / worked.own_n[arms]
        if len(arms) and recent < _BEHIND * mean.max():
            best = int(arms[mean.argmax()])
            pattern = next(node[0] for node, row in tables.node_of.items() if row == best)
            yield SiteWarning(
                "behind_labels",
                f"the last {_LATEST} fetches brought {recent:.2f} by your labels, links of "
                f"{site.patterns.text(pattern)} {mean.max():.2f}, and {nodes['waiting'][best]} of these "
                "wait: see explain of one, check labels, or `linkscore crawls update CRAWL --no-examples`",
            )

    def _scores(self, arms: Sequence[Node]) -> Scores:
        """Return the scores of arms as they were last worked out, of new ones as they are now."""
        get = self.tables.node_of.get
        rows = np.array([get(arm, NOBODY) for arm in arms], dtype=np.int64)
        scores: Scores = self.tables.nodes["score"][rows]
        if new := np.flatnonzero((rows == NOBODY) | (scores == 0.0)).tolist():
            scores[new] = self._parts(self.tables.rows_of([arms[at] for at in new])).score
        return scores

    def _parts(self, rows: Rows, out: Ints | None = None) -> Parts:
        """Return the numbers that the score of arms is made of; `out`: fetches under way of each node."""
        t, p, tables, nodes = self.tunables, self.params, self.tables, self.tables.nodes
        path, pattern, arm = rows
        k, unlabelled, a_link = t.prior_weight, 1.0 - tables.share, t.link_share * tables.site_mean
        n = nodes["n"]
        mean = down(nodes["reward"], n, rows, t.prior, k) if out is None else self._doubted(rows, out)
        hub = down(nodes["hub"], n, rows, t.prior, k)
        pulls, waiting, menu = n[arm], nodes["waiting"][arm], nodes["menu"][arm]
        reward = mean - unlabelled * menu * np.maximum(0.0, mean - a_link)
        worth_trying = waiting / (waiting + t.half_saturation)
        # UCB1 (Auer, Cesa-Bianchi and Fischer 2002), with pulls pooled from the parents.
        around = np.maximum(pulls, t.pooled * np.maximum(n[path], n[pattern]))
        bonus = np.sqrt(2.0 * log(tables.pulls + 1.0) / (1.0 + around))
        # What a list is worth per fetch beyond its own reward: 1 + H / `a_link` fetches bring `reward` + H.
        links = t.hub_links * hub
        by_list = links * np.maximum(0.0, a_link - reward) / (a_link + links)
        by_labels = tables.share * (self._by_labels(rows, mean) - reward) if tables.share else 0.0
        if out is not None:  # what one shows is waited for
            by_list, by_labels = by_list * (out[path] == 0), by_labels * (out[pattern] == 0)
        credit = unlabelled * np.maximum(p.hub_weight * hub, by_list) + by_labels
        # Pages that all have about as much text may be a maze, and are trusted if they paid as much as is
        # expected of any site. If that text is short, a kind nobody opened comes first in any case: of longer
        # text there may be none to compare it with.
        paid, is_flat, is_short = mean + credit, nodes["flat"], nodes["short"][arm]
        may_be_maze = is_flat[path] | is_flat[pattern] | is_flat[arm]
        trust = t.edge * (1.0 - k / (k + pulls) * (1.0 - worth_trying)) * np.minimum(1.0, paid / t.trusted)
        trust = np.where(is_short, -np.minimum(reward, t.edge), trust * ~(may_be_maze & (paid < t.prior)))
        trust = trust + self._is_due(rows, out)
        return Parts(
            pulls=nodes["own_n"][arm],
            mean=mean,
            menu=menu,
            reward=reward,
            bulk=1.0 + t.edge * waiting / (waiting + t.bulk_half_saturation),
            hub=credit,
            exploration=unlabelled * (p.exploration * bonus * worth_trying + trust)
            + _FIRST * (arm == EXAMPLE),
            curiosity=unlabelled * p.curiosity * nodes["curious"][path],
        )

    def _is_due(self, rows: Rows, out: Ints | None) -> Any:
        """Say which arms are of patterns nobody opened, after `in_vain` fetches that did not pay, doubled by
        each pattern opened: a maze may have text of its own (progressive widening, Couetoux 2011, in powers).
        On a site that paid nothing so far also the arms found first, in about every second fetch."""
        t, tables, nodes, (_, pattern, arm) = self.tunables, self.tables, self.tables.nodes, rows
        opened = nodes["own_n"] + (0 if out is None else out) > 0
        kinds = np.count_nonzero(opened & (nodes["pattern"] > 0) & (nodes["path"] == NOBODY))
        is_few = log(max(1.0, tables.pulls * (1.0 - tables.site_mean)) / t.in_vain, 2) > kinds
        is_first = (arm > EXAMPLE) & (arm < tables.pulls) & ~opened[arm]
        pays_nothing = tables.pulls >= t.few * t.evidence and tables.site_mean < t.least_left * t.prior
        return is_few & ~opened[pattern] | is_first & pays_nothing

    def _by_labels(self, rows: Rows, mean: Any) -> Any:
        """Return the worth per fetch of arms; a kind hardly opened gets one by what its place brought."""
        t, nodes, k = self.tunables, self.tables.nodes, self.tunables.prior_weight
        path, pattern, _ = rows
        gain, tries = down(nodes["gain"], nodes["counts"], rows, 0.0, k), nodes["own_n"][pattern]
        index = np.maximum(mean, (mean + gain) / (1.0 + self.tables.fresh_links(rows)))
        unopened = (nodes["own_reward"][path] + k * t.wanted) / (nodes["own_n"][path] + k)
        return np.where(tries < t.few, np.maximum(index, unopened * t.unopened_kept**tries), index)

    def _doubted(self, rows: Rows, out: Ints) -> Any:
        """Return mean rewards of arms with what is under way, each fetch a standard error below the mean."""
        k, pulls, reward = self.tunables.prior_weight, self.tables.nodes["n"], self.tables.nodes["reward"]
        mean: Any = self.tunables.prior
        for at in (SITE, *rows):
            n = pulls[at] + k
            mean = (reward[at] + k * mean) / n
            expected = np.maximum(0.0, mean - np.sqrt(mean * (1.0 - mean) / n))
            mean = (n * mean + out[at] * expected) / (n + out[at])
        return mean

    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name the arm, what it earned, and what was added."""
        arms, tables = self._with_examples(links, site), self.tables
        rows = tables.rows_of(arms)
        of, a_link = self._parts(rows), self.tunables.link_share * tables.site_mean
        numbers = (
            *(of.pulls, of.mean, of.menu, a_link, of.bulk, of.reward * of.bulk, of.hub),
            *(tables.fresh_links(rows), of.exploration, of.curiosity, tables.share),
        )
        columns = [np.broadcast_to(column, len(arms)).tolist() for column in numbers]
        found = []
        for arm, *values in zip(arms, *columns, strict=True):
            said = f"{_named(arm, site)}: {values[0]:.0f} fetched, mean reward {values[1]:.2f}"
            terms = zip(_TERMS.items(), values, strict=True)
            found.append(Explanation(said, [Term(name, value, what) for (name, what), value in terms]))
        return found


class PullsInFlight:
    """Pulls whose rewards are not known yet, counted by node, see `FetchesInFlight`."""

    def __init__(self, policy: Harvest) -> None:
        self._policy, self._tables, self._t = policy, policy.tables, policy.tunables
        self.places = 1 + int(self._t.places_per_pull * self._tables.pulls)
        self._out = np.zeros(self._tables.nodes.rows, dtype=np.int64)
        self._fetches, self._worth = 0, 0.0

    def begin(self, bucket: str, n: int = 1) -> None:
        """Count fetches of links of a bucket."""
        arms = [_arm(bucket)]
        [score], rows = self._policy._scores(arms).tolist(), np.concatenate(self._tables.rows_of(arms))
        self._fetches += n
        self._worth += n * score / (1.0 - score) * int(rows[2] != EXAMPLE)
        self._out[rows] += n * (rows != NOBODY)

    @property
    def floor(self) -> float:
        """Value below which a link rather waits: what is under way may show links of its worth."""
        worth = self._t.worth_a_place * self._worth / max(1, self._fetches)
        return worth / (1.0 + worth) if worth > self._t.least_left else 0.0

    def values(self, buckets: Sequence[str]) -> Scores:
        """Return the value of each bucket."""
        rows = self._tables.rows_of(list(map(_arm, buckets)))
        return np.asarray(self._policy._parts(rows, self._out).score)


def _share_of_menus(keys: list[int], site: SiteModel) -> float:
    """Return the share of some pages that more than half of the sampled pages link to."""
    sampled = [{key for *_, key in page.links} for page in list(site.sample)[-_SAMPLED:]]
    linked = Counter(key for keys in sampled for key in keys)
    return sum(2 * linked[key] > len(sampled) for key in keys) / max(1, len(keys))


def _named(arm: Node, site: SiteModel) -> str:
    """Return what the links of an arm have in common, for people."""
    if arm == TO_EXAMPLE:
        return "an example page, which comes first"
    return f"links of {site.patterns.text(arm[0]) or 'any URL'} at this tag path"


def _followed(pattern: int, contexts: Sequence[tuple[int, int]], site: SiteModel) -> list[Node]:
    """Return the arms a URL was seen through, each once."""
    folded = site.link_paths.folded([link_path for _, link_path in contexts])
    return [(pattern, link_path) for link_path in dict.fromkeys(folded)]


@lru_cache(maxsize=DEFAULTS.kept)
def _bucket(arm: Node) -> str:
    """Return the bucket name of an arm."""
    return f"h{arm[0]}.{arm[1]:x}"


@lru_cache(maxsize=DEFAULTS.kept)
def _arm(bucket: str) -> Node:
    """Return the arm of a bucket name, (0, 0) for a name of another policy."""
    pattern, _, link_path = bucket[1:].partition(".")
    try:
        return (int(pattern), int(link_path, 16)) if bucket[:1] == "h" else (0, 0)
    except ValueError:
        return 0, 0
