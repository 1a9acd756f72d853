"""Kinds of page flips."""

from __future__ import annotations

NO_FLIP, PAGE, NEXT, PREV, FIRST, LAST = range(6)
"""What a link flips to: a numbered page, or one named by its place in the order; 0 is no page flip."""

KIND_NAMES = ("", "PAGE", "NEXT", "PREV", "FIRST", "LAST")
