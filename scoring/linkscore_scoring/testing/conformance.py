"""The conformance suite of policies: `check_policy(MyPolicy)` is all a test of a policy from outside needs.

Each check takes a `Subject` and raises AssertionError saying what is wrong; a test may be parametrised over
`CHECKS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.policies.registry import builtin, register
from linkscore_scoring.site.learning import SiteBounds
from linkscore_scoring.state import packed, unpacked
from linkscore_scoring.testing.crawl import GeneratedSite, SimulatedCrawl, crawl_model, page_of, report, visit

SEEDS = (1, 2, 3)
"""Of the generated sites that policies are compared on: a bound of the time the suite takes."""
MARGIN = 0.1
"""Gain over random order asked for, in share of wanted pages. On the generated site random order varies by
0.03 from seed to seed, its mean over three seeds by 0.02: five times that."""

_BUDGET = 200
"""Fetches of a crawl that is set against random order: a third of the site, so that order matters."""
_BOUND = 200
"""Links, tag paths and arms allowed where memory is measured: small, so that few pages reach it."""
_STRANGE_BUCKETS = ["", "plan", "d1", "u9999", "d" + "9" * 400, "c.", "c1.zz", "h1.-", "é/ü", "0" * 5_000]


def check_policy(policy: type[Policy], params: Mapping[str, Any] | None = None) -> None:
    """Run every check on a policy; raises AssertionError naming the first rule that is broken.

    The class is registered under its name, for good. `params` are those it needs; a page of the wanted type
    is at `GeneratedSite(0).example`.
    """
    subject = Subject(policy, params or {})
    for check in CHECKS:
        check(subject)


class Subject:
    """A policy class with the parameters it is tested with."""

    def __init__(self, policy: type[Policy], params: Mapping[str, Any]) -> None:
        self.policy = policy
        self.params = dict(params)
        self.choice = PolicyChoice(policy.name, self.params)
        register(policy)
        given = ", ".join(f"{name}={value}" for name, value in self.params.items())
        self.name = f"{policy.name}({given})" if given else policy.name  # in messages
        # Whether its crawls report what pages were worth: the policy learns from that.
        self.reports = self.choice.has("needs_feedback")

    def crawl(self, seed: int = 0) -> SimulatedCrawl:
        """Return a crawl that has not begun."""
        return SimulatedCrawl(crawl_model(self.choice, seed=seed), GeneratedSite(seed), reports=self.reports)

    def after(self, pages: int) -> SimulatedCrawl:
        """Return a crawl of so many pages; the site is learned after 24."""
        return self.crawl().fetch(pages)


def check_scores_are_in_range(subject: Subject) -> None:
    """Scores, values and reasons are there for 0, 1 and many links: before any page, while the site is
    sampled, afterwards, and on a site of nothing but failures."""
    for pages in (0, 5, 60):
        asked = subject.after(pages)
        for _ in range(2):
            for n in (0, 1, 1_000):
                _check_answers(asked, n)
            values = asked.policy.value(_STRANGE_BUCKETS, asked.site)
            _check_range(subject.name, values, len(_STRANGE_BUCKETS))
            for n in range(10):
                visit(asked.model, f"{asked.generated.home}gone/{n}", None)


def check_questions_change_nothing(subject: Subject) -> None:
    """Questions to a policy leave its state, that of its site and the crawl as it was."""
    for pages in (5, 60):
        asked = subject.after(pages)
        before = packed(asked.model.to_state()), packed(asked.policy.to_state())
        scored = asked.policy.score(asked.links(200), asked.site)
        asked.policy.value([*scored.buckets, *_STRANGE_BUCKETS], asked.site)
        asked.policy.explain(asked.links(20), asked.site)
        asked.policy.site_value(asked.site)
        asked.policy.suggest_examples(5, asked.site)
        after = packed(asked.model.to_state()), packed(asked.policy.to_state())
        assert after == before, f"{subject.name}: a question changed the state after {pages} pages"


def check_a_batch_equals_its_rows(subject: Subject) -> None:
    """A link has the same score and bucket alone and among others."""
    for pages in (5, 60):
        asked = subject.after(pages)
        whole = asked.policy.score(asked.links(100), asked.site)
        for row in range(len(whole.scores)):
            alone = asked.policy.score(asked.links(100, [row]), asked.site)
            assert np.isclose(alone.scores[0], whole.scores[row], rtol=0.0, atol=1e-12), (
                f"{subject.name}: row {row} scores {alone.scores[0]} alone, {whole.scores[row]} in a batch"
            )
            assert alone.buckets[0] == whole.buckets[row], f"{subject.name}: bucket {row} varies"


def check_same_history_gives_same_scores(subject: Subject) -> None:
    """Seed and history decide the order of a crawl, its state and its scores."""
    one, two = subject.after(80), subject.after(80)
    assert one.fetched == two.fetched, f"{subject.name}: two equal crawls took different ways"
    assert packed(one.policy.to_state()) == packed(two.policy.to_state()), f"{subject.name}: state varies"
    np.testing.assert_array_equal(one.scores(300), two.scores(300), err_msg=subject.name)


def check_state_round_trip_gives_the_same_future(subject: Subject) -> None:
    """A crawl restored from bytes goes on exactly like the one that was never interrupted."""
    for pages in (5, 40):
        straight, restored = subject.after(pages), subject.after(pages)
        restored.model = crawl_model(subject.choice)
        restored.model.load_state(unpacked(packed(straight.model.to_state())))
        np.testing.assert_array_equal(straight.scores(300), restored.scores(300), err_msg=subject.name)
        straight.fetch(60)
        restored.fetch(60)
        assert straight.fetched == restored.fetched, f"{subject.name}: other pages after a restart"
        assert packed(straight.model.to_state()) == packed(restored.model.to_state()), (
            f"{subject.name}: other state"
        )
        np.testing.assert_array_equal(straight.scores(300), restored.scores(300), err_msg=subject.name)


def check_buckets_have_the_value_of_their_links(subject: Subject) -> None:
    """`value` of a bucket is the score of its links, give or take the policy's `residual`."""
    for pages in (0, 5, 60):
        asked = subject.after(pages)
        scored = asked.policy.score(asked.links(500), asked.site)
        values = asked.policy.value(scored.buckets, asked.site)
        gap = np.abs(values - scored.scores).max(initial=0.0)
        allowed = asked.policy.residual + 1e-9
        assert gap <= allowed, (
            f"{subject.name}: a link is {gap:.4f} off its bucket's value, at most {allowed}"
        )


