"""Hold the documentation to its style; `--table` prints the figures of each page instead.

Code blocks, tables, headings and targets of links do not count, and code in backticks is one word. A finding
is one line: ``file:line: rule: text``.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("docs/adr", "docs/start", "docs/guides", "docs/concepts", "docs/reference", "clients")
# Packages that npm installs, and what Maven builds, have pages of others.
NOT_OURS = ("node_modules", "target")
PAGES = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/development.md",
    "docs/find-your-way.md",
    "docs/glossary.md",
    "examples/README.md",
    "native/README.md",
    "research/README.md",
)

MAX_SENTENCE = 35  # words
MAX_PARAGRAPH = 89  # words
# Numbers in a hundred words, in pages that are read from top to bottom. httpx and scrapy have 0 to 2.
MAX_NUMBERS = 1.5
# Words a page, by the beginning of its path; the first that fits counts. Other pages have no limit.
MAX_WORDS = (
    ("README.md", 600),
    ("docs/reference/policies/index.md", 900),
    ("docs/reference/policies/", 300),
    ("docs/start/", 900),
    ("docs/guides/", 900),
    ("docs/concepts/", 900),
)
MAX_RELEASE = 300  # words of a release in CHANGELOG.md
READ_THROUGH = ("docs/start/", "docs/guides/", "docs/concepts/")

BANNED = {
    r"told nothing": "without labels",
    r"told|tells it": "given, shown, learned from",
    r"what waits?": "pending links, the queue",
    r"stands?": "is",
    r"anew": "again",
    r"whose text is whose": "ownership of text",
    r"puts? away|putting away": "evict",
    r"in earnest": "for real",
    r"zoo": "synthetic corpus",
    r"apaths?": "link path",
}
_BANNED = re.compile(rf"\b(?:{'|'.join(BANNED)})\b", re.IGNORECASE)
# "Of buckets worth the same take ...": the object in front of its verb.
_INVERTED = re.compile(r"(?:^|(?<=[.:;] ))Of (?!course)\S+[^.:;]*")
_NUMBER = re.compile(r"(?<![\w.-])\.?\d[\d.,]*")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')]*\s+(?=[\w\"'(\[])")
_ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|no|fig|al)\.", re.IGNORECASE)


@dataclass
class Block:
    """A paragraph, an item of a list, a heading or a row of a table."""

    kind: str
    line: int
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The words as a reader sees them."""
        return plain(" ".join(self.lines))


@dataclass
class Finding:
    """One breach of a rule."""

    page: str
    line: int
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.rule}: {self.text}"


