"""Compare the wire contract with the last release; --release makes it the baseline of the next comparison.

buf exits 100 on a break and 1 when it could not compare: both fail, and so does a missing baseline.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

_BASELINE = Path("proto/released.binpb")


def main() -> int:
    """Compare, or write the baseline; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("buf", type=Path, help="path of buf")
    parser.add_argument("--release", action="store_true")
    given = parser.parse_args()
    buf, baseline = str(given.buf.absolute()), str(_BASELINE.absolute())
    if given.release:
        command = [buf, "build", "--exclude-source-info", "-o", baseline]
    else:
        command = [buf, "breaking", "--against", baseline]
    return 1 if subprocess.run(command, cwd=_BASELINE.parent, check=False).returncode else 0


if __name__ == "__main__":
    sys.exit(main())
