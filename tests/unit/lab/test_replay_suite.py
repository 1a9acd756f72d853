"""Suites: read from TOML, made from options; bad ones refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from linkscore_lab.datasets.relevance import ByType, ByUrl
from linkscore_lab.replay.command import suite_of
from linkscore_lab.replay.policies import read_policy
from linkscore_lab.replay.suite import read_suite
from linkscore_scoring.errors import InvalidInput
from support.replay_sites import shop

NO_OPTIONS: dict[str, Any] = {
    "archives": (), "suite": None, "labels": None, "relevant": "", "relevant_url": "",
    "structured_data": "", "wanted_tag": "", "feedback_file": None, "targets": (), "policies": (),
    "budget": None, "seeds": None,
    "starts": None, "examples": None, "feedback": False, "delay": None, "share": None, "every": None,
    "clusterer": None, "paper": False, "free_sampling": False, "warm_start": (), "bounds": (),
}  # fmt: skip


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_values_of_a_site_win_over_those_of_the_suite(tmp_path: Path) -> None:
    text = """
modes = ["none"]
policies = "opic"
budget = 10
[[site]]
warc = ["a.warc.gz", "b.warc.gz"]
relevant_url = "/item/"
modes = ["feedback", "none"]
"""
    suite = read_suite(write(tmp_path / "s.toml", text))
    (site,) = suite.sites
    assert site.source.archives == [tmp_path / "a.warc.gz", tmp_path / "b.warc.gz"]
    assert isinstance(site.relevance, ByUrl)
    assert site.modes == ("feedback", "none")
    assert suite.protocol.budget == "10"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nix = 1\n[[site]]\nwarc = 'a'", "nix: is no key of a suite"),
        ("seeds = 1", r"at least one \[\[site\]\] is needed"),
        ("[[site]]\nlabels = 'a'", r"site\[0\].warc: is needed"),
        ("[[site]]\nwarc = 'a'\nfarm = 1", r"site\[0\].farm: is no key of a site"),
        ("[[site]]\nwarc = 'a'", "must be given in exactly one way, got none"),
        ("[[site]]\nwarc = 'a'\nrelevant = 'x'", r"site\[0\].labels: is needed"),
        ("modes = ['loud']\n[[site]]\nwarc = 'a'\nrelevant_url = 'x'", "must be among none, examples"),
        ("tasks = ['fun']\n[[site]]\nwarc = 'a'", "must be among user_content, target, got fun"),
        ("tasks = 'target'\n[[site]]\nwarc = 'a'", "targets: must name a page type"),
        ("seeds = 0\n[[site]]\nwarc = 'a'\nrelevant_url = 'x'", "seeds: must be at least 1, got 0"),
        ("share = 0.0\n[[site]]\nwarc = 'a'\nrelevant_url = 'x'", r"share: must be in \(0, 1\], got 0"),
        ("policies = ['nix']\n[[site]]\nwarc = 'a'\nrelevant_url = 'x'", "must be one of .*, got 'nix'"),
        ("[[site", "must be a readable TOML file"),
    ],
)  # fmt: skip
def test_a_bad_suite_is_refused_naming_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_suite(write(tmp_path / "s.toml", text))


def test_options_make_a_suite_of_one_site(tmp_path: Path) -> None:
    warc, labels = shop(tmp_path)
    suite = suite_of(
        NO_OPTIONS
        | {"archives": (warc,), "labels": labels, "relevant": "item, list", "examples": 2, "feedback": True}
        | {"policies": ("opic", "harvest:exploration=0.5"), "seeds": 3, "targets": ("item",)}
    )
    (site,) = suite.sites
    assert isinstance(site.relevance, ByType)
    assert site.relevance.types == {"item", "list"}
    assert (site.targets, site.modes) == (("item",), ("examples", "feedback"))
    assert [(p.name, p.params) for p in suite.policies] == [("opic", {}), ("harvest", {"exploration": 0.5})]
    assert (suite.seeds, suite.protocol.n_examples) == (3, 2)


def test_bounds_of_a_budget_are_given_to_the_crawl(tmp_path: Path) -> None:
    warc, labels = shop(tmp_path)
    given = {"archives": (warc,), "labels": labels, "relevant": "item"}
    suite = suite_of(NO_OPTIONS | given | {"bounds": ("max_fetches=9", "enough_coverage=0.5")})
    assert suite.protocol.limits == {"budget": {"max_fetches": 9, "enough_coverage": 0.5}}


def test_options_win_over_a_suite(tmp_path: Path) -> None:
    path = write(tmp_path / "s.toml", "seeds = 4\n[[site]]\nwarc = 'a'\nrelevant_url = 'x'")
    suite = suite_of(NO_OPTIONS | {"suite": path, "budget": "7", "feedback": True})
    assert (suite.seeds, suite.protocol.budget, suite.sites[0].modes) == (4, "7", ("feedback",))


def test_parameters_of_a_policy_are_json_or_text() -> None:
    policy = read_policy("source_target:alpha=0.5,multi_hop=false,example_url=http://s.test/?a=b")
    assert policy.params == {"alpha": 0.5, "multi_hop": False, "example_url": "http://s.test/?a=b"}
    assert policy.text.startswith("source_target:alpha")
