"""Result files: what is written can be read, fits its schema, and a wrong file is told what is wrong."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import linkscore_lab.replay.results as results_module
from linkscore_lab.replay.results import (
    Input,
    Meta,
    RunResult,
    ScoreExplanation,
    order_digest,
    read_results,
    write_results,
)
from linkscore_scoring.errors import InvalidInput

SCHEMA = json.loads(Path(results_module.__file__).with_name("results.schema.json").read_text())
RUN = RunResult(
    site="s",
    task="target:thread",
    mode="feedback",
    policy="harvest:rate=0.5",
    seed=3,
    start="https://s.test/?q=ä",
    budget=4,
    fetched=3,
    seconds=1.5,
    metrics={"valid_ratio": 2 / 3, "coverage": None, "fetched": 3},
    curve=(0, 1, 2),
    n_reachable=5,
    n_wanted=4,
    order_digest=order_digest(["a", "b", "c"]),
    links_out_of_archive=7,
    cpu_seconds=0.25,
    composition={"thread": (0, 1, 2), "board": (1, 1, 1)},
    wanted_types=("thread",),
    explanations=(ScoreExplanation("https://s.test/t", 0.25, "b1", "leads to threads"),),
)
META = Meta("2026-01-02T03:04:05Z", {"s": Input("0" * 64, 2)}, "1.2.3")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "new" / "r.json"
    write_results(path, [RUN, replace(RUN, seed=4)], META)
    return path


def test_what_is_written_is_read_again(file: Path) -> None:
    results = read_results(file)
    assert results.meta == META
    assert results.runs == (RUN, replace(RUN, seed=4))
    assert [path.name for path in file.parent.iterdir()] == ["r.json"]


def test_what_is_written_fits_the_schema(file: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(file.read_text()))


def test_the_schema_has_the_fields_of_a_run() -> None:
    assert list(SCHEMA["$defs"]["run"]["properties"]) == [field.name for field in fields(RunResult)]


def test_no_runs_are_a_file_too(tmp_path: Path) -> None:
    write_results(tmp_path / "r.json", [], META)
    assert read_results(tmp_path / "r.json").runs == ()


def test_the_version_is_this_one_unless_said() -> None:
    assert Meta("2026-01-02T03:04:05Z").linkscore[0].isdigit()


def test_order_digest_by_hand() -> None:
    assert order_digest(["a", "b"]) == hashlib.sha256(b"a\nb\n").hexdigest()
    assert order_digest(["b", "a"]) != order_digest(["a", "b"]) != order_digest(["a\nb", ""])


def test_fields_nobody_knows_are_ignored_and_optional_ones_have_defaults(file: Path) -> None:
    data = json.loads(file.read_text())
    data["runs"] = [{**data["runs"][0], "mood": "good"}]
    for name in ("cpu_seconds", "composition", "explanations", "wanted_types", "links_out_of_archive"):
        del data["runs"][0][name]
    file.write_text(json.dumps(data))
    (run,) = read_results(file).runs
    assert (run.cpu_seconds, run.composition, run.explanations) == (0.0, {}, ())


def test_a_url_that_is_no_unicode_comes_back(tmp_path: Path) -> None:
    odd = replace(RUN, start="https://s.test/\udcff")
    write_results(tmp_path / "r.json", [odd], META)
    assert read_results(tmp_path / "r.json").runs == (odd,)


def test_a_number_that_is_not_finite_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="runs: must hold finite numbers"):
        write_results(tmp_path / "r.json", [replace(RUN, seconds=float("nan"))], META)
    assert not (tmp_path / "r.json").exists()


def put(data: Any, path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for name in parents:
        data = data[int(name)] if isinstance(data, list) else data[name]
    data[last] = value


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("format", 2, "format: must be 1, got 2"),
        ("created", 5, "created: must be a text, got 5"),
        ("runs", {}, "runs: must be a list"),
        ("inputs.s", [], "inputs.s: must be an object"),
        ("runs.1.fetched", -1, r"runs\[1\].fetched: must be a whole number of at least 0, got -1"),
        ("runs.1.seed", True, r"runs\[1\].seed: must be a whole number, got True"),
        ("runs.0.curve", [1], r"runs\[0\].curve: must have 3 entries, got 1"),
        ("runs.0.curve", [0, "1", 2], r"runs\[0\].curve\[1\]: must be a whole number"),
        ("runs.0.metrics", {"f": "high"}, r"runs\[0\].metrics.f: must be a number or null, got 'high'"),
        ("runs.0.composition", {"t": [1]}, r"runs\[0\].composition.t: must have 3 entries, got 1"),
        ("runs.0.explanations", [{}], r"runs\[0\].explanations\[0\].url: is missing"),
    ],
)
def test_a_wrong_field_is_named(file: Path, path: str, value: Any, message: str) -> None:
    data = json.loads(file.read_text())
    put(data, path, value)
    file.write_text(json.dumps(data))
    with pytest.raises(InvalidInput, match=f"r.json.{message}"):
        read_results(file)


@pytest.mark.parametrize("name", ["linkscore", "created", "inputs", "runs"])
def test_a_missing_field_is_named(file: Path, name: str) -> None:
    data = json.loads(file.read_text())
    del data[name]
    file.write_text(json.dumps(data))
    with pytest.raises(InvalidInput, match=f"r.json.{name}: is missing"):
        read_results(file)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"{", "must be JSON"), (b"\xff", "must be JSON"), (b"[]", "must be an object"), (b"NaN", "NaN is not")],
)
def test_a_file_of_something_else_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(InvalidInput, match=rf"x.json: .*{message}"):
        read_results(tmp_path / "x.json")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"none.json: cannot be read: No such file"):
        read_results(tmp_path / "none.json")
