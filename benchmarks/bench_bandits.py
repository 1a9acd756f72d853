"""Cost of a decision at 1,000,000 arms, of features and predictions for 1,000 links, and of a label."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count

import numpy as np

from benchmarks.pages import Corpus
from benchmarks.table import Row
from linkscore_scoring.learners.classifiers.link_features import GROUPS, LinkFeatures
from linkscore_scoring.learners.classifiers.online import OnlineClassifier
from linkscore_scoring.policies.anthelion.host_bandit import HostBandit

ARMS, PULLED, DECISIONS = 1_000_000, 20_000, 300
LINKS, LABELS = 1_000, 300
_FUNCTIONS = ("best_score", "success_rate_best_score", "thompson_sampling", "thompson_best_score")
_FEW = ("host", "url", "parents", "siblings")


def run(corpus: Corpus) -> list[Row]:
    """Return the rows; the input is drawn, no site is read."""
    return [*_decisions(), *_features(), *_labels()]


def _decisions() -> Iterator[Row]:
    makers = {name: partial(HostBandit, function=name, explore_prob=0.1) for name in _FUNCTIONS}
    for name, make in makers.items():
        bandit: HostBandit = make()
        _prepare(bandit)
        seqs = count(PULLED)
        spent = _seconds(lambda bandit=bandit, seqs=seqs: _decide(bandit, next(seqs)), DECISIONS)
        yield Row(f"{name}: choose, reward, new best", f"{ARMS:,} arms awake", spent * 1e6, "us CPU/decision")


def _prepare(bandit: HostBandit) -> None:
    """Wake all arms, and let 20,000 pulls fall on the first 2,000 of them, which pay as differently."""
    rng = np.random.default_rng(1)
    for arm, best in enumerate(rng.random(ARMS).tolist()):
        bandit.offer(arm, best)
    for arm in rng.integers(PULLED // 10, size=PULLED).tolist():
        bandit.reward(arm, float(rng.random() < arm / (PULLED / 10)))


def _decide(bandit: HostBandit, seq: int) -> None:
    arm = bandit.choose(seq)
    bandit.reward(arm, float(seq % 3 == 0))
    bandit.offer(arm, (seq % 97) / 97)


def _features() -> Iterator[Row]:
    urls = [
        f"http://h.example/forum/{n % 23}/a-title-of-{n}/page-{n % 7}.html?x={n % 5}" for n in range(LINKS)
    ]
    neighbours = np.random.default_rng(2).integers(0, 4, size=(LINKS, 4)).astype(np.float64)
    anchors, link_paths = [f"title {n}" for n in range(LINKS)], [(n % 30, n % 20) for n in range(LINKS)]
    for groups in (_FEW, GROUPS):
        features = LinkFeatures(groups)

        def extract(features: LinkFeatures = features, suffix: str = "") -> None:
            features.of(
                [url + suffix for url in urls], anchors=anchors, link_paths=link_paths, neighbours=neighbours
            )

        fresh = (f"&y={n}" for n in count())
        first = _seconds(lambda fresh=fresh, extract=extract: extract(suffix=next(fresh)), 5)
        again = _seconds(extract, 20)
        named = f"features of {LINKS:,} links, {len(groups)} groups"
        yield Row(f"{named}, never seen", "drawn", first * 1e3, "ms CPU")
        yield Row(f"{named}, seen before", "drawn", again * 1e3, "ms CPU", target=5.0)


def _labels() -> Iterator[Row]:
    features = LinkFeatures(_FEW)
    urls = [f"http://h.example/{'post' if n % 2 else 'tag'}/{n}/a-title-of-{n}" for n in range(LINKS)]
    X, one = features.of(urls), [features.of([url]) for url in urls[:LABELS]]
    for name in ("ftrl", "arow", "multinomial_nb"):
        model, labels = OnlineClassifier(name), count()

        def teach(model: OnlineClassifier = model, labels: Iterator[int] = labels) -> None:
            n = next(labels) % LABELS
            model.learn(one[n], np.array([float(n % 2)]))

        _seconds(teach, LABELS)
        yield Row(
            f"{name}: learn a label", "drawn", _seconds(teach, 2 * LABELS) * 1e6, "us CPU", target=100.0
        )
        spent = _seconds(partial(model.predict_prob, X), 20)
        yield Row(f"{name}: predict {LINKS:,} links", "drawn", spent * 1e3, "ms CPU", target=5.0)


def _seconds(act: Callable[[], object], times: int) -> float:
    started = time.process_time()
    for _ in range(times):
        act()
    return (time.process_time() - started) / times
