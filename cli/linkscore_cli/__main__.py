"""The `linkscore` command, also as `python -m linkscore_cli`; says which extra is missing."""

from __future__ import annotations

import sys

_LAB_COMMANDS = {"demo", "replay", "suite", "compare", "cluster", "train"}


def main() -> None:
    """Run the command line."""
    try:
        from linkscore_cli import main as cli

        cli.main(prog_name="linkscore")
    except ModuleNotFoundError as exc:
        if (exc.name or "").startswith("linkscore"):
            raise
        extra = "lab" if _LAB_COMMANDS & set(sys.argv[1:2]) else "server"
        missing = f"needs the {extra} extra: pip install 'linkscore[{extra}]' (no module {exc.name!r})"
        sys.exit(f"linkscore: {missing}")


if __name__ == "__main__":
    main()
