"""All SQL that both engines understand: `?` stands for a value, `blob` for the engine's type of bytes."""

from __future__ import annotations

FORMAT = 4
"""Number of the schema, of events and of facts: a store of another one is refused. States need none: one that
cannot be read is made of its events."""

TABLES = (
    "CREATE TABLE IF NOT EXISTS format (number BIGINT PRIMARY KEY)",
    """CREATE TABLE IF NOT EXISTS shard (
        id BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE, owner BIGINT NOT NULL, epoch BIGINT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS event (
        shard BIGINT NOT NULL, seq BIGINT NOT NULL, site BIGINT NOT NULL, id TEXT NOT NULL,
        body {blob} NOT NULL, PRIMARY KEY (shard, seq))""",
    "CREATE INDEX IF NOT EXISTS event_of_site ON event (shard, site, seq)",
    """CREATE TABLE IF NOT EXISTS site (
        shard BIGINT NOT NULL, site BIGINT NOT NULL, name TEXT NOT NULL, seq BIGINT NOT NULL,
        facts {blob} NOT NULL, size BIGINT NOT NULL, state {blob} NOT NULL, PRIMARY KEY (shard, site))""",
    """CREATE TABLE IF NOT EXISTS core (
        shard BIGINT PRIMARY KEY, seq BIGINT NOT NULL, state {blob} NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS dictionary (
        shard BIGINT NOT NULL, number BIGINT NOT NULL, body {blob} NOT NULL, PRIMARY KEY (shard, number))""",
    "CREATE TABLE IF NOT EXISTS secret (name TEXT PRIMARY KEY, body {blob} NOT NULL)",
    """CREATE TABLE IF NOT EXISTS server (
        id BIGINT PRIMARY KEY, address TEXT NOT NULL, session BIGINT NOT NULL,
        beat DOUBLE PRECISION NOT NULL)""",
)
"""Of `event` and `site`, `site` is the number of a site within its shard, 0 that of all sites.

A site's row is there from its first event on. Who numbers two events alike is refused by the key of `event`:
of two processes that take a shard for their own, one goes on. What is written of an erased shard has no
number, which no table takes: so who has it open can write nothing of it. The number of a shard is drawn: none
is that of one erased before, which some server may believe to have.
"""

FORMAT_OF = "SELECT number FROM format"
PUT_FORMAT = "INSERT INTO format VALUES (?) ON CONFLICT DO NOTHING"

HIDDEN = "~"
"""Before the name of a shard that is being imported."""
SHARDS = "SELECT name FROM shard WHERE substr(name, 1, 1) <> '~'"
RENAME_SHARD = "UPDATE shard SET name = ? WHERE name = ?"
SHARD_OF = "SELECT id FROM shard WHERE name = ?"
SHARD_IDS = "SELECT id FROM shard"
PUT_SHARD = "INSERT INTO shard VALUES (?, ?, ?, 0)"
DELETE_SHARD = (
    "DELETE FROM shard WHERE id = ?",
    "DELETE FROM site WHERE shard = ?",
    "DELETE FROM core WHERE shard = ?",
    "DELETE FROM dictionary WHERE shard = ?",
)
SHARDS_WITH_EVENTS = "SELECT DISTINCT shard FROM event"
DELETE_EVENTS = "DELETE FROM event WHERE shard = ? AND seq <= ?"
SHARD_BYTES = """
SELECT coalesce(sum(length(body)), 0) FROM event WHERE shard = ?
UNION ALL SELECT coalesce(sum(size), 0) FROM site WHERE shard = ?
"""

PUT_EVENT = "INSERT INTO event VALUES ((SELECT id FROM shard WHERE id = ?), ?, ?, ?, ?)"
FIRST_SEQ = "SELECT min(seq) FROM event WHERE shard = ?"
LAST_SEQ = "SELECT max(seq) FROM event WHERE shard = ?"
EVENTS = "SELECT seq, site, id, body FROM event WHERE shard = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
EVENTS_OF_SITE = """
SELECT seq, site, id, body FROM event WHERE shard = ? AND site = ? AND seq > ? AND seq <= ?
UNION ALL SELECT seq, site, id, body FROM event WHERE shard = ? AND site = 0 AND seq > ? AND seq <= ?
ORDER BY seq LIMIT ?
"""
"""Of the site and of all sites: with `site IN (?, 0)` SQLite goes through all events of the shard instead."""
IDS = "SELECT id FROM event WHERE shard = ? AND id <> '' ORDER BY seq DESC LIMIT ?"

NEW_SITE = "INSERT INTO site VALUES ((SELECT id FROM shard WHERE id = ?), ?, ?, 0, ?, 0, ?)"
PUT_SITE = """
INSERT INTO site VALUES ((SELECT id FROM shard WHERE id = ?), ?, ?, ?, ?, ?, ?) ON CONFLICT (shard, site)
DO UPDATE SET seq = excluded.seq, facts = excluded.facts, size = excluded.size, state = excluded.state
WHERE excluded.seq > site.seq
"""
SITE_NAMES = "SELECT site, name FROM site WHERE shard = ?"
SITES = """
SELECT site, name, seq, facts, size FROM site WHERE shard = ? AND site > ? ORDER BY site LIMIT ?
"""
WHOLE_SITES = """
SELECT site, name, seq, facts, size, state FROM site WHERE shard = ? AND site > ? ORDER BY site LIMIT ?
"""
SITE = "SELECT name, seq, facts, state FROM site WHERE shard = ? AND site = ?"
BEHIND = """
SELECT site.name, count(*) FROM site JOIN event ON event.shard = site.shard AND event.site = site.site
WHERE site.shard = ? AND event.seq > site.seq GROUP BY site.site, site.name ORDER BY site.site
"""

CORE = "SELECT seq, state FROM core WHERE shard = ?"
PUT_CORE = """
INSERT INTO core VALUES ((SELECT id FROM shard WHERE id = ?), ?, ?) ON CONFLICT (shard)
DO UPDATE SET seq = excluded.seq, state = excluded.state WHERE excluded.seq > core.seq
"""

DICTIONARIES = "SELECT number, body FROM dictionary WHERE shard = ?"
PUT_DICTIONARY = """
INSERT INTO dictionary VALUES ((SELECT id FROM shard WHERE id = ?), ?, ?) ON CONFLICT DO NOTHING
"""

ORDER = (NEW_SITE, PUT_DICTIONARY, PUT_EVENT, PUT_SITE, PUT_CORE)
"""In which a commit writes."""

KEY_OF = "SELECT body FROM secret WHERE name = ?"
PUT_KEY = "INSERT INTO secret VALUES (?, ?) ON CONFLICT DO NOTHING"
