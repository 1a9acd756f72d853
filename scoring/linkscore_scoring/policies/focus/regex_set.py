"""Many regular expressions matched at once, in linear time whatever the text (RE2)."""

from __future__ import annotations

from collections.abc import Sequence

import re2

from linkscore_scoring.errors import InvalidInput

MAX_PATTERNS = 1_000
MAX_PATTERN_CHARS = 4_000
MAX_TOTAL_CHARS = 100_000
MAX_BYTES = 32 << 20
"""Most memory that the compiled set may take."""


class RegexSet:
    """A set of expressions, each of a type; a URL may be of several types.

    Parameters
    ----------
    patterns
        RE2 expressions, found anywhere in a URL unless they are anchored.
    types
        Type of each, as in `site.url_rules`; several patterns may be of one type.

    Raises
    ------
    InvalidInput
        A pattern is no RE2 expression (back references and look-around are none), or a bound is exceeded; the
        message names the pattern.

    Notes
    -----
    `match` and `rows` cost O(characters of the URL), in bounded memory; building O(characters of the
    patterns). The bounds keep the set far below `MAX_BYTES`, which a set may not reach while it matches.
    """

    def __init__(self, patterns: Sequence[str], types: Sequence[int]) -> None:
        _check_bounds(patterns)
        self.patterns, self.types = list(patterns), list(types)
        if len(self.patterns) != len(self.types):
            raise InvalidInput(
                f"must be one for each of {len(patterns)} patterns, got {len(types)}", field="types"
            )
        self._set = _compiled(self.patterns) if self.patterns else None

    def __len__(self) -> int:
        return len(self.patterns)

    def rows(self, url: str) -> list[int]:
        """Return the rows of the patterns that fit, ascending."""
        found = self._set.Match(url) if self._set is not None and "\x00" not in url else None
        return sorted(found) if found else []

    def match(self, url: str) -> list[int]:
        """Return every type of the patterns that fit, ascending, each once."""
        return sorted({self.types[row] for row in self.rows(url)})


def check_regex(pattern: str, field: str = "pattern") -> None:
    """Check that a pattern is an RE2 expression.

    Raises
    ------
    InvalidInput
        If it is not, with what RE2 says.
    """
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_BYTES
    try:
        re2.compile(pattern, options)
    except re2.error as exc:
        why = exc.args[0].decode("utf-8", "replace") if isinstance(exc.args[0], bytes) else exc
        raise InvalidInput(f"must be an RE2 expression ({why}), got {pattern[:200]!r}", field=field) from exc


def _check_bounds(patterns: Sequence[str]) -> None:
    if len(patterns) > MAX_PATTERNS:
        raise InvalidInput(f"must be at most {MAX_PATTERNS} patterns, got {len(patterns)}", field="patterns")
    for row, pattern in enumerate(patterns):
        if len(pattern) > MAX_PATTERN_CHARS:
            rule = f"must have at most {MAX_PATTERN_CHARS} characters, got {len(pattern)}"
            raise InvalidInput(rule, field=f"patterns[{row}]")
        check_regex(pattern, f"patterns[{row}]")
    if (total := sum(map(len, patterns))) > MAX_TOTAL_CHARS:
        raise InvalidInput(
            f"must have at most {MAX_TOTAL_CHARS} characters together, got {total}", field="patterns"
        )


def _compiled(patterns: Sequence[str]) -> re2.Set:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_BYTES
    compiled = re2.Set.SearchSet(options)
    try:
        for pattern in patterns:
            compiled.Add(pattern)
        compiled.Compile()
    except re2.error as exc:
        raise InvalidInput(
            f"must compile to at most {MAX_BYTES} bytes together ({exc})", field="patterns"
        ) from exc
    return compiled
