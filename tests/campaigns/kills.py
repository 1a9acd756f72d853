"""``make kills N=1000``: kill -9 at random moments of everything that writes; nothing is lost or doubled.

A run sends the same calls in the same order: pages, feedback on them, batches of a browse log, notices that
pages changed if the crawl fetches again; sites are learned and snapshots made on the way. It is killed again
and again: while a call is in work, while a site is learned, while a snapshot is written, while the server
starts. After each start the crawl must have what was acknowledged, and of the call in work all or nothing;
what was not answered is sent again. Each start draws other settings (`campaigns.options`): bounds of memory,
of segments and of snapshots, and whether the log is cut. Half of the crawls fetch pages again. Every few
kills what the folder holds is held against a replay of its log. At the end of a run all scores equal those of
a run that nobody killed.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from campaigns import options
from campaigns.fast_servers import FastServer, FastServers
from linkscore.v1 import browse_log_service_pb2 as browse_pb
from linkscore.v1 import common_pb2 as common
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import policy_pb2
from linkscore.v1 import site_model_service_pb2 as site_pb
from linkscore_server.crawls.libraries import registrable_domain
from linkscore_server.storage.check import problems_of_store
from linkscore_server.storage.files import FileStore
from linkscore_server.storage.replays import unlike_their_replay
from support.server_process import Stubs, stubs
from support.small_site import page, url_of

CRAWL = "crawls/kills"
KINDS = ("ingestion", "feedback", "import", "notice", "learning", "snapshot", "cut", "start")
N_PAGES = 48
"""Pages of a run: sites are learned after 16 and 32, and once in between by schedule if that is due."""

_REPLAYED = 0.2  # share of kills after which the folder is replayed; more would take most of the time
_REVISITED = 0.5  # share of runs whose crawl fetches pages again
DAYS = 2  # that a batch has a visit of
_MOST_CALLS = 12  # before a kill of the kind that was drawn
_TIMEOUT_S = 120.0
_CHANGED_S = int(time.time()) + 3_600
"""When pages are said to have changed: after each fetch, and less than a day from now."""
_DAY_MS, _START_MS = 86_400_000, 20_000 * 86_400_000
_LATEST_S = {
    "ingestion": 0.03,
    "feedback": 0.02,
    "import": 0.2,
    "notice": 0.02,
    "learning": 0.4,
    "snapshot": 0.05,
    "cut": 0.05,
    "start": 0.5,
}
"""Latest moment of a kill after the call was sent, it was answered, or the process began; chosen so that some
kills come after all is done."""


_NOTICED = {
    pb.NOTICE_OUTCOME_NOTED: common.ITEM_CODE_OK,
    pb.NOTICE_OUTCOME_REPEATED: common.ITEM_CODE_DUPLICATE,
}
"""What becomes of a notice, as of other items; of a page that is not known there is none."""


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a run."""

    kind: str
    number: int

    def send(self, server: Stubs) -> Any:
        """Send it; returns what to wait for."""
        if self.kind == "ingestion":
            pages = pb.IngestPagesRequest(crawl=CRAWL, pages=[page(self.number)])
            return server.links.IngestPages.future(pages, timeout=_TIMEOUT_S)
        if self.kind == "feedback":
            reward = float(self.number % 3 == 0)
            given = pb.Feedback(event_id=f"worth-{self.number}", url=url_of(self.number), reward=reward)
            request = pb.ReportFeedbackRequest(crawl=CRAWL, feedback=[given])
            return server.links.ReportFeedback.future(request, timeout=_TIMEOUT_S)
        if self.kind == "notice":
            return server.links.NotifyChanged.future(notices([self]), timeout=_TIMEOUT_S)
        return server.browse.ImportBrowseRecords.future(iter([batch_of(self.number)]), timeout=_TIMEOUT_S)

    def statuses(self, answer: Any) -> list[common.ItemStatus]:
        """Return how each item was taken in."""
        if self.kind == "ingestion":
            return [result.status for result in answer.results]
        if self.kind == "feedback":
            return list(answer.statuses)
        if self.kind == "notice":
            return [common.ItemStatus(code=_NOTICED.get(each.outcome)) for each in answer.statuses]
        return [batch.status for batch in answer.batches]


def steps(*, revisits: bool) -> list[Step]:
    """Return the calls of a run."""
    kinds = ("ingestion", "feedback", "import", *(("notice",) if revisits else ()))
    return [Step(kind, n) for n in range(N_PAGES) for kind in kinds if kind != "import" or n % 6 == 0]


def notices(said: list[Step]) -> pb.NotifyChangedRequest:
    """Return the call that says that the pages of some steps changed."""
    request = pb.NotifyChangedRequest(crawl=CRAWL, urls=[url_of(step.number) for step in said])
    request.change_time.FromSeconds(_CHANGED_S)
    return request


