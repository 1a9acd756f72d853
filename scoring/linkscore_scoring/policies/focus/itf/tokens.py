"""URLs cut into the tokens that ITF regexes are refined by."""

from __future__ import annotations

import re

SEPARATORS = "/?&.="
"""What a slug never runs over."""

SLUG_SIGNS = "-_%+~"
"""What a slug of the paper runs over, beside letters and digits."""

NARROW_SIGNS = ":;@"
"""Signs a slug leaves out unless the URLs it was learned from have them: ``Category:Ships`` is no article."""

_TOKEN = re.compile(r"[0-9]+|[^\W\d_]+|.", re.DOTALL)

_WHOLE_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+|[0-9]+|[^\W\d_]+|.", re.DOTALL)


def tokens_of(url: str) -> list[str]:
    """Return the maximal runs of digits and of letters of a URL, and every other character by itself."""
    return _TOKEN.findall(url)


def tokens_after_host(url: str) -> list[str]:
    """Return the tokens of a URL, scheme and host being the first; a run of escapes is one, as if letters."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return [f"{scheme}://{host}", *_WHOLE_ESCAPES.findall(slash + path)]


def is_number(token: str) -> bool:
    """Say whether a token is a run of digits."""
    return "0" <= token[0] <= "9"


def is_letters(token: str) -> bool:
    """Say whether a token is a run of letters, or of escapes."""
    return token[0].isalpha() or (token[0] == "%" and len(token) > 1)


def sorted_query(url: str) -> str:
    """Return a URL with its query pairs in order, nothing else changed."""
    address, mark, query = url.partition("?")
    return address + mark + "&".join(sorted(query.split("&")))
