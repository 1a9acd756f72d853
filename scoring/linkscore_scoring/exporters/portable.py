"""Regular expressions that mean the same everywhere: RE2 in, what Java, Python and JavaScript share out.

The expression is read and written anew, so what is not understood cannot pass, and no character of a URL can
end a line, a string or an element of the file it is written to: the result is printable ASCII without blanks,
quotes, ``<``, ``>`` and ``&`` standing for themselves.
"""

from __future__ import annotations

import re
import string

Branch = list[str]
"""Parts of one alternative, each with its repetition."""

_META = frozenset("\\.^$|?*+()[]{}")
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
_ANCHORS = {"A": "^", "z": "$"}
_MAX_DEPTH = 50  # groups within groups, a bound: the reader is recursive


class NotPortable(ValueError):
    """The expression has a part that not all engines read alike; the message names it."""


def branches(pattern: str) -> list[Branch]:
    """Return the alternatives of an expression, each in portable parts; cost O(length).

    `joined` they are an expression that all engines read as RE2 reads this one. Groups capture nothing any
    more, repetitions are greedy: which URLs fit does not depend on it.

    Raises
    ------
    NotPortable
        If it has no portable form, or `pattern` is no expression.
    """
    reader = _Reader(pattern)
    found = reader.alternatives(0)
    if reader.at < len(pattern):
        raise NotPortable(f"unbalanced ) at {reader.at}")
    try:
        re.compile(joined(found))
    except (re.error, OverflowError) as exc:
        raise NotPortable(str(exc)) from exc
    return found


def joined(alternatives: list[Branch]) -> str:
    """Return alternatives as one expression."""
    return "|".join("".join(branch) for branch in alternatives)


def literal(text: str) -> list[str]:
    """Return the parts of an expression that fits exactly `text`, one for each character.

    Raises
    ------
    NotPortable
        If `text` has characters beyond the basic plane, which engines count differently.
    """
    return [_char(char) for char in text]


def _char(char: str) -> str:
    if char in _PLAIN:
        return char
    if char in _META:
        return "\\" + char
    return _code(char)


def _code(char: str) -> str:
    number = ord(char)
    if number > 0xFFFF:
        raise NotPortable(f"U+{number:X} is beyond the basic plane")
    return f"\\x{number:02x}" if number < 0x80 else f"\\u{number:04x}"


def _in_class(char: str) -> str:
    return char if char in _PLAIN and char not in "-~#" else _code(char)


class _Reader:
    """Reads an RE2 expression from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def alternatives(self, depth: int) -> list[Branch]:
        if depth > _MAX_DEPTH:
            raise NotPortable(f"groups nested deeper than {_MAX_DEPTH}")
        found: list[Branch] = [[]]
        while self.at < len(self.text) and self._peek() != ")":
            if self._peek() == "|":
                self.at += 1
                found.append([])
            else:
                found[-1].append(self._part(depth))
        return found

    def _part(self, depth: int) -> str:
        atom = self._atom(depth)
        count = self._repetition()
        if count and atom in ("^", "$"):
            raise NotPortable("a repeated anchor")
        if count and self._repetition():
            raise NotPortable("a repetition of a repetition")
        return atom + count

    def _atom(self, depth: int) -> str:
        char = self._next()
        if char in "^$.":
            return char
        if char == "(":
            return self._group(depth)
        if char == "[":
            return self._class()
        if char == "\\":
            return self._escape()
        if char in "*+?":
            raise NotPortable(f"nothing to repeat at {self.at - 1}")
        return _char(char)

    def _group(self, depth: int) -> str:
        if self._peek() == "?":
            self._group_head()
        inner = joined(self.alternatives(depth + 1))
        self._next()
        return f"(?:{inner})"

    def _group_head(self) -> None:
        if self.text.startswith("?:", self.at):
            self.at += 2
            return
        for head in ("?P<", "?<"):
            end = self.text.find(">", self.at)
            if self.text.startswith(head, self.at) and self.text[self.at + len(head) : end].isidentifier():
                self.at = end + 1
                return
        raise NotPortable(f"group {self.text[self.at - 1 : self.at + 3]}")

    def _repetition(self) -> str:
        """Read a repetition, if one stands here, without the mark that it is lazy."""
        char = self._peek()
        if char and char in "*+?":
            self.at += 1
            count = char
        elif char == "{" and (count := self._counted()):
            self.at += len(count)
        else:
            return ""
        if self._peek() == "?":
            self.at += 1
        return count

    def _counted(self) -> str:
        end = self.text.find("}", self.at)
        low, comma, high = self.text[self.at + 1 : end].partition(",") if end > 0 else ("", "", "")
        is_number = low.isascii() and low.isdecimal() and (not high or (high.isascii() and high.isdecimal()))
        return f"{{{low}{comma}{high}}}" if is_number else ""

    def _escape(self) -> str:
        char = self._next()
        if char in _CLASSES:
            return f"[{_CLASSES[char]}]"
        if char.lower() in _CLASSES:
            return f"[^{_CLASSES[char.lower()]}]"
        if char in _ANCHORS:
            return _ANCHORS[char]
        return _char(self._escaped(char))

    def _escaped(self, char: str) -> str:
        """Return the character that an escape stands for."""
        if char in _CONTROL:
            return _CONTROL[char]
        if char == "x":
            return self._hexadecimal()
        if char.isascii() and not char.isalnum():
            return char
        raise NotPortable(f"escape \\{char}")

    def _hexadecimal(self) -> str:
        if self._peek() == "{":
            end = self.text.find("}", self.at)
            digits, self.at = self.text[self.at + 1 : end], end + 1
        else:
            digits, self.at = self.text[self.at : self.at + 2], self.at + 2
        if not 2 <= len(digits) <= 6 or not set(digits) <= set(string.hexdigits) or self.at > len(self.text):
            raise NotPortable("escape \\x without its digits")
        if int(digits, 16) > 0xFFFF:
            raise NotPortable(f"U+{digits} is beyond the basic plane")
        return chr(int(digits, 16))

    def _class(self) -> str:
        negated = self._peek() == "^"
        self.at += negated
        items = [self._class_item()]
        while self._peek() != "]":
            items.append(self._class_item())
        self.at += 1
        return f"[{'^' if negated else ''}{''.join(items)}]"

    def _class_item(self) -> str:
        if self.text.startswith("[:", self.at):
            return self._posix()
        char = self._next()
        if char == "\\" and self._peek() in _CLASSES:
            return _CLASSES[self._next()]
        low = self._escaped(self._next()) if char == "\\" else char
        if not (self._peek() == "-" and self._peek(1) not in ("]", "")):
            return _in_class(low)
        self.at += 1
        char = self._next()
        high = self._escaped(self._next()) if char == "\\" else char
        if high < low:
            raise NotPortable(f"range {low}-{high}")
        return f"{_in_class(low)}-{_in_class(high)}"

    def _posix(self) -> str:
        end = self.text.find(":]", self.at)
        name = self.text[self.at + 2 : end] if end > 0 else ""
        if name not in _POSIX:
            raise NotPortable(f"class [:{name}:]")
        self.at = end + 2
        return _POSIX[name]

    def _peek(self, ahead: int = 0) -> str:
        return self.text[self.at + ahead : self.at + ahead + 1]

    def _next(self) -> str:
        if self.at >= len(self.text):
            raise NotPortable("the expression ends early")
        self.at += 1
        return self.text[self.at - 1]