def batch_of(number: int) -> browse_pb.ImportBrowseRecordsRequest:
    """Return a batch with a visit on each of some days."""
    columns = browse_pb.BrowseColumns(
        texts=[f"visitor-{number}", url_of(number)],
        epoch_ms=[_START_MS + day * _DAY_MS for day in range(DAYS)],
        clients=[0] * DAYS,
        urls=[1] * DAYS,
        referrers=[1] * DAYS,
    )
    return browse_pb.ImportBrowseRecordsRequest(crawl=CRAWL, batch_id=f"batch-{number}", columns=columns)


class Run:
    """One run over `steps`, killed as often as it takes.

    Parameters
    ----------
    servers
        Starts servers.
    folder
        Of this run.
    rng
        Decides when it is killed.
    kills
        Most kills; 0 for a run that nobody kills, under the settings of every server.

    Attributes
    ----------
    killed
        Kills by kind.
    replayed
        How often the folder was held against a replay of its log.
    was_cut
        Whether something was cut from the log.
    """

    def __init__(self, servers: FastServers, folder: Path, rng: random.Random, kills: int) -> None:
        self._servers = servers
        self._draws = kills > 0
        self._settings: dict[str, object] = {}
        self._folder = folder
        self.replayed = 0
        self._rng = rng
        self._left = kills
        self._revisits = self._draws and rng.random() < _REVISITED
        self._steps = steps(revisits=self._revisits)
        self._done = 0
        self.killed: Counter[str] = Counter()
        self.problems: list[str] = []

    def run(self) -> list[list[float]]:
        """Go through all steps; returns the scores at the end."""
        while True:
            server = self._started()
            if server is None:
                continue
            with stubs(server.target) as connected:
                self._check(connected)
                if self._until_killed(server, connected):
                    continue
                found = _scores(connected)
                self._check(connected)
            server.kill()
            return found

    @property
    def was_cut(self) -> bool:
        """Whether something was cut from the log."""
        return any(self._folder.glob("data/crawls/*/cut"))

    @property
    def _kinds(self) -> list[str]:
        other = "snapshot" if self._settings.get("keep_log") == "snapshots" else "cut"
        never = (other,) if self._revisits else (other, "notice")
        return [kind for kind in KINDS if kind not in never]

    def _started(self) -> FastServer | None:
        """Start a server with settings drawn anew; None if it was killed on the way."""
        if self._draws:
            self._settings = options.drawn(self._rng)
        server = self._servers.start(self._folder, **self._settings)
        if self._left and self._rng.random() < 1 / len(self._kinds):
            self._kill(server, "start")
            return None
        server.wait()
        return server

    def _until_killed(self, server: FastServer, connected: Stubs) -> bool:
        """Go on with the steps; returns whether it was killed before the last."""
        _wait_for_learning(connected)  # as in the run nobody kills, where learnings are waited for
        kind = self._rng.choice(self._kinds[:-1]) if self._left else ""
        calls_left = self._rng.randrange(_MOST_CALLS)
        while self._done < len(self._steps):
            step = self._steps[self._done]
            calls_left -= 1
            answer = step.send(connected)
            # What was waited for may not come any more: then any call will do.
            if (kind == step.kind and calls_left < 0) or (kind and calls_left < -_MOST_CALLS):
                self._kill(server, step.kind)
                self._done += _is_answered(answer)
                return True
            self._note(step, answer.result())
            self._done += 1
            if kind == "learning" and step.kind == "ingestion" and _is_learning(connected):
                self._kill(server, kind)
                return True
            if kind in ("snapshot", "cut") and self._done % self._snapshot_events == 0 and calls_left < 0:
                self._kill(server, kind)
                return True
            if step.kind == "ingestion":
                _wait_for_learning(connected)
        return False

    @property
    def _snapshot_events(self) -> int:
        found = self._settings["snapshot_events"]
        assert isinstance(found, int)
        return found

    def _kill(self, server: FastServer, kind: str) -> None:
        time.sleep(self._rng.uniform(0.0, _LATEST_S[kind]))
        server.kill()
        self._left -= 1
        self.killed[kind] += 1
        if self._rng.random() < _REPLAYED:
            self._compare_with_replay()

    def _compare_with_replay(self) -> None:
        """Hold what the folder has against a replay of its log."""
        if not (self._folder / "data").exists():
            return
        copy = self._folder / "copy"
        shutil.copytree(self._folder / "data", copy)
        store = FileStore(copy)
        found = [*problems_of_store(store), *unlike_their_replay(store, registrable_domain)]
        self.problems += [f"{self._told()}: {problem}" for problem in found]
        self.replayed += 1
        store.close()
        shutil.rmtree(copy)

    def _told(self) -> str:
        return f"{self._folder.name}, after {dict(self.killed)}, settings {self._settings}"

    def _note(self, step: Step, answer: Any) -> None:
        """Check the answer of a call: only the first after a kill may say that all is there already."""
        statuses = step.statuses(answer)
        codes = [status.code for status in statuses]
        again = [common.ITEM_CODE_DUPLICATE] if self._resent == self._done else []
        if len(codes) != 1 or codes[0] not in [common.ITEM_CODE_OK, *again]:
            self.problems.append(f"{self._told()}: {step}: {statuses}")

    def _check(self, connected: Stubs) -> None:
        """Compare what the crawl has with what was acknowledged, and perhaps the call after it."""
        self._resent = self._done
        if not self._done:
            connected.crawls.CreateCrawl(creation(revisits=self._revisits), timeout=_TIMEOUT_S)
        crawl = connected.crawls.GetCrawl(crawl_pb.GetCrawlRequest(name=CRAWL), timeout=_TIMEOUT_S).crawl
        stats = connected.browse.GetBrowseStats(
            browse_pb.GetBrowseStatsRequest(crawl=CRAWL), timeout=_TIMEOUT_S
        )
        got = (crawl.page_count, crawl.feedback_count, stats.batch_count)
        certain, perhaps = counts(self._steps[: self._done]), counts(self._steps[: self._done + 1])
        if got not in (certain, perhaps) or stats.visit_count != DAYS * stats.batch_count:
            self.problems.append(
                f"{self._told()}: pages, feedback, batches are {got} "
                f"with {stats.visit_count} visits; {certain} were acknowledged"
            )
        self._check_notices(connected)

    def _check_notices(self, connected: Stubs) -> None:
        """Say again what was acknowledged: all of it must be known."""
        said = [step for step in self._steps[: self._done] if step.kind == "notice"]
        if said:
            answer = connected.links.NotifyChanged(notices(said), timeout=_TIMEOUT_S)
            lost = [
                step.number
                for step, status in zip(said, answer.statuses, strict=True)
                if status.outcome != pb.NOTICE_OUTCOME_REPEATED
            ]
            self.problems += [f"{self._told()}: notices of pages {lost} are lost"] if lost else []


