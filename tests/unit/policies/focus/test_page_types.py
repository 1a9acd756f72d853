"""Page types from margins, and the weights that come with the package."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.errors import NotFound
from linkscore_scoring.features.html import extract
from linkscore_scoring.features.layout.signals import SIGNALS
from linkscore_scoring.policies.focus.page_types import (
    LinearSide,
    PageType,
    PageTypeModel,
    load_page_types,
    variants,
)

N = len(SIGNALS)


def side(first: float, bias: float, second: float = 0.0) -> LinearSide:
    return LinearSide(np.array([first, second]), bias, 2.0, 0.0)


MODEL = PageTypeModel(np.array([1.0, 0.0]), np.array([2.0, 1.0]), side(1.0, -0.5), side(-1.0, -0.5, 1.0))


def test_a_margin_is_the_dot_product_of_standard_signals_plus_bias() -> None:
    assert MODEL.classify([5.0, 0.0]) == (PageType.INDEX, (1.5, -2.5))
    assert MODEL.classify([-3.0, 0.0]) == (PageType.THREAD, (-2.5, 1.5))


def test_of_two_positive_margins_the_larger_decides() -> None:
    assert MODEL.classify([3.0, 3.0]) == (PageType.THREAD, (0.5, 1.5))
    assert MODEL.classify([3.0, 2.0]) == (PageType.INDEX, (0.5, 0.5))


def test_signals_are_clipped_at_four_deviations() -> None:
    assert MODEL.classify([1e9, 0.0])[1] == (3.5, -4.5)


def test_confidence_is_the_calibrated_probability_of_the_kind() -> None:
    assert MODEL.confidence((1.0, -9.0)) == pytest.approx(1 / (1 + np.exp(-2.0)))
    assert MODEL.confidence((0.0, 0.0)) == pytest.approx(0.25)
    assert MODEL.confidence((-9.0, 0.5)) == pytest.approx(1 / (1 + np.exp(-1.0)))


def test_every_model_of_the_package_fits_the_signals() -> None:
    assert len(variants()) >= 6
    assert {len(load_page_types(name).mean) for name in ["", *variants()]} == {N}


def test_an_unknown_variant_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(NotFound, match=r"forum_phpbb.*got 'nosuch'"):
        load_page_types(without="nosuch")


def test_plain_pages_are_told() -> None:
    rows = "".join(
        f"<li><h3><a href=/t/{n}>A title of some words {n}</a></h3><p>Ann 2024-01-{30 - n} 3 replies</p></li>"
        for n in range(15)
    )
    posts = "".join(
        f"<div class=post id=p{n}><p><a href=/user/{n}>Ann</a> <a href=#p{n}>2024-01-{n + 10}</a></p>"
        f"<div>{'Words of a post, as they come. ' * 9}</div><a href=/r/{n}>Reply</a></div>"
        for n in range(8)
    )
    pages = {
        PageType.INDEX: f"<h1>Board</h1><ul>{rows}</ul>",
        PageType.THREAD: f"<h1>A title of some words</h1>{posts}<form><textarea></textarea></form>",
        PageType.OTHER: "<h1>Log in</h1><form><input name=a><input name=b></form>",
    }
    model = load_page_types()
    for kind, body in pages.items():
        layout = extract(f"<body>{body}</body>".encode(), url="http://a.test/x", layout=True).layout
        assert layout is not None
        assert model.classify(layout)[0] is kind
