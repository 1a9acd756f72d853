"""What counts as a loss, and how a baseline may be changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from linkscore_research.quality.baseline import (
    Baseline,
    Figure,
    Lowered,
    OtherInput,
    problems_of,
    read_baseline,
    write_baseline,
)
from linkscore_research.quality.verdict import judge, updated
from linkscore_scoring.errors import InvalidInput

COMMITTED = Path(__file__).parents[1] / "quality/baseline.json"
HARVEST, OPIC, NEW = (f"s:user_content:none:{name}" for name in ("harvest", "opic", "new"))
INPUTS = {"protocol": "p", "page_types.tsv": "t", "s.warc.gz": "a", "s.labels.tsv.gz": "b"}
BASELINE = Baseline(INPUTS, {HARVEST: Figure(0.9, 0.02, 3), OPIC: Figure(0.5)})
ON = "2026-01-02"


def figures(harvest: float, opic: float, **new: float) -> dict[str, Figure]:
    return {HARVEST: Figure(harvest), OPIC: Figure(opic)} | ({NEW: Figure(new["new"])} if new else {})


def update(now: dict[str, Figure], accepted: tuple[str, ...] = (), because: str = "") -> Baseline:
    verdict = judge(BASELINE, now, {"s"})
    return updated(BASELINE, verdict, now, accepted=accepted, because=because, on=ON)


def test_what_falls_by_the_band_of_the_baseline_holds_and_what_falls_by_more_is_lost() -> None:
    held = judge(BASELINE, figures(0.86, 0.49), {"s"})
    assert (held.losses, held.gains, held.held) == ((), (), 2)
    lost = judge(BASELINE, figures(0.859, 0.48), {"s"})
    assert [(c.name, round(c.by, 3)) for c in lost.losses] == [(HARVEST, -0.041), (OPIC, -0.02)]


def test_what_rises_beyond_the_band_is_a_gain_and_what_nobody_knew_is_new() -> None:
    verdict = judge(BASELINE, figures(0.93, 0.52, new=0.3), {"s"})
    assert [c.name for c in verdict.gains] == [OPIC]
    assert (verdict.new, verdict.held) == ((NEW,), 1)


def test_a_figure_that_is_not_measured_any_more_is_lost_unless_its_site_is_not_there() -> None:
    now = {HARVEST: Figure(0.9)}
    assert [c.name for c in judge(BASELINE, now, {"s"}).losses] == [OPIC]
    assert judge(BASELINE, {}, {"other"}).losses == ()


@pytest.mark.parametrize("because", ["", " \t"])
def test_an_accepted_loss_needs_a_reason(because: str) -> None:
    with pytest.raises(InvalidInput, match="because: is needed"):
        update(figures(0.9, 0.4), (OPIC,), because)


def test_an_accepted_loss_of_a_figure_that_is_gone_drops_it() -> None:
    new = update({HARVEST: Figure(0.9)}, (OPIC,), "the policy was removed")
    assert new.figures.keys() == {HARVEST}
    assert new.lowered == (Lowered(OPIC, 0.5, None, "the policy was removed", ON),)


def test_a_baseline_is_read_back_as_it_was_written_one_line_a_figure(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    lowered = (Lowered(OPIC, 0.6, 0.5, "so", ON), Lowered(NEW, 0.6, None, "gone", ON))
    changed = (OtherInput("s.warc.gz", "0", "a", "again", ON),)
    baseline = Baseline(INPUTS, BASELINE.figures, {"s:user_content:none:o": 1.0}, lowered, changed)
    write_baseline(path, baseline)
    assert read_baseline(path) == baseline
    assert sum(OPIC in line for line in path.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "format must be 1"),
        ({"figures": {OPIC: {"value": 1.5, "sd": 0, "seeds": 1}}}, "must be shares"),
        ({"figures": {OPIC: {"value": 0.5, "sd": 0, "seeds": 0}}}, "must be shares"),
        ({"figures": {"opic": {"value": 0.5, "sd": 0, "seeds": 1}}}, "must be named SITE:TASK:MODE:POLICY"),
        ({"figures": {OPIC: {"valu": 0.5}}}, "is no baseline"),
        ({"inputs": {}}, r"inputs\.s\.warc\.gz: is missing"),
        ({"oracles": {OPIC: float("nan")}}, "oracles must be finite"),
        ({"lowered": [[OPIC, 0.5, 0.4]]}, "is no baseline"),
        (
            {"lowered": [{"figure": OPIC, "before": 0.5, "after": 0.4, "because": " ", "on": ON}]},
            "must have a reason",
        ),
        (
            {"lowered": [{"figure": OPIC, "before": 0.4, "after": 0.5, "because": "so", "on": ON}]},
            "must be a loss",
        ),
        (
            {"other_inputs": [{"name": "a", "before": "0", "after": "1", "because": "", "on": ON}]},
            "must have a reason",
        ),
    ],
)
def test_a_file_that_is_no_baseline_is_refused(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    path = tmp_path / "b.json"
    write_baseline(path, BASELINE)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InvalidInput, match=message):
        read_baseline(path)


def test_the_committed_baseline_is_well_formed_and_every_loss_has_a_reason() -> None:
    baseline = read_baseline(COMMITTED)
    assert not list(problems_of(baseline))
    assert baseline.figures
    digests = [digest for name, digest in baseline.inputs.items() if name != "protocol"]
    assert all(len(digest) == 64 for digest in digests)
    assert all(loss.because.strip() for loss in baseline.lowered)
