"""Quality of clusterings by hand, and the `cluster` command on a stored site."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from linkscore_research.__main__ import main
from linkscore_research.clustering.quality import (
    Precision,
    fold_precision,
    large_classes,
    precision,
    quality,
    stratified_folds,
)
from linkscore_research.clustering.report import as_json, measure, run_cluster_report
from linkscore_research.clustering.sample import LabelledSample, draw_sample, site_name
from linkscore_scoring.clustering.base import Clusterer, Clustering
from linkscore_scoring.clustering.registry import CLUSTERERS
from linkscore_scoring.clustering.sample import SamplePage
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.features.bags import link_path_id
from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.hashing import hash64

POSTS, LISTS = 12, 8


def test_quality_by_hand() -> None:
    """Cluster 0 holds all 3 pages of a (F 6/7) and one of b (F 2/6); the other, an outlier, has F 2/3."""
    found = quality(["a", "a", "a", "b", "b"], [0, 0, 0, 0, -1])
    assert found.purity == pytest.approx(4 / 5)
    assert found.macro_f == pytest.approx((6 / 7 + 2 / 3) / 2)
    assert found.micro_f == pytest.approx((3 * 6 / 7 + 2 * 2 / 3) / 5)
    assert (found.clusters, found.classes) == (1, 2)


def test_nothing_has_no_quality() -> None:
    assert quality([], []).macro_f == 0.0


def test_small_classes_are_left_out() -> None:
    assert large_classes(["a", "b", "a", "a", "a"]) == [0, 2, 3, 4]


def test_precision_by_hand() -> None:
    """Cluster 0 stands for a, 1 for b; on test pages 0 hits one of two, 1 both, the outlier nothing."""
    train = (["a", "a", "b", "b", "c"], [0, 0, 0, 1, -1])
    test = (["a", "b", "b", "b", "c"], [0, 0, 1, 1, -1])
    found = precision(train, test)
    assert found.micro == pytest.approx(3 / 5)
    assert found.macro == pytest.approx((1 / 2 + 1 + 0) / 3)


def test_a_cluster_that_halves_stands_for_the_first_name() -> None:
    assert precision((["b", "a"], [0, 0]), (["a", "b"], [0, 0])).micro == 0.5


def test_folds_hold_every_page_once_and_every_class_evenly() -> None:
    classes = ["a"] * 8 + ["b"] * 4 + ["c"] * 5
    folds = list(stratified_folds(classes, folds=4, seed=3))
    assert sorted(i for fold in folds for i in fold) == list(range(17))
    assert [sum(classes[i] == "a" for i in fold) for fold in folds] == [2] * 4
    assert [sum(classes[i] == "b" for i in fold) for fold in folds] == [1] * 4
    assert folds == list(stratified_folds(classes, folds=4, seed=3))


def test_fold_precision_learns_from_the_other_folds_only(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, kind = [], CLUSTERERS["cosine_linkage"]
    fit = kind.fit

    def counted(self: Clusterer, sample: list[SamplePage]) -> Clustering:
        sizes.append(len(sample))
        return fit(self, sample)

    monkeypatch.setattr(kind, "fit", counted)
    tries = [PathTrie([-1, 0], ["html", tag], ["", ""], [0, 1]) for tag in ("img", "a") for _ in range(8)]
    pages = [SamplePage(f"/{i}", trie) for i, trie in enumerate(tries)]
    assert fold_precision(pages, ["x"] * 8 + ["y"] * 8, kind()) == Precision(1.0, 1.0)
    assert sizes == [12] * 4


def test_figures_of_a_sample_and_their_json() -> None:
    trie = PathTrie([-1, 0], ["html", "img"], ["", ""], [0, 1])
    sample = LabelledSample("s", [SamplePage(f"/{i}", trie) for i in range(6)], ["a"] * 5 + ["b"])
    found = measure("mine", CLUSTERERS["dbscan"](), sample, folds=0)
    assert (found.large.macro_f, found.large.classes, found.every.classes) == (1.0, 1, 2)
    assert found.every.macro_f == pytest.approx((10 / 11 + 2 / 7) / 2)
    assert (found.outliers, found.precision) == (0.0, None)
    assert json.loads(as_json([found], pages=6, seed=1))["figures"][0]["large"]["purity"] == 1.0


# The command


def record(url: str, body: str) -> bytes:
    block = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{body}".encode()
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return gzip.compress(head.encode() + block + b"\r\n\r\n")


@pytest.fixture
def blog(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A stored site of lists that link to posts, its labels and its page types."""
    bodies, types = {}, {}
    for n in range(LISTS):
        links = "".join(
            f'<li><a class="title" href="/post/{(n + i) % POSTS}">post</a></li>' for i in range(4)
        )
        bodies[f"list/{n}"] = f"<ul>{links}</ul><a href='https://elsewhere.test/'>out</a>"
    for n in range(POSTS):
        bodies[f"post/{n}"] = f"<div class=post><h1>{n}</h1>{'<p>text</p>' * 4}</div>"
    types = {name: name.partition("/")[0] for name in bodies}
    warc = tmp_path / "blog.warc.gz"
    warc.write_bytes(b"".join(record(f"https://b.test/{name}", body) for name, body in bodies.items()))
    labels = tmp_path / "blog.labels.tsv"
    rows = [f"https://b.test/{name}\t{kind}\n" for name, kind in types.items()]
    labels.write_text("url\tpage_type\n" + "".join(rows) + "https://b.test/gone\tpost\n")
    page_types = tmp_path / "page_types.tsv"
    page_types.write_text("site\tpage_type\ttemplate\nblog\tlist\tpage\nblog\tpost\tpage\n")
    return warc, labels, page_types


