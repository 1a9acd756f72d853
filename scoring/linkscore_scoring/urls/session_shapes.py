"""What session ids look like, and what they are usually called."""

from __future__ import annotations

import re
from itertools import pairwise

LEAST_CHARS = 16

_ANY_ID = re.compile(r"[A-Za-z0-9_,.-]{8,128}")
_NUMERIC = re.compile(r"[A-Za-z0-9-]{3,64}")

_SURE = """
phpsessid jsessionid sessionid session_id sessid oscsid xtcsid zenid mscssid aspsessionid sessionkey
plsessionid wosid
"""
SURE_NAMES = {**dict.fromkeys(_SURE.split(), _ANY_ID), "cfid": _NUMERIC, "cftoken": _NUMERIC}
"""Names that are nothing else, with what their values look like."""

LIKELY_NAMES = frozenset({"s", "sid", "sess", "session", "ssid", "sessionhash", "hash_session"})
"""Names that are also those of searches and stories: their values must look random."""

_LEAST_TURNS = 4


def looks_random(value: str) -> bool:
    """Say whether a text looks drawn: 16 letters and digits or more, changing between them 4 times or more.

    Hyphens are passed over (UUIDs have them); slugs such as ``ten-cars-of-2016`` change too rarely.
    """
    if len(value) < LEAST_CHARS or len(value) > 128:
        return False
    plain = value.replace("-", "").replace("_", "")
    if len(plain) < LEAST_CHARS or not (plain.isascii() and plain.isalnum()):
        return False
    return sum(a.isdigit() != b.isdigit() for a, b in pairwise(plain)) >= _LEAST_TURNS