def main() -> int:
    """Print findings, or the table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--table", action="store_true", help="print the figures of each page")
    parser.add_argument("pages", nargs="*", help="pages to look at instead of all")
    given = parser.parse_args()
    names = given.pages or pages(ROOT)
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in names}
    if given.table:
        print("| page | words | numbers per 100 words | longest paragraph | median sentence |")
        print("|---|---|---|---|---|")
        for name, text in texts.items():
            print(f"| {name} | {' | '.join(figures(text))} |")
        return 0
    found = [finding for name, text in texts.items() for finding in findings(name, text)]
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    return 1 if found else 0


def pages(root: Path) -> list[str]:
    """Return the pages that the rules are for."""
    below = [path.relative_to(root) for folder in FOLDERS for path in sorted((root / folder).rglob("*.md"))]
    return [*PAGES, *(path.as_posix() for path in below if not {*NOT_OURS} & {*path.parts})]


def findings(name: str, text: str) -> Iterator[Finding]:
    """Yield what a page does that its rules forbid."""
    found = list(blocks(text))
    for block in found:
        for word in _BANNED.findall(block.text):
            instead = next(new for old, new in BANNED.items() if re.fullmatch(old, word, re.IGNORECASE))
            yield Finding(name, block.line, f"say {instead}", word)
        if block.kind != "prose":
            continue
        for inverted in _INVERTED.findall(block.text):
            yield Finding(name, block.line, "put the subject first", inverted)
        for sentence in sentences(block.text):
            if (length := words(sentence)) > MAX_SENTENCE:
                yield Finding(name, block.line, f"sentence of {length} words", sentence)
        if (length := words(block.text)) > MAX_PARAGRAPH:
            yield Finding(name, block.line, f"paragraph of {length} words", block.text[:80])
    yield from _of_the_page(name, found)


def _of_the_page(name: str, found: list[Block]) -> Iterator[Finding]:
    prose = [block.text for block in found if block.kind == "prose"]
    length = sum(map(words, prose))
    most = next((most for start, most in MAX_WORDS if name.startswith(start)), length)
    if length > most:
        yield Finding(name, 1, f"page of {length} words", f"at most {most}")
    if name == "CHANGELOG.md":
        for heading, count in releases(found):
            if count > MAX_RELEASE:
                yield Finding(name, heading.line, f"release of {count} words", f"at most {MAX_RELEASE}")
    if name.startswith(READ_THROUGH) and numbers_per_100(prose) >= MAX_NUMBERS:
        rule = f"{numbers_per_100(prose):.1f} numbers in 100 words"
        yield Finding(name, 1, rule, ", ".join(n for text in prose for n in numbers(text)))


def blocks(text: str) -> Iterator[Block]:
    """Yield what is read of a page, without code and comments."""
    text = re.sub(r"<!--.*?-->", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)
    fence, block = "", Block("prose", 0)
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if fence:
            fence = "" if stripped == fence else fence
            continue
        if found := re.match(r"`{3,}|~{3,}", stripped):
            fence = found[0]
            stripped = ""
        kind = "heading" if stripped.startswith("#") else "row" if stripped.startswith("|") else "prose"
        item = re.sub(r"^(?:[-*+] |\d+\. |> |!!! \w+ ?)", "", stripped)
        begins = kind != block.kind or kind != "prose" or item != stripped
        if (not stripped or begins) and block.lines:
            yield block
            block = Block(kind, number)
        if stripped and not re.fullmatch(r"[|:\- ]+", stripped):
            if not block.lines:
                block = Block(kind, number)
            block.lines.append(item)
    if block.lines:
        yield block


def plain(text: str) -> str:
    """Return a text without markup: a link is its words, code in backticks the word Code."""
    text = re.sub(r"!\[[^]]*\]\([^)]*\)", "", text)
    text = re.sub(r"(`+).+?\1", "Code", text)
    text = re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", text)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>|\*\*|(?<!\w)[*_]|[*_](?!\w)", "", text)).strip()


def sentences(text: str) -> list[str]:
    """Return the sentences of a paragraph."""
    return [part for part in _SENTENCE_END.split(_ABBREVIATION.sub(r"\1", text)) if part.strip()]


def words(text: str) -> int:
    """Return how many words a text has."""
    return sum(any(map(str.isalnum, word)) for word in text.split())


def numbers(text: str) -> list[str]:
    """Return the numbers of a text; that of a decision or a release is a name."""
    return _NUMBER.findall(re.sub(r"\bADRs? \d+|\b\d+\.\d+\.\d+\b", "", text))


def numbers_per_100(texts: list[str]) -> float:
    """Return how many numbers come on a hundred words."""
    return 100 * sum(len(numbers(text)) for text in texts) / max(sum(map(words, texts)), 1)


def releases(found: list[Block]) -> list[tuple[Block, int]]:
    """Return each section of the second level with its words."""
    counted: list[tuple[Block, int]] = []
    for block in found:
        if block.kind == "heading" and block.lines[0].startswith("## "):
            counted.append((block, 0))
        elif block.kind == "prose" and counted:
            counted[-1] = (counted[-1][0], counted[-1][1] + words(block.text))
    return counted


def figures(text: str) -> tuple[str, str, str, str]:
    """Return words, numbers per 100 words, longest paragraph and median sentence of a page."""
    prose = [block.text for block in blocks(text) if block.kind == "prose"]
    lengths = [words(sentence) for paragraph in prose for sentence in sentences(paragraph)]
    longest = max(map(words, prose), default=0)
    median = statistics.median(lengths) if lengths else 0
    return str(sum(map(words, prose))), f"{numbers_per_100(prose):.1f}", str(longest), f"{median:g}"


if __name__ == "__main__":
    sys.exit(main())
