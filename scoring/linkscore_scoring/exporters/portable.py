"""Regular expressions that mean the same everywhere: RE2 in, what Java, Python and JavaScript share out.

The expression is read token by token and printed again. What is not a known token cannot pass. The result is
printable ASCII without blanks, quotes, ``<``, ``>`` and ``&``, so no URL can end a line, a string or an
element of the file it is written to.
"""

from __future__ import annotations

import re
import string

Branch = list[str]
"""Parts of one alternative, each with its repetition."""

_PLAIN = frozenset(string.ascii_letters + string.digits + "!#%,/:;=@_~-")
_CLASSES = {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\x09\x0a\x0c\x0d\x20"}
_POSIX = {
    "alpha": "A-Za-z",
    "alnum": "0-9A-Za-z",
    "digit": "0-9",
    "lower": "a-z",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_CONTROL = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_MAX_DEPTH = 50  # groups within groups; a bound, as `re` reads them recursively

_CHAR = r"\\x\{[0-9A-Fa-f]{2,6}\}|\\x[0-9A-Fa-f]{2}|\\[aftnrv]|\\[^0-9A-Za-z]"
_TOKEN = re.compile(
    rf"(?P<char>{_CHAR}|[^\\^$.|?*+()\[])|(?P<anchor>\^|\$|\\A|\\z)|(?P<any>\.)|(?P<short>\\[dwsDWS])"
    rf"|(?P<set>\[\^?(?:\]|(?=[^\]]))(?:\\[\s\S]|\[:\w+:\]|[^\]\\])*\])"
    r"|(?P<open>\((?:\?:|\?P?<[A-Za-z_]\w*>|(?!\?)))|(?P<close>\))|(?P<bar>\|)"
)
_COUNT = re.compile(r"([*+?]|\{[0-9]+(?:,[0-9]*)?\})\??")
_MEMBER = re.compile(rf"\[:(\w+):\]|\\([dws])|({_CHAR}|[^\\])(?:-({_CHAR}|[^\\\]]))?")


class NotPortable(ValueError):
    """The expression has a part that not all engines read alike; the message names it."""


def branches(pattern: str) -> list[Branch]:
    """Return the alternatives of an expression, each in portable parts; cost O(length)."""
    groups: list[list[Branch]] = [[[]]]
    at = 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:
            raise NotPortable(f"no engine shares {pattern[at : at + 3]!r}")
        at = token.end()
        if token["open"]:
            groups.append([[]])
            if len(groups) > _MAX_DEPTH:
                raise NotPortable(f"groups nested deeper than {_MAX_DEPTH}")
            continue
        if token["bar"]:
            groups[-1].append([])
            continue
        part = _printed(token)
        if token["close"]:
            if len(groups) == 1:
                raise NotPortable(f"unbalanced ) at {at - 1}")
            part = f"(?:{joined(groups.pop())})"
        if count := _COUNT.match(pattern, at):
            at = count.end()
            if token["anchor"] or _COUNT.match(pattern, at):
                raise NotPortable("a repeated anchor" if token["anchor"] else "a repetition of a repetition")
            part += count[1]
        groups[-1][-1].append(part)
    if len(groups) > 1:
        raise NotPortable("the expression ends early: a group is open")
    try:
        re.compile(joined(groups[0]))
    except (re.error, OverflowError) as exc:
        raise NotPortable(str(exc)) from exc
    return groups[0]


def joined(alternatives: list[Branch]) -> str:
    """Return alternatives as one expression."""
    return "|".join("".join(branch) for branch in alternatives)


def literal(text: str) -> list[str]:
    """Return the parts of an expression that fits exactly `text`, one for each character."""
    return [_char(char) for char in text]


def _printed(token: re.Match[str]) -> str:
    text = token[0]
    if token["char"]:
        return _char(_meant(text))
    if token["anchor"]:
        return "^" if text in ("^", r"\A") else "$"
    if token["short"]:
        return f"[{'^' if text[1].isupper() else ''}{_CLASSES[text[1].lower()]}]"
    return _set(text) if token["set"] else text


def _set(text: str) -> str:
    negated = text[1] == "^"
    inner, at, printed = text[1 + negated : -1], 0, ""
    while at < len(inner):
        member = _MEMBER.match(inner, at)
        posix = member and member[1]
        if member is None or (posix and posix not in _POSIX):
            raise NotPortable(f"class {inner[at : at + 9]!r}")
        at = member.end()
        if posix or member[2]:
            printed += _POSIX[posix] if posix else _CLASSES[member[2]]
            continue
        low, high = (_meant(end) for end in (member[3], member[4] or member[3]))
        if high < low:
            raise NotPortable(f"range {low}-{high}")
        printed += _in_set(low) + (f"-{_in_set(high)}" if member[4] else "")
    return f"[{'^' if negated else ''}{printed}]"


def _meant(char: str) -> str:
    """Return the character that a token for one stands for."""
    if char.startswith("\\x"):
        number = int(char[2:].strip("{}"), 16)
        return chr(number) if number <= 0xFFFF else _beyond(number)
    return _CONTROL.get(char[-1], char[-1]) if len(char) > 1 else char


def _char(char: str) -> str:
    is_meta = char.isascii() and char in "\\.^$|?*+()[]{}"
    return char if char in _PLAIN else "\\" + char if is_meta else _code(char)


def _in_set(char: str) -> str:
    return char if char in _PLAIN and char not in "-~#" else _code(char)


def _code(char: str) -> str:
    number = ord(char)
    if number > 0xFFFF:
        _beyond(number)
    return f"\\x{number:02x}" if number < 0x80 else f"\\u{number:04x}"


def _beyond(number: int) -> str:
    raise NotPortable(f"U+{number:X} is beyond the basic plane")
