"""Page type classifiers: the fit on toy data, weights of pages, figures, and a training on tiny sites."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from linkscore_research.page_types.command import run_training
from linkscore_research.page_types.examples import Example, find_sites, read_examples
from linkscore_research.page_types.generated import generated_pages
from linkscore_research.page_types.train import fit_platt, fit_svm, page_weights
from linkscore_scoring.features.layout.signals import SIGNALS
from linkscore_scoring.policies.focus.page_types import model_from
from support.replay_sites import write_labels, write_site

BLANK = Example("s", "t", "t", "OTHER", "http://s.test/", 1.0, (0.0,) * len(SIGNALS))


def test_one_signal_is_fitted_to_the_minimum() -> None:
    # pages at +1 and -1: w^2 / 2 + 2 x 2 (1 - w)^2 is least at w = 8 / 9
    weights, bias = fit_svm(np.array([[1.0], [-1.0]]), np.array([True, False]), np.ones(2), [1], cost=2.0)
    assert weights[0] == pytest.approx(8 / 9, abs=1e-4)
    assert bias == pytest.approx(0.0, abs=1e-4)


def test_calibration_rises_with_the_margin_and_is_even_at_the_border() -> None:
    slope, offset = fit_platt(
        np.array([-2.0, -1.0, 1.0, 2.0]), np.array([False, False, True, True]), np.ones(4)
    )
    assert slope > 1
    assert offset == pytest.approx(0.0, abs=1e-3)


def test_sites_and_kinds_count_alike_and_templates_by_the_root_of_their_pages() -> None:
    examples = [
        replace(BLANK, template="a", pages=81.0),
        replace(BLANK, template="b", pages=9.0),
        replace(BLANK, kind="INDEX", pages=25.0),
        replace(BLANK, kind="INDEX", pages=25.0),
    ]
    assert page_weights(examples).tolist() == pytest.approx([0.75, 0.25, 0.5, 0.5])


def test_generated_pages_are_always_the_same_and_of_all_kinds() -> None:
    pages = list(generated_pages(3))
    assert pages == list(generated_pages(3))
    assert Counter(kind for kind, *_ in pages).keys() == {"INDEX", "THREAD", "OTHER"}


def site(folder: Path, host: str) -> None:
    pages: dict[str, str] = {"/": "<h1>Home</h1>"}
    labels = {"/": "index"}
    for n in range(8):
        titles = "".join(
            f"<li><h3><a href=/t/{n}{i}>A title of words {i}</a></h3>Ann 2024-01-{28 - i}" for i in range(9)
        )
        posts = "".join(
            f"<div class=post><b>Ann</b> 2024-01-{i + 10}<p>{'Some words. ' * 20}</div>" for i in range(4)
        )
        pages |= {
            f"/b/{n}": f"<ul>{titles}</ul>",
            f"/t/{n}": f"<h1>Title</h1>{posts}",
            f"/x/{n}": "<p>Nothing",
        }
        labels |= {f"/b/{n}": "board", f"/t/{n}": "thread", f"/x/{n}": "stub"}
    write_site(folder / f"{host}.warc.gz", host, pages)
    write_labels(folder / f"{host}.labels.tsv", host, labels)
    plain = folder / f"{host}.labels.tsv"
    (folder / f"{host}.labels.tsv.gz").write_bytes(gzip.compress(plain.read_bytes()))


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    kinds = {"index": "ENTRY", "board": "INDEX", "thread": "THREAD", "stub": "OTHER"}
    rows = ["site\tpage_type\tpages\tkind\ttemplate\tuser_content\ttarget"]
    for host in ("a.test", "b.test"):
        site(tmp_path, host)
        rows += [f"{host}\t{name}\t8\t{kind}\t{name}\t0\t0" for name, kind in kinds.items()]
    (tmp_path / "page_types.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return tmp_path


def test_training_tells_the_pages_of_the_site_left_out_and_writes_the_same_bytes_again(corpora: Path) -> None:
    shown = StringIO()
    for name in ("one.json", "two.json"):
        plain = run_training(
            [corpora],
            out=corpora / name,
            report=True,
            workers=1,
            engines=2,
            console=Console(file=shown, width=200),
        )
    assert (corpora / "one.json").read_bytes() == (corpora / "two.json").read_bytes()
    assert json.loads((corpora / "one.json").read_text()) == plain
    assert list(plain["without"]) == ["a.test", "b.test"]
    examples = [e for e in read_examples(find_sites([corpora])[0], per_type=0) if e.kind != "ENTRY"]
    model = model_from(plain["without"]["a.test"])
    assert [model.classify(e.signals)[0].name for e in examples] == [e.kind for e in examples]
    assert "a.test: INDEX P 1.000 R 1.000" in shown.getvalue()
