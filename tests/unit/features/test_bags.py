"""Normal forms of link paths."""

from __future__ import annotations

import pytest

from linkscore_scoring.features.types import normalise_link_path


@pytest.mark.parametrize(
    ("raw", "normal"),
    [
        ("html/a[post-12 b b]", "html/a[b post-#]"),
        ("html/a[p1 p2]", "html/a[p#]"),
        ("html/a[]", "html/a[]"),
        ("html/a", "html/a[]"),
        ("html/a[w-[1/2]]", "html/a[w-[#/#]]"),
    ],
)
def test_link_paths_are_normalised(raw: str, normal: str) -> None:
    assert normalise_link_path(raw) == normal
