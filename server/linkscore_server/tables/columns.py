"""The tables of a crawl and their columns, by the types of DuckDB.

docs/guides/tables.md says what they mean.
"""

from __future__ import annotations

from collections.abc import Mapping

TABLES: Mapping[str, Mapping[str, str]] = {
    "fetches": {
        "shard": "UTINYINT",
        "seq": "UBIGINT",
        "site": "VARCHAR",
        "url": "VARCHAR",
        "requested": "VARCHAR",
        "page": "UBIGINT",
        "source_page": "UBIGINT",
        "status_code": "INTEGER",
        "fetch_error": "VARCHAR",
        "fetched_at": "DOUBLE",
        "is_repeat": "BOOLEAN",
    },
    "pages": {
        "shard": "UTINYINT",
        "seq": "UBIGINT",
        "site": "VARCHAR",
        "url": "VARCHAR",
        "page": "UBIGINT",
        "canonical": "VARCHAR",
        "title": "VARCHAR",
        "charset": "VARCHAR",
        "nofollow": "BOOLEAN",
        "text_blocks": "UINTEGER",
        "text_chars": "UINTEGER",
        "anchor_chars": "UINTEGER",
        "links": "UINTEGER",
    },
    "links": {
        "shard": "UTINYINT",
        "seq": "UBIGINT",
        "position": "UINTEGER",
        "page": "UBIGINT",
        "url": "VARCHAR",
        "target": "UBIGINT",
        "anchor": "VARCHAR",
        "link_path": "VARCHAR",
        "rel": "VARCHAR",
    },
    "rewards": {
        "shard": "UTINYINT",
        "seq": "UBIGINT",
        "site": "VARCHAR",
        "url": "VARCHAR",
        "page": "UBIGINT",
        "source_page": "UBIGINT",
        "reward": "DOUBLE",
        "reported_at": "DOUBLE",
        "is_repeat": "BOOLEAN",
    },
    "arms": {
        "shard": "UTINYINT",
        "site": "VARCHAR",
        "url_pattern": "VARCHAR",
        "tag_path": "VARCHAR",
        "bucket": "VARCHAR",
        "value": "DOUBLE",
        "waiting": "UBIGINT",
        "fetched": "UBIGINT",
        "reported": "UBIGINT",
        "early_reward": "DOUBLE",
        "late_reward": "DOUBLE",
    },
    "templates": {
        "shard": "UTINYINT",
        "site": "VARCHAR",
        "template": "VARCHAR",
        "sample_pages": "UINTEGER",
        "crawled_pages": "UBIGINT",
        "judged": "UBIGINT",
        "reward": "DOUBLE",
        "dissimilarity": "DOUBLE",
        "min_depth": "UINTEGER",
        "example_url": "VARCHAR",
    },
    "decisions": {
        "shard": "UTINYINT",
        "site": "VARCHAR",
        "policy": "VARCHAR",
        "fetches": "UBIGINT",
        "decision": "VARCHAR",
        "reason": "VARCHAR",
        "found_share": "DOUBLE",
        "found_share_low": "DOUBLE",
        "found_share_high": "DOUBLE",
    },
    "judged": {
        "shard": "UTINYINT",
        "site": "VARCHAR",
        "page": "UBIGINT",
        "number": "UBIGINT",
        "reward": "DOUBLE",
    },
}
"""Columns by table. Times are seconds since the epoch; a page is named by the hash of its identity."""

OF_THE_STATE = frozenset({"arms", "templates", "decisions", "judged"})
"""Tables made of what the crawl knows; the others are in its log, event by event."""
