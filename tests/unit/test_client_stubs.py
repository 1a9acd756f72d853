"""The stubs that Go and Node keep say what the contract says.

`make test-clients` generates them and compares, where the tools are there. This needs no tool: it sees a name
or a comment of proto/ that they lack.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRACT = sorted((ROOT / "proto/linkscore/v1").glob("*.proto"))
GO = ROOT / "clients/go/linkscorev1"
NODE = ROOT / "clients/node/src/gen/linkscore/v1"

COMMENT = re.compile(r"^\s*//\s?(.*\S)")
DECLARED = re.compile(r"^\s*(?:message|enum|service|rpc)\s+(\w+)")
FIELD = re.compile(r"^\s*(?:(?:optional|repeated)\s)?[\w.<>, ]+\s(\w+)\s=\s\d+")


def said(contract: Path) -> tuple[set[str], set[str]]:
    """The lines of the comments and the names that a file of the contract declares."""
    comments, names = set(), set()
    for line in contract.read_text(encoding="utf-8").splitlines():
        if match := COMMENT.match(line):
            # Generators keep comments of declarations; what a linter reads is no part of the contract.
            if not match[1].startswith("buf:lint"):
                comments.add(match[1].strip())
        elif match := DECLARED.match(line) or FIELD.match(line):
            names.add(match[1])
    return comments, names


def stub(folder: Path, contract: Path) -> str:
    return "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob(f"{contract.stem}[_.]*")))


@pytest.mark.parametrize("folder", [GO, NODE], ids=["go", "node"])
@pytest.mark.parametrize("contract", CONTRACT, ids=lambda path: path.stem)
def test_stubs_have_every_comment_and_name_of_the_contract(folder: Path, contract: Path) -> None:
    text = stub(folder, contract)
    comments, names = said(contract)
    assert comments
    assert names

    lagging = "make gen writes them anew"
    assert [comment for comment in sorted(comments) if comment not in text] == [], lagging
    assert [name for name in sorted(names) if name not in text and camel(name) not in text] == [], lagging


def camel(name: str) -> str:
    """`fetch_time` as Node writes it: `fetchTime`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
