"""The Python examples of the documents run as they stand, against a real server."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def examples(document: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(encoding="utf-8"), flags=re.S)


def test_the_calls_of_the_reference_run(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    source = next(example for example in examples("docs/reference/clients.md") if "ingest_pages" in example)
    scope: dict[str, object] = {}
    exec(source.replace("localhost:7411", target), scope)
    assert scope["url"] == "http://shop.example/book/1"
    assert "links of shop.example" in capsys.readouterr().out


def test_the_policy_of_the_policy_guide_scores_links() -> None:
    from linkscore_scoring.policies.base import make_params
    from linkscore_scoring.types import links_of_page

    scope: dict[str, object] = {}
    exec(
        next(e for e in examples("docs/guides/a-policy-of-your-own.md") if "class ShortUrlsFirst" in e), scope
    )
    policy = scope["ShortUrlsFirst"]
    urls = ["http://a.test/long/path", "http://a.test/"]
    links = links_of_page(urls, [1, 2], [0, 0], [0, 0], ["", ""], source=-2, depth=1)
    scored = policy(make_params(policy, {})).score(links, None)
    assert scored.scores[1] > scored.scores[0]
    assert scored.buckets == ["l23", "l14"]
