"""``make kills N=100``: kill -9 at random moments of everything that writes; nothing is lost or doubled.

A run sends the same calls in the same order: pages, feedback on them, batches of a browse log, notices that
pages changed; the site is learned on the way. It is killed again and again: while a call is in work, while
the site is learned, while the server starts. After each start the crawl must have what was acknowledged, and
of the call in work all or nothing; what was not answered is sent again. At the end all scores equal those of
a run that nobody killed.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from linkscore.v1 import browse_log_service_pb2 as browse_pb
from linkscore.v1 import common_pb2 as common
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import site_model_service_pb2 as site_pb
from support.server_process import ServerProcess, Stubs, stubs
from support.small_site import page, url_of

CRAWL = "crawls/kills"
N_PAGES = 48
"""Pages of a run: the site is learned after 16 and 32."""
DAYS = 2  # that a batch has a visit of
_MOST_CALLS = 12  # before a kill
_TIMEOUT_S = 120.0
_CHANGED_S = int(time.time()) + 3_600
"""When pages are said to have changed: after each fetch, and less than a day from now."""
_DAY_MS, _START_MS = 86_400_000, 20_000 * 86_400_000
_LATEST_S = {"page": 0.03, "feedback": 0.02, "batch": 0.2, "notice": 0.02, "learning": 0.4, "start": 3.0}
"""Latest moment of a kill after the call was sent, the site began to be learned, or the process began; chosen
so that some kills come after all is done."""


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a run: about the page, or with the batch, of a number."""

    kind: str
    number: int

    def send(self, server: Stubs) -> Any:
        """Send it; returns what to wait for."""
        if self.kind == "page":
            pages = pb.IngestPagesRequest(crawl=CRAWL, pages=[page(self.number)])
            return server.links.IngestPages.future(pages, timeout=_TIMEOUT_S)
        if self.kind == "feedback":
            reward = float(self.number % 3 == 0)
            given = pb.Feedback(event_id=f"worth-{self.number}", url=url_of(self.number), reward=reward)
            request = pb.ReportFeedbackRequest(crawl=CRAWL, feedback=[given])
            return server.links.ReportFeedback.future(request, timeout=_TIMEOUT_S)
        if self.kind == "notice":
            return server.links.NotifyChanged.future(notices([self]), timeout=_TIMEOUT_S)
        return server.browse.ImportBrowseRecords.future(batch_of(self.number), timeout=_TIMEOUT_S)

    def outcomes(self, answer: Any) -> list[str]:
        """Return what became of each item: new, known, or what went wrong."""
        if self.kind == "notice":
            names = {pb.NOTICE_OUTCOME_NOTED: "new", pb.NOTICE_OUTCOME_REPEATED: "known"}
            return [names.get(each.outcome, str(each)) for each in answer.statuses]
        if self.kind == "batch":
            return ["known" if answer.duplicate else "new"]
        results = {"page": "results", "feedback": "statuses"}[self.kind]
        items = [getattr(item, "status", item) for item in getattr(answer, results)]
        codes = {common.ITEM_CODE_OK: "new", common.ITEM_CODE_DUPLICATE: "known"}
        return [codes.get(status.code, str(status)) for status in items]


STEPS = [
    Step(kind, n)
    for n in range(N_PAGES)
    for kind in ("page", "feedback", "notice", *(("batch",) if n % 6 == 0 else ()))
]


def notices(said: list[Step]) -> pb.NotifyChangedRequest:
    """Return the call that says that the pages of some steps changed."""
    request = pb.NotifyChangedRequest(crawl=CRAWL, urls=[url_of(step.number) for step in said])
    request.change_time.FromSeconds(_CHANGED_S)
    return request


def batch_of(number: int) -> browse_pb.ImportBrowseRecordsRequest:
    """Return a batch with a visit on each of some days."""
    batch = browse_pb.ImportBrowseRecordsRequest(crawl=CRAWL, batch_id=f"batch-{number}")
    for day in range(DAYS):
        made = batch.records.add(client_id=f"visitor-{number}", url=url_of(number), referrer=url_of(number))
        made.time.FromMilliseconds(_START_MS + day * _DAY_MS)
    return batch


@dataclass(slots=True)
class Outcome:
    """What a campaign did and found."""

    killed: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


