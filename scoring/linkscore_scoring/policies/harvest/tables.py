"""What harvest knows of a site: tables of numbers, and everything else worked out from them.

`pages` has a row for each pull (a fetched page, or feedback on one that was not) and `nodes` one for the
site, each link path, each URL pattern and each arm (pattern and link path). `links` has what each page shows
by arm, `ways` the nodes that each pull counts for. Rewards, means and yields follow from these: `Worked` gets
them all anew, so that whatever becomes known of a page counts as if it had been known at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from functools import cache
from itertools import chain, compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.columns import Repeated, drop_oldest
from linkscore_scoring.policies.harvest.tunables import DEFAULTS, Tunables
from linkscore_scoring.site.texts import HALF_CHARS
from linkscore_scoring.state import State, Stateful, Stored, pack_array, unpack_array
from linkscore_scoring.types import PageObservation

Node = tuple[int, int]
"""URL pattern and folded link path, either of them `ANY`; an arm has both."""
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rows = tuple[Any, Any, Any]
"""Rows of the link path, of the URL pattern and of the arm itself, of one arm (int) or n ((n,) int64)."""

ANY = -1
"""Stands for every URL pattern, or every link path; real ids are never negative."""
NOBODY, SITE, EXAMPLE = 0, 1, 2
"""Rows of `nodes`: one of which nothing is ever counted, for all that is not known, that of the site, and
that of links to examples."""
_NOBODY: Node = (-2, -2)
TO_EXAMPLE: Node = (-3, -3)
"""Stands for the arm of a link that leads to an example: it is fetched first."""


class Source(IntEnum):
    """Where the reward of a page comes from; of a failed one there is none."""

    TEXT = 0
    LIKENESS = 1
    FEEDBACK = 2
    FAILED = 3


class Table:
    """Columns of numbers that grow together: those of a type are one array, which packs in .3 of the time.

    `types`: type of each column by name; of several columns under one name, type and number.
    """

    def __init__(self, **types: Any) -> None:
        self.rows = 0
        self._at, sizes = _layout(tuple(types.items()))
        self._blocks: dict[type, NDArray[Any]] = {k: np.zeros((n, 16), k) for k, n in sizes.items()}

    def __getitem__(self, name: str) -> NDArray[Any]:
        kind, at = self._at[name]
        return self._blocks[kind][at, : self.rows]

    def add(self, n: int = 1, **values: Any) -> int:
        """Add rows: values for all or each of them, zero where nothing is said; return the first one."""
        first, self.rows = self.rows, self.rows + n
        if self.rows > next(iter(self._blocks.values())).shape[1]:
            for kind, block in self._blocks.items():
                more: NDArray[Any] = np.zeros((len(block), 2 * self.rows - first), kind)
                self._blocks[kind] = np.concatenate([block[:, :first], more], axis=1)
        for name, given in values.items():
            kind, at = self._at[name]
            self._blocks[kind][at, first : self.rows] = given
        return first

    def keep(self, rows: Any) -> None:
        """Drop all rows but these, given as a slice or a mask."""
        self._blocks = {kind: block[:, : self.rows][:, rows].copy() for kind, block in self._blocks.items()}
        self.rows = next(iter(self._blocks.values())).shape[1]

    def to_state(self) -> list[State]:
        return [pack_array(block[:, : self.rows]) for block in self._blocks.values()]

    def load_state(self, state: Sequence[State]) -> None:
        for (kind, block), packed in zip(list(self._blocks.items()), state, strict=True):
            self._blocks[kind] = unpack_array(packed).astype(kind).reshape(len(block), -1)
        (self.rows,) = {block.shape[1] for block in self._blocks.values()}


@cache
def _layout(types: tuple[tuple[str, Any], ...]) -> tuple[dict[str, tuple[type, Any]], dict[type, int]]:
    """Return type and place of each column of a table, and how many columns there are of each type."""
    found, sizes = {}, dict[type, int]()
    for name, of in types:
        kind, n = of if isinstance(of, tuple) else (of, 1)
        at = sizes.get(kind, 0)
        found[name], sizes[kind] = (kind, at if n == 1 else slice(at, at + n)), at + n
    return found, sizes


class Tables(Stateful):
    """The tables of one site; `Worked` has what follows from them.

    `settled`: pulls that are in `nodes` alone.
    `reported`: pages of which feedback came. `texts`: pages by the characters in their long blocks, from the
    first one on of which all was new, but for the first pages of a site. `share`, `site_mean`: how far
    labels, not text, decide, and the mean reward of the site. `changes`: events since all was worked out.
    `n_examples`, `starts`: what was told beside that. Cost: O(pages + links) to work out, of the latest ones.
    """

    keys: Stored[list[int]]
    urls: Stored[list[str]]
    node_of: Stored[dict[Node, int]]
    settled: Stored[int]
    reported: Stored[int]
    texts: Stored[dict[int, int]]
    changes: Stored[int]
    share: Stored[float]
    site_mean: Stored[float]
    pages: Stored[Table]
    links: Stored[Table]
    places: Stored[Table]
    ways: Stored[Table]
    nodes: Stored[Table]

    def __init__(self, tunables: Tunables = DEFAULTS) -> None:
        real, whole = np.float64, np.int64
        self.t = tunables
        self.page_of: dict[int, int] = {}
        self.node_of = {_NOBODY: NOBODY, (ANY, ANY): SITE, TO_EXAMPLE: EXAMPLE}
        self.n_examples = 0
        self.starts: Callable[[Tables, Worked], Floats] | None = None
        # Of a page: its own text, labels, cosine to the nearest example, URL pattern, whether a user may be
        # asked about it, whether layout alone may say so, whether all its text is that of other pages,
        # whether it names another URL as its canonical form, and whether searches shall not list it.
        labels = {"source": whole, "label": real, "near": real}
        told = dict.fromkeys(("askable", "alone", "copied", "renamed", "noindex"), np.bool_)
        self.pages = Table(own=real, pattern=whole, **told, **labels)
        # Of the links of a page by arm: those nobody had linked to.
        self.links = Table(page=whole, arm=whole, fresh=whole)
        # The same by link path, `place` = page << 32 | row of it: those that wait and are known from the page
        # first, and whether they stand between its texts.
        self.places = Table(place=whole, waits=whole, between=np.bool_)
        self.ways = Table(page=whole, node=whole)
        # Of a node: rows of its link path, its pattern and, of an arm, itself; links that wait; of an arm
        # those shown and fresh ones; of a link path those followed, text they took, pages with them between
        # texts; characters of its pulls in blocks new on the site, how many were the first to name a thing,
        # and the most of their `_lengths`; what settled pulls brought; and what is worked out, see `Worked`.
        self.nodes = Table(
            **dict.fromkeys(("path", "pattern", "arm"), whole),
            **dict.fromkeys(("waiting", "shown", "fresh", "beside", "novel", "things"), whole),
            lengths=(whole, 8),
            **dict.fromkeys(("tested", "taken", "old_n", "old_reward", "old_hub", "score", *WORKED), real),
            **dict.fromkeys(TOLD, np.bool_),
        )
        self.nodes.add(3, arm=[NOBODY, NOBODY, EXAMPLE])

    @property
    def pulls(self) -> int:
        """Fetches so far."""
        return self.settled + self.pages.rows

    @property
    def all_rows(self) -> Rows:
        """The rows of each node as an arm of which nothing else is known."""
        return self.nodes["path"], self.nodes["pattern"], self.nodes["arm"]

    def changed(self) -> bool:
        """Note the end of an event; work everything out anew if that is due, and say whether it was."""
        self.changes += 1
        is_due = self.changes > self.pulls // self.t.worked_per_doubling
        if is_due:  # of other places nothing is left to know
            self.places.keep(self.places["waits"] + self.places["between"] > 0)
            worked = Worked(self)
            self.changes, self.share, self.site_mean = 0, worked.share, worked.site_mean
            for name in (*WORKED, *TOLD):
                self.nodes[name][:] = getattr(worked, name)
        return is_due

    def after_load(self) -> None:
        """Find pages by key again."""
        self.page_of = {key: page for page, key in enumerate(self.keys) if key}

    def row(self, node: Node) -> int:
        """Return the row of a node, which is made if there is none."""
        row = self.node_of.get(node)
        if row is None:
            pattern, path = node
            is_arm = pattern != ANY != path
            of = [self.row((ANY, path)), self.row((pattern, ANY))] if is_arm else [NOBODY] * 2
            row = self.node_of[node] = self.nodes.rows
            of.insert(2 if is_arm else int(path == ANY), row)
            self.nodes.add(path=of[0], pattern=of[1], arm=of[2])
        return row

    def rows_of(self, arms: Sequence[Node]) -> Rows:
        """Return the rows of arms, `NOBODY` for what is not known."""
        get = self.node_of.get
        found = [(get((ANY, arm[1]), NOBODY), get((arm[0], ANY), NOBODY), get(arm, NOBODY)) for arm in arms]
        path, pattern, own = np.array(found, dtype=np.int64).reshape(-1, 3).T
        return path, pattern, own

    def add_page(
        self,
        key: int,
        url: str,
        arms: Sequence[Node],
        *,
        chars: int = 0,
        novel: int = 0,
        thing: int = 0,
        **columns: Any,
    ) -> int:
        """Enter a pull through some arms of one URL pattern; return its row.

        chars, novel, thing: characters of its long blocks, of those new on the site, of what it says it is.
        """
        rows = [self.row(arm) for arm in arms]
        above = (self.nodes[name][rows].tolist() for name in ("path", "pattern"))
        nodes = list(dict.fromkeys(chain([SITE], *above, rows)))
        page = self.pages.add(**columns)
        self.ways.add(len(nodes), page=page, node=nodes)
        novels, lengths = self.nodes["novel"], self.nodes["lengths"]
        own = _lengths(chars, len(url))
        novels[nodes] += novel
        self.nodes["things"][nodes] += thing > 0
        lengths[:, nodes] = np.maximum(lengths[:, nodes], own)
        if chars in self.texts or (novel == chars > 0 and self.pulls > self.t.few):
            self.texts[chars] = self.texts.get(chars, 0) + 1
            drop_oldest(self.texts, self.t.kept)
        if key in self.page_of:
            self.keys[self.page_of[key]] = 0
        self.keys.append(key)
        self.urls.append(url)
        self.page_of[key] = page
        self.follow(rows)
        return page

    def follow(self, rows: Iterable[int]) -> None:
        """Note that a link of each of some arms waits no more."""
        waiting = self.nodes["waiting"]
        for row in rows:
            waiting[row] -= waiting[row] > 0

    def find(self, arms: Repeated[Node], fresh: Sequence[bool]) -> tuple[list[int], Counter[int]]:
        """Count links nobody had linked to; return the row of each link's arm, and how many each arm has."""
        rows = [self.node_of.get(arm) or self.row(arm) for arm in arms.distinct]
        rows = list(map(rows.__getitem__, arms.places.tolist()))
        found, waiting = Counter(compress(rows, fresh)), self.nodes["waiting"]
        for row, n in found.items():
            waiting[row] += n
        return rows, found

    def add_links(self, arms: Repeated[Node], page: PageObservation) -> None:
        """Enter the links of the latest page; a link path whose links follow `few` text blocks, each another
        one, stands between texts.
        """
        rows, found = self.find(arms, page.fresh)
        nodes, last, here = self.nodes, self.pages.rows - 1, list(compress(rows, page.first_here))
        shown, fresh = nodes["shown"], nodes["fresh"]
        for row, n in Counter(here).items():
            shown[row] += n
        for row, n in found.items():
            fresh[row] += n
        self.links.add(len(found), page=last, arm=list(found), fresh=list(found.values()))
        paths = nodes["path"][here].tolist()
        blocks = set(zip(paths, compress(page.blocks_before, page.first_here), strict=False))
        between = {path for path, n in Counter(path for path, _ in blocks).items() if n >= self.t.few}
        waits = sorted(Counter(paths).items())
        self.places.add(
            len(waits),
            place=[(last << 32) + path for path, _ in waits],
            waits=[n for _, n in waits],
            between=[path in between for path, _ in waits],
        )
        if between and self.pages["own"][last] >= HALF_CHARS:
            nodes["beside"][list(between)] += 1

    def test(self, source: int, path: int, taken: int) -> None:
        """Count a link of a page that was followed, and what text of the page went with it: at most its share
        among those that wait beside it, for one may lead to a copy and take all.
        """
        row, page = self.row((ANY, path)), self.page_of.get(source)
        self.nodes["tested"][row] += 1
        if taken and page is not None:
            place = (page << 32) + row
            here = slice(*self.places["place"].searchsorted([place, place + 1]))
            share = self.pages["own"][page] / max(1, self.places["waits"][here].sum())
            self.nodes["taken"][row] += min(taken, share)

    def wait_no_more(self, gone: Mapping[tuple[int, int], int]) -> None:
        """Note how many links of each (source page, link path) are not waited for on that page any more."""
        pages, nodes, places, waits = self.page_of, self.node_of, self.places["place"], self.places["waits"]
        known = {
            (pages[source] << 32) + nodes.get((ANY, path), NOBODY): n
            for (source, path), n in gone.items()
            if source in pages
        }
        for at, (place, n) in zip(places.searchsorted(list(known)).tolist(), known.items(), strict=True):
            if at < len(places) and places[at] == place:
                waits[at] = max(0, waits[at] - n)

    def fresh_links(self, rows: Rows) -> Any:
        """Return how many fresh links worth following arms are expected to show."""
        return down(self.nodes["number"], self.nodes["counts"], rows, 0.0, self.t.prior_weight)

    def bound(self, max_pages: int, max_arms: int) -> None:
        """Let the oldest pages settle, and the nodes with fewest pulls go, if there are too many."""
        if self.pages.rows > max_pages:
            self._settle(self.pages.rows - max_pages * 7 // 8)
        if self.nodes.rows > 3 * max_arms:  # of each its link path, its pattern and itself
            self._forget(3 * max_arms * 3 // 4)

    def _settle(self, n: int) -> None:
        worked, old = Worked(self), self.ways["page"] < n
        page, node = self.ways["page"][old], self.ways["node"][old]
        for name, brought in (("n", 1.0), ("reward", worked.page_reward), ("hub", worked.page_hub)):
            self.nodes[f"old_{name}"][:] += _totals(node, (worked.weight * brought)[page], self.nodes.rows)
        self.settled += n
        self.pages.keep(slice(n, None))
        self.links.keep(self.links["page"] >= n)
        self.places.keep(self.places["place"] >= n << 32)
        self.ways.keep(~old)
        self.links["page"][:] -= n
        self.places["place"][:] -= n << 32
        self.ways["page"][:] -= n
        self.keys, self.urls = self.keys[n:], self.urls[n:]
        self.after_load()

    def _forget(self, most: int) -> None:
        nodes = self.nodes
        kept = np.zeros(nodes.rows, dtype=np.bool_)
        kept[[NOBODY, SITE, EXAMPLE, *np.argsort(-nodes["n"], kind="stable")[:most]]] = True
        kept[nodes["path"][kept]] = kept[nodes["pattern"][kept]] = True
        place = np.where(kept, np.cumsum(kept) - 1, NOBODY)
        self.node_of = {node: int(place[row]) for node, row in self.node_of.items() if kept[row]}
        nodes.keep(kept)
        path = self.places["place"] & _PATH
        self.places.keep(kept[path])
        self.places["place"][:] += (place[path] - path)[kept[path]]
        own = ((nodes, column) for column in ("path", "pattern", "arm"))
        for table, column in (*own, (self.links, "arm"), (self.ways, "node")):
            table[column][:] = place[table[column]]


_PATH, _MANY = (1 << 32) - 1, 1 << 40
"""Part of a place that is the row of its link path; more characters than any page has."""
TOLD = ("flat", "short", "repeated")
"""Columns of nodes: whether all pages have about as much text, and little of it; and are one page."""
WORKED = (
    *("own_n", "own_reward", "n", "reward", "hub"),  # pulls and rewards summed, and with what they start with
    *("menu", "curious"),  # of an arm, how far it is a menu; of a link path, how far its links are untried
    *("counts", "number", "gain"),  # by labels: pulls, fresh links behind them, and their worth, summed
)
"""Columns of nodes that are worked out."""


class Worked:
    """Rewards, means and yields as they follow from the tables.

    share, site_mean: as in `Tables`. text, page_reward, weight, page_hub, is_wanted: of pages, (n_pages,):
    reward by text, reward, share of a pull it counts as, reward expected of its fresh links as a share of a
    whole hub, whether somebody said that it is wanted. The columns `WORKED`: of nodes, (n_nodes,).
    """

    def __init__(self, tables: Tables) -> None:
        self._tables, self._t = tables, tables.t
        self._rows = tables.all_rows
        self._page, self._path = tables.places["place"] >> 32, tables.places["place"] & _PATH
        lengths = tables.nodes["lengths"]
        most, least = lengths[:4] - _MANY, _MANY - lengths[4:]
        self._most, self._least, same = most[0], least[0], most == least
        # Pages most of which name a thing of their own are not one page, whatever their text.
        pulls = tables.nodes["old_n"] + np.bincount(tables.ways["node"], minlength=tables.nodes.rows)
        self._is_one = 2 * tables.nodes["things"] <= pulls
        self._alike_but_address = self._is_one & (self._least > 0) & (same[1] | same[2]) & ~same[3]
        self._judge()
        self._sum()
        self._look_at_links()
        self._compare_texts()
        self.counts = self.number = self.gain = np.zeros(tables.nodes.rows)
        if self.share:
            self._follow_yields()

    def _judge(self) -> None:
        """Find out what pages are worth.

        By text: x / (x + `HALF_CHARS`), x = own text less what waiting links are expected to take; nothing if
        its owner keeps it out of searches, where that is not all but one page in 16.
        What may be excerpts counts as little known until links between were followed, or `few` times as many
        pages seen with such links. By likeness: 1 like an example, unlike all its text times 2 / (2 + n), n
        examples, and what else is known where URL and layout are of none; a copy that names its original, or
        where layout alone tells, is like none. Feedback replaces all, and its silence lessens text.
        """
        tables, t, k = self._tables, self._t, self._t.prior_weight
        pages, places, nodes, n = tables.pages, tables.places, tables.nodes, tables.pages.rows
        own, source, label = pages["own"], pages["source"], pages["label"]
        is_text, is_like = source == Source.TEXT, source == Source.LIKENESS
        self.is_wanted = label >= t.wanted
        # Pages like an example say little more of other kinds than it does: `few` times as many count.
        alike = int((self.is_wanted & is_like).sum())
        known = tables.n_examples + int(self.is_wanted.sum()) - max(0, alike - t.few * tables.n_examples)
        # Who says of a dozen pages in two hundred that they are not wanted has not said what is; who says so
        # of every page has.
        silent = 1.0 - tables.reported / (tables.pulls + k)
        self.share = 1.0 - min(silent, k / (k + known))
        cost = nodes["taken"] / (nodes["tested"] + k)
        x = np.maximum(0.0, own - _totals(self._page, places["waits"] * cost[self._path], n))
        if (is_echo := self._alike_but_address & (nodes["own_n"] >= t.evidence)).any():
            x *= np.bincount(tables.ways["page"], is_echo[tables.ways["node"]], n) == 0
        self.text = x / (x + HALF_CHARS)
        listed = ~pages["noindex"]
        if 2 * t.evidence * np.count_nonzero(listed & (source != Source.FAILED)) >= n:
            self.text *= listed
        between = np.flatnonzero(places["between"])
        path, doubt = self._path[between], np.zeros(n)
        tried = nodes["tested"][path] + nodes["beside"][path] / t.few
        np.maximum.at(doubt, self._page[between], k / (k + tried))
        sure = np.maximum(t.least_left, 1.0 - doubt)
        silence = self._silence(is_text) if tables.reported else 0.0
        self.weight = np.where(is_text, np.maximum(silence, (1.0 - self.share) * sure), 1.0)
        if is_like.any():
            is_seen = pages["alone"] | pages["renamed"] & (label == 1.0)
            label = np.where(is_like & pages["copied"] & is_seen, 0.0, label)
            elsewhere = np.maximum(max(t.least_left, 1.0 - self.share), pages["near"] ** t.same_layout)
            unsaid = np.where(label == 0.0, elsewhere, k / (k + tables.n_examples))
            label = np.where(is_like, label + (1.0 - label) * self.text * sure * unsaid, label)
        self.page_reward = np.where(is_text, self.text * (1.0 - silence), label)

    def _silence(self, is_text: NDArray[np.bool_]) -> float:
        """Return how far silence says no: r / (2 - r), r the share reported of arms with wanted pages."""
        page, node, rows = self._tables.ways["page"], self._tables.ways["node"], self._rows[2]
        is_yes = self.is_wanted & (self._tables.pages["source"] == Source.FEEDBACK)
        yes, silent = (
            _totals(node, each[page] & (rows[node] == node), len(rows)) for each in (is_yes, is_text)
        )
        r = (yes**2 / (yes + silent + self._t.prior_weight)).sum() / max(1.0, yes.sum())
        return float(r / (2.0 - r))

    def _sum(self) -> None:
        """Sum up what nodes brought; a page is a hub by what its fresh links should bring."""
        tables, t, links, nodes = self._tables, self._t, self._tables.links, self._tables.nodes
        self.own_n = self._summed(nodes["old_n"], 1.0)
        self.own_reward = self._summed(nodes["old_reward"], self.page_reward)
        self.site_mean = float(self.own_reward[SITE] / self.own_n[SITE]) if self.own_n[SITE] > 0.0 else 0.0
        n, reward, hub = tables.starts(tables, self) if tables.starts else np.zeros((3, 1))
        self.n, self.reward = self.own_n + n, self.own_reward + reward
        self._mean = down(self.reward, self.n, self._rows, t.prior, t.prior_weight)
        found = _totals(links["page"], links["fresh"] * self._mean[links["arm"]], tables.pages.rows)
        self.page_hub = np.minimum(1.0, found / t.hub_links)
        self.own_hub = self._summed(nodes["old_hub"], self.page_hub)
        self.hub = self.own_hub + hub

    def _summed(self, before: Floats, brought: Any) -> Floats:
        ways = self._tables.ways
        return before + _totals(ways["node"], (self.weight * brought)[ways["page"]], len(before))

    def _look_at_links(self) -> None:
        """Tell menus, whose few links are on every page, and links between texts that nobody tried."""
        nodes, few = self._tables.nodes, self._t.few
        shown = nodes["shown"] / np.maximum(1, nodes["fresh"] * self._tables.pulls)
        self.menu = np.minimum(1.0, shown) * ((nodes["fresh"] > 0) & (self._tables.pulls >= few))
        tried = nodes["tested"] + (self.n - self.own_n)
        self.curious = np.minimum(1.0, nodes["beside"] / few) * (tried < few)

    def _compare_texts(self) -> None:
        """Tell nodes whose pages all have about as much text, and those whose pages are one: many that paid
        nothing, for products of a shop may share their text, of all such nodes if all of it was new."""
        t, n, least, most = self._t, self.own_n, self._least, self._most
        self.flat = self._is_one & (n >= t.evidence) & (most + 1 <= t.flat * (least + 1))
        self.short = self.flat & (least > 0) & (most < HALF_CHARS)
        pays_nothing = self.own_reward + self.hub <= t.least_left * n
        is_equal, many = self._is_one & (n >= t.few) & (most == least) & pays_nothing, t.few * t.evidence
        is_echo = self._alike_but_address & (n >= t.evidence)  # texts differ by their address alone
        is_one = is_equal & (self._tables.nodes["novel"] > 0) | is_echo & pays_nothing
        is_one &= n >= many
        said = {text for text in least[is_equal].tolist() if self._tables.texts.get(text, 0) >= many}
        said.update(least[is_one].tolist())
        self.repeated = is_one | is_equal & np.isin(least, list(said)) if said else is_one

    def _follow_yields(self) -> None:
        """Work out what arms are worth by the links behind them.

        A link to a page of reward r with n fresh links worth v each pays (r + n v) / (1 + n) per fetch: the
        index of an arm-acquiring bandit (Whittle 1981). Only links worth more than the page count, and as far
        as their kind was opened.
        """
        tables, t, k = self._tables, self._t, self._t.prior_weight
        links, ways, n_pages = tables.links, tables.ways, tables.pages.rows
        node, page, opened = ways["node"], ways["page"], self.own_n[self._rows[1]]
        order = np.argsort(node, kind="stable")
        age = np.empty(len(node), dtype=np.int64)
        age[order] = np.searchsorted(node[order], node[order], side="right") - 1 - np.arange(len(node))
        kept = np.power(t.decay, age)
        self.counts = _totals(node, kept, len(opened))
        is_arm, worth = (self._rows[2] > 0)[node], self._mean
        for _ in range(t.passes):
            believed = (worth * opened / (opened + k))[links["arm"]]
            least = np.zeros(n_pages)
            np.maximum.at(least, page[is_arm], worth[node[is_arm]])
            better = links["fresh"] * (believed > least[links["page"]])
            number, gain = (_totals(links["page"], each, n_pages) for each in (better, better * believed))
            self.number = _totals(node, kept * number[page], len(opened))
            self.gain = _totals(node, kept * gain[page], len(opened))
            behind, links_behind = (
                down(each, self.counts, self._rows, 0.0, k) for each in (self.gain, self.number)
            )
            worth = np.maximum(self._mean, (self._mean + behind) / (1.0 + links_behind))


def _lengths(chars: int, address: int) -> Ints:
    """Return lengths of a page, from `_MANY` up and down, so that the most of several pages tells the longest
    and the shortest: of its text, of that less its address once and twice, and of the address."""
    lengths = chars, chars - address, chars - 2 * address, address
    return np.array([[_MANY + length] for length in lengths] + [[_MANY - length] for length in lengths])


def down(total: Floats, n: Floats, rows: Rows, prior: float, prior_n: float) -> Any:
    """Return means of arms, each node's shrunk towards the one before: site, link path, URL pattern, arm."""
    mean: Any = prior
    for at in (SITE, *rows):
        mean = (total[at] + prior_n * mean) / (n[at] + prior_n)  # `columns.shrunk`
    return mean


def _totals(rows: Ints, values: NDArray[Any], n: int) -> Floats:
    """Return the sum of the values of each of n rows."""
    return np.asarray(np.bincount(rows, values, n), dtype=np.float64)
