"""The conformance suite of rule exporters.

Each check takes name and function; an AssertionError says what is wrong.
"""

from __future__ import annotations

import re
from dataclasses import replace

from linkscore_scoring.errors import NoRules
from linkscore_scoring.exporters.base import Export, SiteRules, TagPathRule
from linkscore_scoring.types import UrlRule

HOST = "forum.example"
MARK = "MARK"
BREAKOUTS = (
    f"\n+{MARK}",
    f"\r-{MARK}",
    f"\u2028{MARK}",
    f"\x85{MARK}",
    f'"{MARK}',
    f"'{MARK}",
    f"'''\n{MARK}",
    f"</value><value>{MARK}",
    f"--><bean>{MARK}",
    f"]]>{MARK}",
    f"&{MARK};",
    f"${{{MARK}}}",
    f"#{{{MARK}}}",
    f"\\n{MARK}",
    f"\\{MARK}",
    "\\",
)
"""Pieces of URLs, paths and sentences that end a line, a string or an element of some format."""

RULES = SiteRules(
    crawl="boards",
    host=HOST,
    policy="focus",
    state="goes by four expressions",
    revision=3,
    event_seq=120,
    seeds=(f"http://{HOST}/",),
    rules=(
        UrlRule("index", r"^https?://forum\.example/board/\d+/?$", 0.97, 30, 31, f"http://{HOST}/board/4"),
        UrlRule("thread", r"^https?://forum\.example/thread/[0-9]+$", 0.9, 200, 210),
    ),
    tag_paths=(TagPathRule("html/body/ul/li/a[topic]", "c1", "c2", 0.9, 0.8, 300),),
)


def check_exporter(name: str, export: Export) -> None:
    """Run every check on an exporter.

    Raises
    ------
    AssertionError
        Naming the first rule that is broken.
    """
    for check in EXPORTER_CHECKS:
        check(name, export)


def check_equal_rules_give_equal_files(name: str, export: Export) -> None:
    """No clock, no order of a set."""
    assert export(RULES) == export(replace(RULES)), name


def check_the_file_can_be_saved(name: str, export: Export) -> None:
    """A plain name, a media type, lines of printable ASCII, the last one ended."""
    file = export(RULES)
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", file.name), f"{name}: name {file.name!r}"
    assert re.fullmatch(r"[a-z]+/[a-z0-9.+-]+", file.media_type), f"{name}: media type {file.media_type!r}"
    _check_lines(name, file.text)


def check_the_file_says_where_it_comes_from(name: str, export: Export) -> None:
    """Host, crawl, policy, revision and event, unless the format has no room: StormCrawler's has none."""
    file = export(RULES)
    if name != "stormcrawler":
        for part in (HOST, "boards", "focus", "120"):
            assert part in file.text, f"{name}: {part} is missing"


def check_hostile_text_stays_text(name: str, export: Export) -> None:
    """Whatever URLs, expressions, paths and sentences hold, no line begins with it."""
    for piece in BREAKOUTS:
        text = export(hostile(piece)).text
        _check_lines(f"{name} with {piece!r}", text)
        assert not re.search(rf"^\W*{MARK}", text, re.MULTILINE), f"{name}: {piece!r} begins a line"


def check_nothing_learned_is_an_error(name: str, export: Export) -> None:
    """Neither a file that lets all pass nor one that lets nothing pass."""
    try:
        export(replace(RULES, rules=(), tag_paths=()))
    except NoRules as exc:
        message = str(exc)
    else:
        raise AssertionError(f"{name}: gives a file although nothing was learned")
    assert HOST in message, f"{name}: the message does not name the site"


def check_a_rule_that_cannot_be_written_is_named(name: str, export: Export) -> None:
    """It is in the file, or in the notes; never silently gone."""
    odd = UrlRule("thread", r"^https?://forum\.example/\pL+$")
    file = export(replace(RULES, rules=(*RULES.rules, odd)))
    assert "pL" in file.text or any("pL" in note for note in file.notes), f"{name}: a rule is silently gone"


def hostile(piece: str) -> SiteRules:
    """Return rules every text of which holds `piece`."""
    escaped = "".join(rf"\x{{{ord(char):x}}}" if not char.isalnum() else char for char in piece)
    rules = tuple(
        UrlRule(
            f"thread{piece}", rf"^https?://forum\.example/t/{pattern}$", 0.5, 1, 2, f"http://{HOST}/{piece}"
        )
        for pattern in (escaped, re.escape(piece))
    )
    path = f"html/body/ul{piece}/a[{piece}]".replace("\n", " ")
    return replace(
        RULES,
        crawl=f"c{piece}",
        state=f"state {piece}",
        seeds=(f"http://{HOST}/{piece}",),
        rules=(*RULES.rules, *rules),
        denied=(UrlRule(f"copy{piece}", rf"^https?://forum\.example/c/{escaped}$", 0.5, 1, 2, piece),),
        tag_paths=(TagPathRule(path, piece, piece, 0.5, 0.5, 2),),
    )


def _check_lines(name: str, text: str) -> None:
    odd = {char for char in text if not " " <= char <= "~" and char != "\n"}
    assert not odd, f"{name}: has {sorted(odd)!r}"
    assert text.endswith("\n"), f"{name}: the last line has no end"


EXPORTER_CHECKS = (
    check_equal_rules_give_equal_files,
    check_the_file_can_be_saved,
    check_the_file_says_where_it_comes_from,
    check_hostile_text_stays_text,
    check_nothing_learned_is_an_error,
    check_a_rule_that_cannot_be_written_is_named,
)