class Run:
    """One run over `STEPS` in a folder, killed as often as `kills` says, or until it is done."""

    def __init__(self, folder: Path, rng: random.Random, kills: int, told: Outcome) -> None:
        self._folder, self._rng, self.left, self._told = folder, rng, kills, told
        self._done = self._resent = 0

    def run(self) -> list[list[float]]:
        """Go through all steps; returns the scores at the end."""
        while True:
            server = self._started()
            if server is None:
                continue
            try:
                with stubs(server.target) as connected:
                    self._check(connected)
                    if not self._until_killed(server, connected):
                        self._check(connected)
                        return _scores(connected)
            finally:
                server.kill()

    def _started(self) -> ServerProcess | None:
        """Start a server; None if it was killed on the way."""
        if not self.left or self._rng.random() >= 1 / len(_LATEST_S):
            return ServerProcess(self._folder)
        self._note_kill("start")
        with suppress(AssertionError):  # it is killed where it does not serve yet
            ServerProcess(self._folder, patience_s=self._rng.uniform(0.05, _LATEST_S["start"])).kill()
        return None

    def _until_killed(self, server: ServerProcess, connected: Stubs) -> bool:
        """Go on with the steps; returns whether it was killed before the last."""
        calls_left = self._rng.randrange(_MOST_CALLS) if self.left else -1
        while self._done < len(STEPS):
            step = STEPS[self._done]
            answer = step.send(connected)
            if calls_left == 0:
                self._kill(server, step.kind)
                self._done += _is_answered(answer)
                return True
            self._note(step, answer.result())
            self._done += 1
            calls_left -= 1
            if step.kind == "page" and self.left and self._rng.random() < 0.5 and _is_learning(connected):
                self._kill(server, "learning")
                return True
            _wait_for_learning(connected)  # so that scores do not depend on when it ends
        return False

    def _kill(self, server: ServerProcess, kind: str) -> None:
        time.sleep(self._rng.uniform(0.0, _LATEST_S[kind]))
        self._note_kill(kind)
        server.kill()

    def _note_kill(self, kind: str) -> None:
        self.left -= 1
        self._told.killed[kind] += 1

    def _problem(self, what: str) -> None:
        self._told.problems.append(f"{self._folder.name}, after {dict(self._told.killed)}: {what}")

    def _note(self, step: Step, answer: Any) -> None:
        """Check the answer of a call: only the first after a start may say that all is there already."""
        right = ("new", "known") if self._resent == self._done else ("new",)
        outcomes = step.outcomes(answer)
        if len(outcomes) != 1 or outcomes[0] not in right:
            self._problem(f"{step}: {outcomes}")

    def _check(self, connected: Stubs) -> None:
        """Compare what the crawl has with what was acknowledged, and perhaps the call after it."""
        self._resent = self._done
        if not self._done:
            connected.crawls.CreateCrawl(creation(), timeout=_TIMEOUT_S)
        crawl = connected.crawls.GetCrawl(crawl_pb.GetCrawlRequest(name=CRAWL), timeout=_TIMEOUT_S).crawl
        asked = browse_pb.GetBrowseStatsRequest(crawl=CRAWL)
        stats = connected.browse.GetBrowseStats(asked, timeout=_TIMEOUT_S)
        got = (crawl.page_count, crawl.feedback_count, stats.batch_count)
        certain, perhaps = counts(STEPS[: self._done]), counts(STEPS[: self._done + 1])
        if got not in (certain, perhaps) or stats.visit_count != DAYS * stats.batch_count:
            self._problem(
                f"pages, feedback, batches are {got} with {stats.visit_count} visits, not {certain}"
            )
        if said := [step for step in STEPS[: self._done] if step.kind == "notice"]:
            answer = connected.links.NotifyChanged(notices(said), timeout=_TIMEOUT_S)
            if set(said[0].outcomes(answer)) != {"known"}:
                self._problem("notices are lost")


def counts(steps: list[Step]) -> tuple[int, int, int]:
    """Return how many pages, feedback and batches some steps bring."""
    kinds = Counter(step.kind for step in steps)
    return kinds["page"], kinds["feedback"], kinds["batch"]


def creation() -> crawl_pb.CreateCrawlRequest:
    """Return the request that creates the crawl, which fetches pages again."""
    learning = crawl_pb.LearningConfig(sample_pages=16)
    again = crawl_pb.Revisit(fetches_per_day=N_PAGES)
    config = crawl_pb.Crawl(name=CRAWL, learning=learning, revisit=again)
    return crawl_pb.CreateCrawlRequest(crawl=config)


def _is_learning(server: Stubs) -> bool:
    request = site_pb.ListSitesRequest(crawl=CRAWL)
    return any(site.learning for site in server.sites.ListSites(request, timeout=_TIMEOUT_S).sites)


def _wait_for_learning(server: Stubs) -> None:
    while _is_learning(server):
        time.sleep(0.005)


def _is_answered(answer: Any) -> bool:
    try:
        answer.result()
    except grpc.RpcError:
        return False
    return True


def _scores(server: Stubs) -> list[float]:
    links = [pb.CandidateLink(url=url_of(n)) for n in range(200)]
    request = pb.ScoreLinksRequest(crawl=CRAWL, links=links)
    return list(server.links.ScoreLinks(request, timeout=_TIMEOUT_S).links.scores)


def campaign(kills: int, seed: int) -> Outcome:
    """Kill as often."""
    rng, told = random.Random(seed), Outcome()
    with tempfile.TemporaryDirectory(prefix="linkscore-kills-") as folder:
        expected = Run(Path(folder) / "uninterrupted", rng, 0, told).run()
        number = 0
        while kills > 0:
            number += 1
            run = Run(Path(folder) / f"run-{number}", rng, kills, told)
            if run.run() != expected:
                told.problems.append(f"run-{number}: other scores than a run that nobody killed")
            kills = run.left
    return told


def main() -> int:
    """Run a campaign; the exit code is 1 if something was lost or doubled."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    given = parser.parse_args()
    found = campaign(given.kills, given.seed)
    print(*found.problems, f"seed {given.seed}: killed {dict(found.killed)}", sep="\n")
    return bool(found.problems)


if __name__ == "__main__":
    sys.exit(main())
