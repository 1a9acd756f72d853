"""The settings of Scrapy in the documents name what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scrapy.utils.misc import load_object

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("document", ["docs/start/scrapy.md"])
def test_the_settings_name_what_there_is(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    scope: dict[str, object] = {}
    exec(next(example for example in examples if "SPIDER_MIDDLEWARES" in example), scope)
    assert all(
        load_object(name) for name in [*scope["SPIDER_MIDDLEWARES"], scope["SCHEDULER_PRIORITY_QUEUE"]]
    )