def run(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(main, ["cluster", *map(str, arguments)])


def test_a_sample_has_its_classes_and_the_links_of_its_own_host(blog: tuple[Path, Path, Path]) -> None:
    sample = draw_sample(*blog[:2])
    assert (sample.site, len(sample.pages)) == ("blog", LISTS + POSTS)
    assert sample.classes == ["list"] * LISTS + ["post"] * POSTS
    title = link_path_id("html/body/ul/li/a[title]"), link_path_id("html/body/ul/li/a")
    assert list(sample.pages[0].links) == [(*title, hash64(f"https://b.test/post/{i}")) for i in range(4)]
    assert (sample.pages[0].hash, title[0]) in sample.pages[LISTS].in_links


def test_the_seed_decides_which_pages_are_drawn(blog: tuple[Path, Path, Path]) -> None:
    def keys(seed: int) -> list[str]:
        return [page.key for page in draw_sample(*blog[:2], pages=8, seed=seed).pages]

    assert len(keys(1)) == 8
    assert keys(1) == keys(1) != keys(2)


def test_the_command_prints_a_row_a_clusterer_and_writes_json(
    blog: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    out = tmp_path / "figures.json"
    got = run(blog[0], "--labels", blog[1], "--json", out)
    assert got.exit_code == 0, got.output
    assert all(name in got.output for name in CLUSTERERS)
    figures = {row["clusterer"]: row for row in json.loads(out.read_text())["figures"]}
    assert list(figures) == list(CLUSTERERS)
    for name in ("cosine_linkage", "crescenzi_mdl", "irobot_regions"):
        assert figures[name]["large"]["macro_f"] == 1.0
        assert figures[name]["precision"] == {"micro": 1.0, "macro": 1.0}


def test_templates_take_the_place_of_page_types(blog: tuple[Path, Path, Path]) -> None:
    [row] = run_cluster_report(
        [blog[0]], [blog[1]], clusterers=["cosine_linkage"], page_types=blog[2], pages=2_000
    )
    assert (row.large.classes, row.large.clusters) == (1, 2)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--clusterer", "kmeans"], "'cosine_linkage', 'dbscan', 'crescenzi_mdl'"),
        (["--pages", "0"], "'--pages': 0 is not in the range"),
        (["--pages", "2001"], "--pages: must be in [1, 2000], got 2001"),
        (["--labels", "{labels}"], "--labels: must be one file, or one for each of 1 sites, got 2"),
    ],
)
def test_what_does_not_go_together_is_named(
    blog: tuple[Path, Path, Path], more: list[str], said: str
) -> None:
    got = run(blog[0], "--labels", blog[1], *[text.format(labels=blog[1]) for text in more])
    assert got.exit_code in (1, 2)
    assert said in got.output


def test_a_site_or_type_without_template_is_named(blog: tuple[Path, Path, Path]) -> None:
    blog[2].write_text("site\tpage_type\ttemplate\nblog\tlist\tpage\n")
    assert "'post'" in run(blog[0], "--labels", blog[1], "--page-types", blog[2]).output
    blog[2].write_text("site\tpage_type\ttemplate\nother\tlist\tpage\n")
    with pytest.raises(InvalidInput, match="blog"):
        run_cluster_report([blog[0]], [blog[1]], page_types=blog[2])


def test_without_the_lab_extra_the_command_says_so(
    blog: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "linkscore_research.clustering.report", None)
    got = run(blog[0], "--labels", blog[1])
    assert got.exit_code == 1
    assert "[lab]" in got.output


def test_a_site_is_called_like_its_archive() -> None:
    assert [site_name(Path(name)) for name in ("a/b.warc.gz", "c.warc")] == ["b", "c"]
