"""Compare the wire contract with the last released one; a first release has nothing to break.

buf exits 100 on a break and 1 when it could not compare: both fail.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_RELEASED = Path("proto/released.binpb")


def main() -> int:
    """Compare; return the exit code."""
    buf = Path(sys.argv[1]).absolute()
    if not _RELEASED.exists():
        print("buf breaking: no released contract yet, nothing to compare with")
        return 0
    command = [str(buf), "breaking", "--against", str(_RELEASED.absolute())]
    code = subprocess.run(command, cwd="proto", check=False).returncode
    return 1 if code else 0


if __name__ == "__main__":
    sys.exit(main())
