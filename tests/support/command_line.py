"""Runs `linkscore` in this process, with none of the variables of whoever runs the tests."""

from __future__ import annotations

import os

from click.testing import CliRunner, Result

from linkscore_cli.main import main


def run(*arguments: object, **environment: str) -> Result:
    """Return exit code and output, of both kinds, of a command line; the terminal is 200 columns wide."""
    clean = {name: None for name in os.environ if name.startswith("LINKSCORE_")}
    return CliRunner(env=clean | {"COLUMNS": "200"} | environment).invoke(main, [str(a) for a in arguments])
