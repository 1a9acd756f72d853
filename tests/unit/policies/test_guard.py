"""Policies from outside: one that fails is taken out or answered for once, and what is expected passes."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import ConfigChanged
from linkscore_scoring.errors import InvalidInput, PolicyFailed
from linkscore_scoring.policies.base import Params, Scored
from linkscore_scoring.policies.baselines import BreadthFirst
from linkscore_scoring.policies.guard import FAILURES, failure_of, guarded
from linkscore_scoring.policies.registry import register
from support.boards import Board

LINKS = [("/a", "x/a"), ("/b", "x/a")]


class Outside(BreadthFirst):
    """Scores all links alike, counts pages; fails as it is told to."""

    name = "toy_guarded"
    failing: ClassVar[dict[str, Any]] = {}

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        self._meet("__init__")
        super().__init__(params, seed=seed)
        self.pages = 0

    def _meet(self, method: str) -> None:
        if isinstance(error := self.failing.get(method), Exception):
            raise error

    def score(self, links: Any, site: Any) -> Scored:
        self._meet("score")
        scored = super().score(links, site)
        return self.failing.get("scored", Scored(scored.scores * 0 + 0.25, ["all"] * len(links.urls)))

    def observe(self, page: Any, site: Any) -> None:
        self.pages += 1
        self._meet("observe")

    def warnings(self, expected: float, site: Any) -> Iterator[Any]:
        self._meet("warnings")
        yield "all alike"

    def to_state(self) -> Any:
        return self.failing.get("to_state", {"pages": self.pages})

    def load_state(self, state: dict[str, Any]) -> None:
        self._meet("load_state")
        self.pages = state["pages"]


register(Outside)
GUARDED = guarded(Outside)


@pytest.fixture(autouse=True)
def sound() -> Iterator[None]:
    Outside.failing = {}
    yield
    Outside.failing = {}


def scores(board: Board, path: str) -> list[float]:
    found: list[float] = board.page(
        path, [(f"{path}{link}", link_path) for link, link_path in LINKS]
    ).links.scores.tolist()
    return found


@pytest.mark.parametrize("error", [ZeroDivisionError("x"), KeyError("x"), OSError(errno.ENOENT, "x")])
def test_a_policy_that_fails_at_learning_is_taken_out_of_its_site(error: Exception) -> None:
    board = Board("toy_guarded")
    assert scores(board, "/") == [0.25, 0.25]
    before, Outside.failing = FAILURES["toy_guarded"], {"observe": error}
    assert scores(board, "/p") == [0.5, 0.5], "breadth-first: one click"
    Outside.failing = {}
    assert scores(board, "/q") == [0.5, 0.5], "nobody knows what it knows now"
    why = (
        f"policy 'toy_guarded' failed, breadth-first order replaces it: observe raised {type(error).__name__}"
    )
    assert failure_of(board.shard.served) == board.shard.served.describe(board.shard.model) == why
    assert FAILURES["toy_guarded"] == before + 1
    assert board.model.pages == 3


def test_a_question_that_fails_is_answered_by_another_this_once() -> None:
    board = Board("toy_guarded")
    Outside.failing = dict.fromkeys(("score", "warnings"), ZeroDivisionError("x"))
    assert scores(board, "/") == [0.5, 0.5]
    assert board.shard.served.warnings(0.0, board.shard.model) == []
    Outside.failing = {}
    assert scores(board, "/p") == [0.25, 0.25]
    assert failure_of(board.shard.served) == ""


@pytest.mark.parametrize(
    "scored",
    [
        None,
        Scored([0.5, 0.5], ["x", "x"]),  # type: ignore[arg-type]
        Scored(BreadthFirst.value(None, ["d1"], None), ["x"]),  # type: ignore[arg-type]
        Scored(BreadthFirst.value(None, ["d1", "d1"], None) * float("nan"), ["x", "x"]),  # type: ignore[arg-type]
        Scored(BreadthFirst.value(None, ["d1", "d1"], None) * 3, ["x", "x"]),  # type: ignore[arg-type]
        Scored(BreadthFirst.value(None, ["d1", "d1"], None), ["x"]),  # type: ignore[arg-type]
    ],
)
def test_scores_that_cannot_be_used_are_a_failure(scored: Any) -> None:
    board = Board("toy_guarded")
    Outside.failing = {"scored": scored}
    assert scores(board, "/") == [0.5, 0.5]


def test_a_policy_that_was_taken_out_stays_so_in_its_state_until_the_crawl_is_configured() -> None:
    board = Board("toy_guarded")
    Outside.failing = {"observe": ZeroDivisionError("x")}
    scores(board, "/")
    Outside.failing = {}
    again = CrawlModel(board.model.config, ticket_key=b"key")
    again.load_state(board.model.to_state())
    assert "observe raised" in failure_of(again.sites["h"].served)
    config = CrawlConfig("c", PolicyChoice("toy_guarded"), scope="any")
    again.apply(again.seq + 1, ConfigChanged(config.to_state()))
    assert failure_of(again.sites["h"].served) == ""


@pytest.mark.parametrize("state", [{"x": object()}, {1 << 70: 0}, object()])
def test_in_place_of_a_state_that_cannot_be_stored_is_said_why(state: Any) -> None:
    made: Any = GUARDED(Params())
    Outside.failing = {"to_state": state}
    stored = made.to_state()
    Outside.failing = {}
    again: Any = GUARDED(Params())
    again.load_state(stored)
    assert "to_state raised" in failure_of(again)


def test_a_state_that_is_not_taken_over_takes_the_policy_out() -> None:
    Outside.failing = {"load_state": KeyError("x")}
    made: Any = GUARDED(Params())
    made.load_state({"pages": 3})
    assert "load_state raised KeyError" in failure_of(made)


def test_a_policy_that_cannot_be_made_is_refused_and_stands_in_where_it_is_wanted_already() -> None:
    Outside.failing = {"__init__": ZeroDivisionError("x")}
    with pytest.raises(
        PolicyFailed, match=r"'toy_guarded' failed.*__init__ raised ZeroDivisionError; choose another"
    ):
        CrawlConfig("c", PolicyChoice("toy_guarded")).check()
    assert scores(Board("toy_guarded"), "/") == [0.5, 0.5]


@pytest.mark.parametrize("error", [InvalidInput("x"), MemoryError(), OSError(errno.EMFILE, "x")])
def test_errors_of_linkscore_and_of_a_machine_short_of_something_pass(error: Exception) -> None:
    made: Any = GUARDED(Params())
    Outside.failing = {"observe": error}
    with pytest.raises(type(error)):
        made.observe(None, None)
    assert failure_of(made) == ""


def test_an_explanation_says_that_another_answers() -> None:
    board = Board("toy_guarded")
    Outside.failing = {"observe": ZeroDivisionError("x")}
    scores(board, "/p")
    (found,) = board.explain("/p/a")
    assert found.explanation.summary == (
        "policy 'toy_guarded' failed, breadth-first order replaces it: observe raised ZeroDivisionError"
        ": 1 clicks from a seed"
    )
