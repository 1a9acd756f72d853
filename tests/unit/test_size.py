"""`tools/size.py`: no room grows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools" / "size.py"


def test_a_room_above_its_ceiling_is_red_and_ceilings_only_fall(tmp_path: Path) -> None:
    def size(*words: str) -> tuple[int, str]:
        command = [sys.executable, str(TOOL), "--root", str(tmp_path), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    def git(*words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b.test")
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    ceilings, room = tmp_path / "size.toml", tmp_path / "cli" / "room.py"
    room.parent.mkdir()
    git("init")
    git("commit", "--allow-empty", "--message", "begun")
    room.write_text('"""Says."""\n\n\ndef two() -> int:\n    """Say."""\n    return 2\n')
    ceilings.write_text("[cli]\nlines = 9\nstatements = 2\n")
    assert size() == (0, "")
    assert size("--lower")[0] == 0
    assert ceilings.read_text() == "[cli]\nlines = 6\nstatements = 2\n"
    git("add", "--all")
    git("commit", "--message", "six lines")

    room.write_text(room.read_text() + "\n\nTHREE = 3\n")
    code, said = size("--lower")
    assert (code, ceilings.read_text()) == (1, "[cli]\nlines = 6\nstatements = 2\n")
    assert "cli has 9 lines, its ceiling in size.toml is 6" in said
    assert "cli has 3 statements, its ceiling in size.toml is 2" in said

    ceilings.write_text("[cli]\nlines = 9\nstatements = 3\n")
    code, said = size()
    assert code == 1
    assert "the ceiling of lines of cli was 6 and is 9: say why" in said
    ceilings.write_text('[cli]\nlines = 9\nstatements = 3\nwhy = "three is a number too"\n')
    assert size() == (0, "")
