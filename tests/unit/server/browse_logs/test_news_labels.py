"""Tables of labelled pages are read, and one that cannot be used says why."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from linkscore_cli.logs import read_labels

TABLE = "url\tis_news\tbirth_day\nhttps://a.org/x\t1\t3\nhttps://a.org/y\tno\t4\n"


def test_labels_are_a_table_of_urls(tmp_path: Path) -> None:
    path = tmp_path / "labels"
    path.write_text(TABLE)
    assert read_labels(path) == {"https://a.org/x": True, "https://a.org/y": False}


def test_commas_part_columns_too(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text('is_news,url\nyes,"https://a.org/x,y"\n')
    assert read_labels(path) == {"https://a.org/x,y": True}


@pytest.mark.parametrize(
    ("raw", "rule"),
    [
        (b"", "must have the columns url and is_news"),
        (b"url\tnews\n", "must have the columns url and is_news"),
        (b"\xff\xfe", "must be text in UTF-8"),
        (b"url,is_news\nhttps://a.org/x,perhaps\n", "line 2: is_news must be 1 or 0, got 'perhaps'"),
    ],
)
def test_a_table_that_cannot_be_used_says_why(tmp_path: Path, raw: bytes, rule: str) -> None:
    path = tmp_path / "labels"
    path.write_bytes(raw)
    with pytest.raises(click.BadParameter, match=rule):
        read_labels(path)
