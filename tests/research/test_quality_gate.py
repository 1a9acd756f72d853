"""The gate from end to end on a generated site of twenty pages."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from linkscore_lab.replay.prepare import SiteSource, prepare_site
from linkscore_lab.replay.results import RunResult
from linkscore_lab.replay.runs import Case, Experiment, ReplayProtocol, Task, read_policy
from linkscore_research.quality import measure as plans
from linkscore_research.quality.__main__ import main
from linkscore_research.quality.baseline import Figure, read_baseline
from linkscore_research.quality.measure import figures_of, sites_of
from linkscore_scoring.policies.registry import builtin
from support.warc_writing import http, record

TYPES = "site\tpage_type\tuser_content\ttarget\ns\tthread\t1\t1\ns\tlist\t0\t0\n"
BREADTH_FIRST = "s:user_content:none:breadth_first"


def pages() -> dict[str, str]:
    """An entry, three lists, and five threads of each."""
    lists = {f"https://s.test/list/{i}": [f"https://s.test/t{i}{j}" for j in range(5)] for i in range(3)}
    links = {"https://s.test/": list(lists), **lists} | {
        t: ["https://s.test/"] for ts in lists.values() for t in ts
    }
    return {url: "".join(f'<a href="{to}">x</a>' for to in targets) for url, targets in links.items()}


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpora")
    site = pages()
    (folder / "page_types.tsv").write_text(TYPES)
    (folder / "s.warc.gz").write_bytes(
        b"".join(gzip.compress(record(url, http(body.encode())), mtime=0) for url, body in site.items())
    )
    labels = [f"{url}\t{'list' if 'list' in url else 'thread'}\n" for url in site if url != "https://s.test/"]
    (folder / "s.labels.tsv.gz").write_bytes(gzip.compress(("url\tpage_type\n" + "".join(labels)).encode()))
    return folder


@pytest.fixture(scope="module")
def measured(corpora: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The text of a baseline of that site, as `--update` wrote it."""
    path = tmp_path_factory.mktemp("measured") / "baseline.json"
    assert gate(corpora, path, "--update")[0] == 0
    return path.read_text()


@pytest.fixture
def baseline(measured: str, tmp_path: Path) -> Path:
    path = tmp_path / "baseline.json"
    path.write_text(measured)
    return path


def gate(corpora: Path, baseline: Path, *options: str) -> tuple[int, str]:
    out = StringIO()
    args = ["--corpora", str(corpora), "--baseline", str(baseline), "--workers", "1", *options]
    code = main(args, Console(file=out, width=120))
    return code, out.getvalue()


def claim(baseline: Path, value: float, name: str = BREADTH_FIRST) -> str:
    """Have the baseline say that a figure was another one; return the text."""
    data = json.loads(baseline.read_text())
    data["figures"][name] = {"value": value, "sd": 0.0, "seeds": 1}
    baseline.write_text(json.dumps(data))
    return baseline.read_text()


def test_a_baseline_names_figures_oracles_and_the_digests_of_what_was_read(baseline: Path) -> None:
    found = read_baseline(baseline)
    # 19 pages, budget 4: breadth first fetches the entry and the three lists, none of them wanted.
    assert found.figures[BREADTH_FIRST] == Figure(0.0, 0.0, 1)
    assert found.figures["s:user_content:feedback:harvest"].seeds == 3
    assert "s:target:thread:none:source_target" in found.figures
    # The oracle fetches the entry, a list and two threads; 15 fetches are the entry, three lists, 11 threads.
    assert found.oracles["s:user_content:none:oracle_greedy"] == 0.5
    assert found.oracles["s:target:thread:none:oracle_greedy"] == pytest.approx(11 / 15, abs=1e-6)
    assert found.inputs.keys() == {"protocol", "page_types.tsv", "s.warc.gz", "s.labels.tsv.gz"}


def test_a_browse_log_beside_the_sites_is_measured_too(corpora: Path, tmp_path: Path) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    visits = [
        f"{(start + timedelta(days=day, minutes=n)).isoformat()}\tc{n}\thttps://s.test/t0{page}\t-\n"
        for day in range(40)
        for page in range(5)
        for n in range(5 - page)
    ]
    (tmp_path / "s.log.tsv.gz").write_bytes(gzip.compress("".join(visits).encode()))
    path = tmp_path / "baseline.json"
    assert gate(corpora, path, "--update", "--logs", str(tmp_path))[0] == 0
    found = read_baseline(path)
    assert found.figures["s:visits:log:behavior_fetch"].value == 1.0
    assert found.figures["s:visits:log:breadth_first"].value < 0.5
    assert 0.0 < found.figures["s:links:log:behavior_discovery"].value <= 1.0
    assert "s.log.tsv.gz" in found.inputs