def check_memory_is_bounded(subject: Subject) -> None:
    """The state stops growing by the time pages, tag paths and URLs are three times what the bounds allow."""
    bounds = SiteBounds(links=_BOUND, contexts=2, blocks=_BOUND, apaths=_BOUND, arms=_BOUND)
    model = crawl_model(subject.choice, sample_pages=200, bounds=bounds)
    sizes = []
    for page in range(9 * _BOUND):
        url = f"http://endless.example/{page}/p.html"
        links = [(f"http://endless.example/{page + 1}/p.html", f"html/body/div/a[a{page}x]")]
        visit(model, url, page_of(url, links=links, texts=[(f"text {page}", 500)]))
        if subject.reports:
            report(model, url, float(page % 2))
        if (page + 1) in (3 * _BOUND, 9 * _BOUND):
            policy = model.sites["endless.example"].served
            sizes.append(len(packed([policy.to_state(), model.crawl_wide.to_state()])))
    assert sizes[1] <= 1.25 * sizes[0], f"{subject.name}: state grew from {sizes[0]} to {sizes[1]} bytes"


def check_it_beats_random_order(subject: Subject) -> None:
    """More of the pages fetched are wanted than in random order, by `MARGIN`; baselines need not."""
    if subject.policy.baseline:
        return
    own = [subject.crawl(seed).fetch(_BUDGET).wanted_share() for seed in SEEDS]
    random = Subject(builtin()["uniform_random"], {})
    chance = [random.crawl(seed).fetch(_BUDGET).wanted_share() for seed in SEEDS]
    gain = float(np.mean(own) - np.mean(chance))
    assert gain >= MARGIN, f"{subject.name}: {gain:+.3f} against random order, {MARGIN:+.2f} asked for"


Check = Callable[[Subject], None]

CHECKS: tuple[Check, ...] = (
    check_scores_are_in_range,
    check_questions_change_nothing,
    check_a_batch_equals_its_rows,
    check_same_history_gives_same_scores,
    check_state_round_trip_gives_the_same_future,
    check_buckets_have_the_value_of_their_links,
    check_memory_is_bounded,
    check_it_beats_random_order,
)


def _check_answers(asked: SimulatedCrawl, n: int) -> None:
    links = asked.links(n)
    scored = asked.policy.score(links, asked.site)
    _check_range(asked.policy.name, scored.scores, len(links))
    assert len(scored.buckets) == len(links), f"{asked.policy.name}: want one bucket for each link"
    _check_range(asked.policy.name, asked.policy.value(scored.buckets, asked.site), len(links))
    groups = list(zip(links.patterns, asked.site.link_paths.folded(links.link_paths), strict=True))
    rewards = asked.policy.expected_rewards(groups, asked.site)
    if rewards is not None:
        _check_range(asked.policy.name, rewards, len(links))
    reasons = asked.policy.explain(links, asked.site)
    assert len(reasons) == len(links), f"{asked.policy.name}: want one reason for each link"


def _check_range(name: str, scores: Any, n: int) -> None:
    assert scores.shape == (n,), f"{name}: shape {scores.shape}, want ({n},)"
    assert scores.dtype == np.float64, f"{name}: dtype {scores.dtype}, want float64"
    good = np.isfinite(scores) & (scores >= 0.0) & (scores <= 1.0)
    assert good.all(), f"{name}: {scores[~good][:3]} is not in [0, 1]"
