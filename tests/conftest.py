from __future__ import annotations

import gc
import os
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import distribution
from typing import TYPE_CHECKING

# As the command line has it (linkscore_cli.__main__), for this process and those that `support.forked` forks.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Replays fork; gRPC must not wake its threads in processes that never use it. Read when grpc is imported.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

import grpc.aio
import pytest

gc.set_threshold(20_000, 20, 50)  # as the command line has it, too

if TYPE_CHECKING:
    from support.postgres import Postgres


def pytest_configure(config: pytest.Config) -> None:
    """Refuse an environment that lacks a command of pyproject.toml: its tests would fail one by one."""
    project = tomllib.loads((config.rootpath / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {(group, name) for group, names in project["entry-points"].items() for name in names}
    if not wanted <= {(entry.group, entry.name) for entry in distribution("linkscore").entry_points}:
        make = "python3 tools/make_venv.py .venv requirements/dev.lock --editable"
        raise pytest.UsageError(f"the environment is older than pyproject.toml; run: {make}")
    with suppress(ModuleNotFoundError):  # the environment of Python's crawlers has no hypothesis
        draw_examples(at_random=config.getoption("random"))
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_SaidAtOnce(config))
    # gRPC ends its asyncio thread with the last channel, and waits for it wherever the collector finds that
    # one: in the midst of any test. Held once more, it lives as long as the tests.
    grpc.aio.init_grpc_aio()


def draw_examples(*, at_random: bool) -> None:
    """Let hypothesis draw the same examples in each run, unless asked for others; none is held to a time."""
    import hypothesis

    slow = [hypothesis.HealthCheck.too_slow]
    hypothesis.settings.register_profile("same", derandomize=True, deadline=None, suppress_health_check=slow)
    hypothesis.settings.register_profile("random", deadline=None, suppress_health_check=slow)
    hypothesis.settings.load_profile("random" if at_random else "same")


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name what was packed by gzip: it holds the time, and the processes of one run must agree on names."""
    return "packed" if isinstance(val, bytes) and b"\x1f\x8b" in val else None


class _SaidAtOnce:
    """Prints a failure when it happens: a run that is ended from outside has said what it found."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            terminal = self._config.get_terminal_writer()
            terminal.line()
            terminal.line(f"{report.nodeid} ({report.when}) failed: {report.longreprtext[-3_000:]}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--random", action="store_true", help="property tests draw other examples each time")
    parser.addoption("--target", default="", help="host:port of a running server for the contract tests")
    parser.addoption("--groups", default=0, type=int, help="groups of the crawls that contract tests make")
    parser.addoption("--workers", default=1, type=int, help="processes of the server of contract tests")


@pytest.fixture(scope="session")
def database() -> Iterator[Postgres]:
    """A PostgreSQL without a care for power cuts, for all tests of a process."""
    from support import postgres  # which the environment of Python's crawlers cannot import

    if postgres.tools() is None:
        pytest.skip("no PostgreSQL here: apt-get install postgresql")
    with postgres.folder() as folder:
        server = postgres.Postgres(folder)
        server.start()
        yield server
        server.stop()
