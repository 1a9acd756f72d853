"""The `linkscore` command, also as `python -m linkscore_cli`."""

from __future__ import annotations

import gc
import os
import sys

from linkscore_cli.extras import COMMANDS, commands_of, extra_of, missing_extra

_GC_OBJECTS = 20_000
"""New objects after which the collector looks for cycles; the interpreter's own number is 700."""


def main() -> None:
    """Run the command line; without click or rich it says which extra is missing."""
    # Read when grpc is imported: its C core would write plain lines between the JSON of a server's log.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    # Read when numpy is imported: products of learning are too small to share, and threads that could take a
    # part wait for the next one busily. With one thread learning takes a fifth less CPU, and no longer.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # What is imported stays: looking for cycles in it was a tenth of the CPU in which a server starts.
    gc.set_threshold(_GC_OBJECTS, 20, 50)
    try:
        from linkscore_cli.main import main as command
    except ModuleNotFoundError as exc:
        if (exc.name or "").startswith("linkscore"):
            raise
        found = commands_of(COMMANDS)
        extra = next((extra_of(found[name]) or "cli" for name in sys.argv[1:2] if name in found), "cli")
        sys.exit(f"linkscore: {missing_extra(extra, exc)}")
    command(prog_name="linkscore")


if __name__ == "__main__":
    main()