def counts(steps: list[Step]) -> tuple[int, int, int]:
    """Return how many pages, feedback and batches some steps bring."""
    kinds = Counter(step.kind for step in steps)
    return kinds["ingestion"], kinds["feedback"], kinds["import"]


def creation(*, revisits: bool = False) -> crawl_pb.CreateCrawlRequest:
    """Return the request that creates the crawl, which may fetch pages again: no score differs by it."""
    ucc = policy_pb2.PolicySpec(source_ucc=policy_pb2.SourceUccParams())
    learning = crawl_pb.LearningConfig(sample_pages=16, max_sample_pages=2_000)
    again = crawl_pb.Revisit(fetches_per_day=N_PAGES) if revisits else None
    config = crawl_pb.Crawl(name=CRAWL, extra_policies=[ucc], learning=learning, revisit=again)
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


def _scores(server: Stubs) -> list[list[float]]:
    links = [pb.CandidateLink(url=url_of(n)) for n in range(200)]
    found = []
    for name in ("harvest", "source_ucc", "breadth_first"):
        policy = policy_pb2.PolicySpec()
        getattr(policy, name).SetInParent()
        request = pb.ScoreLinksRequest(crawl=CRAWL, links=links, policy=policy)
        found.append(list(server.links.ScoreLinks(request, timeout=_TIMEOUT_S).links.scores))
    return found


@dataclass(slots=True)
class Outcome:
    """What a campaign did and found."""

    killed: Counter[str] = field(default_factory=Counter)
    replayed: int = 0
    cut_runs: int = 0
    problems: list[str] = field(default_factory=list)


def campaign(kills: int, seed: int) -> Outcome:
    """Kill as often."""
    rng, all_of, started = random.Random(seed), Outcome(), time.monotonic()
    with FastServers() as servers, tempfile.TemporaryDirectory(prefix="linkscore-kills-") as folder:
        expected = Run(servers, Path(folder) / "uninterrupted", rng, 0).run()
        while (left := kills - all_of.killed.total()) > 0:
            run = Run(servers, Path(folder) / f"run-{all_of.killed.total()}", rng, min(50, left))
            scores = run.run()
            all_of.killed += run.killed
            all_of.replayed += run.replayed
            all_of.cut_runs += run.was_cut
            if scores != expected:
                run.problems.append(f"seed {seed}, after {all_of.killed.total()} kills: other scores")
            all_of.problems += run.problems
            print(
                f"{all_of.killed.total()} kills, {all_of.replayed} replays, {len(all_of.problems)} problems, "
                f"{time.monotonic() - started:.0f} s",
                *run.problems,
                sep="\n",
                flush=True,
            )
    return all_of


def main() -> int:
    """Kill, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    done = campaign(given.kills, given.seed)
    print(
        "| killed during | times |",
        "|---|---|",
        *(f"| {kind} | {done.killed[kind]} |" for kind in KINDS),
        *done.problems,
        f"seed {given.seed}: {done.killed.total()} kills, {done.replayed} replays, {done.cut_runs} runs with "
        f"a log that was cut, {len(done.problems)} problems",
        sep="\n",
    )
    return bool(done.problems)


if __name__ == "__main__":
    sys.exit(main())