def test_nothing_lost_is_0_a_loss_is_1_and_shown(corpora: Path, baseline: Path) -> None:
    code, out = gate(corpora, baseline)
    assert (code, "0 fell" in out) == (0, True)
    before = claim(baseline, 0.25)
    code, out = gate(corpora, baseline)
    assert code == 1
    assert "Losses beyond the band" in out
    assert f"{BREADTH_FIRST}" in out
    assert "-0.250" in out
    assert baseline.read_text() == before


def test_an_update_refuses_a_loss_and_writes_nothing_and_takes_it_with_a_reason(
    corpora: Path, baseline: Path
) -> None:
    before = claim(baseline, 0.25)
    code, out = gate(corpora, baseline, "--update")
    assert (code, "needs --accept-loss" in out) == (2, True)
    assert baseline.read_text() == before
    options = ("--update", "--accept-loss", BREADTH_FIRST, "--because", "counted wrongly")
    assert gate(corpora, baseline, *options)[0] == 0
    (loss,) = read_baseline(baseline).lowered
    assert (loss.figure, loss.before, loss.after, loss.because) == (
        BREADTH_FIRST,
        0.25,
        0.0,
        "counted wrongly",
    )


def test_other_inputs_are_refused_by_name(corpora: Path, baseline: Path) -> None:
    data = json.loads(baseline.read_text())
    data["inputs"]["s.labels.tsv.gz"] = "0" * 64
    baseline.write_text(json.dumps(data))
    code, out = gate(corpora, baseline)
    assert code == 2
    assert "refused: s.labels.tsv.gz: is not what the baseline was measured on" in out
    options = ("--update", "--new-inputs", "--because", "labels were corrected")
    assert gate(corpora, baseline, *options)[0] == 0
    assert read_baseline(baseline).other_inputs[0].because == "labels were corrected"


def test_without_sites_it_is_skipped_in_one_line(tmp_path: Path) -> None:
    code, out = gate(tmp_path / "none", tmp_path / "no-baseline.json")
    assert code == 0
    assert out.startswith(f"quality: skipped, no labelled sites in {tmp_path / 'none'}\n")


@pytest.mark.parametrize("name", sorted(plans.WITHOUT_RANDOMNESS & set(builtin())))
def test_policies_that_run_once_order_the_same_whatever_the_seed(corpora: Path, name: str) -> None:
    (listed,) = sites_of(corpora)
    stored = prepare_site([SiteSource([listed.archive], listed.labels)], workers=1)
    experiment = Experiment(stored, ReplayProtocol(budget="100%"))
    task = Task("user_content", dict.fromkeys(experiment.facts, ""))
    runs = [experiment.run(Case(task, "none", read_policy(name), seed)) for seed in (1, 2)]
    stored.blobs.close()
    assert runs[0].order_digest == runs[1].order_digest
    assert runs[0].fetched == 19


def run(task: str, seed: int, curve: tuple[int, ...], recall: float) -> RunResult:
    return RunResult(
        site="s", task=task, mode="none", policy="harvest", seed=seed, start="u", budget=10,
        fetched=len(curve), seconds=0.0, metrics={"valid_ratio": 1.0, "recall": recall}, curve=curve,
        n_reachable=40, n_wanted=20, order_digest=str(seed),
    )  # fmt: skip


def test_figures_are_means_and_sample_deviations_over_seeds() -> None:
    curves = [(1, 2, 3, 4), (1, 2, 3, 4, 5), (1, 2, 3, 4, 5, 6)]
    content = [run("user_content", seed, curve, 0.0) for seed, curve in enumerate(curves)]
    target = [run("target:t", seed, (1,), recall) for seed, recall in enumerate((0.1, 0.1))]
    found = figures_of([*content, *target]).figures
    assert found["s:user_content:none:harvest"] == Figure(0.5, 0.1, 3)
    assert found["s:target:t:none:harvest"] == Figure(0.1, 0.0, 2)
