"""What the command line settles before anything reads it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_NUMPY = """
import os, sys
import linkscore_cli.__main__ as command

sys.argv = ["linkscore", "--version"]
try:
    command.main()
except SystemExit:
    import numpy
print(len(os.listdir("/proc/self/task")))
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are listed by /proc")
@pytest.mark.parametrize(("given", "threads"), [({}, 1), ({"OPENBLAS_NUM_THREADS": "2"}, 2)])
def test_products_of_matrices_start_no_threads_unless_the_environment_says_so(
    given: dict[str, str], threads: int
) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    got = subprocess.run(
        [sys.executable, "-c", _NUMPY], env=environment | given, capture_output=True, text=True, check=True
    )
    assert got.stdout.splitlines()[-1] == str(min(threads, os.cpu_count() or 1))
