"""Run the tests of the clients: `make test-clients`, or `python tools/test_clients.py go node` for some.

Each language's own lint and tests, one after the other; then the scenarios that every client passes
(`linkscore_lab.conformance`), two drivers at a time. A language whose tools are missing, or whose packages
can be fetched from nowhere, is skipped, with one line that says so; so is what `--within` leaves no time
for. Ends with 1 if anything failed.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

# Drivers that are played with at once. Half of their time is one scenario that waits for a dead connection;
# more than two, and bodies of 60 MB meet deadlines on a machine of two cores (chosen, not measured).
SIDE_BY_SIDE = 2


@dataclass(frozen=True)
class Language:
    """How a client is tested.

    Attributes
    ----------
    tools
        Programs that must be there.
    folder
        Where everything is run, from the root of the repository.
    fetch
        Command that fetches the packages of others; nothing is tested where it fails.
    steps
        Commands that must succeed; they also build what `driver` starts.
    driver
        What `linkscore_lab.conformance` starts, in one go for each of the client's ways to call.
    """

    name: str
    tools: tuple[str, ...]
    folder: str
    fetch: tuple[str, ...]
    steps: tuple[tuple[str, ...], ...]
    drivers: tuple[tuple[str, ...], ...]

    @property
    def passed(self) -> str:
        """What is said when all is well."""
        return "tests and all scenarios pass" if self.drivers else "tests pass"


CHECK_GENERATED = (sys.executable, str(ROOT / "tools" / "check_generated.py"))
PYTHON_DRIVER = (sys.executable, str(ROOT / "tests/support/python_driver.py"))
JAVA_CLASSES = "target/classes:target/test-classes:$(cat target/classpath)"

LANGUAGES = (
    Language("python", (), ".", (), (), (PYTHON_DRIVER, (*PYTHON_DRIVER, "--aio"))),
    Language(
        "python crawlers",
        ("make",),
        ".",
        ("make", "--silent", ".venv-crawlers/.installed"),
        ((".venv-crawlers/bin/python", "-m", "pytest", "-q", "tests/crawlers"),),
        (),
    ),
    Language(
        "go",
        ("go",),
        "clients/go",
        ("sh", "-c", "go mod download && go -C colly mod download"),
        (
            (*CHECK_GENERATED, "linkscorev1"),
            ("go", "vet", "./..."),
            ("go", "test", "./..."),
            ("go", "-C", "colly", "vet", "./..."),
            ("go", "-C", "colly", "test", "./..."),
            ("go", "build", "-o", str(ROOT / "out" / "conformance-go"), "./test/conformance"),
        ),
        ((str(ROOT / "out" / "conformance-go"),),),
    ),
    Language(
        "java",
        ("java", "mvn"),
        "clients/java",
        # Plugins only, which stand for all else: libraries would need the modules that are not built yet.
        ("mvn", "--batch-mode", "--quiet", "dependency:resolve-plugins"),
        (("mvn", "--batch-mode", "--quiet", "--threads", "2", "install"),),
        (("sh", "-c", f'cd client && exec java -cp "{JAVA_CLASSES}" linkscore.conformance.Driver'),),
    ),
    Language(
        "node",
        ("node", "npm"),
        "clients/node",
        ("npm", "ci", "--silent"),
        (
            (*CHECK_GENERATED, "src/gen/linkscore"),
            ("npm", "run", "--silent", "lint"),
            ("npm", "test", "--silent"),
        ),
        (("node", "--import", "tsx", "test/driver.ts"),),
    ),
)


def has_tools(language: Language) -> bool:
    """Whether a language can be tested here; says what it lacks."""
    missing = [tool for tool in language.tools if not shutil.which(tool)]
    if missing:
        print(f"{language.name}: skipped, there is no {' and no '.join(missing)}", flush=True)
    return not missing


class OutOfTime(Exception):
    """The time is up; what was running is ended."""


@dataclass(frozen=True)
class Clock:
    """When to stop, in seconds of `time.monotonic`."""

    until: float = math.inf

    def run(self, command: tuple[str, ...], folder: Path, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a command to its end.

        Raises
        ------
        OutOfTime
            If the time is up before.
        """
        left = self.until - time.monotonic()
        process = subprocess.Popen(command, cwd=folder, text=True, start_new_session=True, **options)
        try:
            said, _ = process.communicate(timeout=None if left == math.inf else max(0.0, left))
        except BaseException as exc:  # an interrupt too: the command has a session of its own
            os.killpg(process.pid, signal.SIGKILL)  # with all it started
            process.wait()
            if isinstance(exc, subprocess.TimeoutExpired):
                raise OutOfTime(" ".join(command)) from None
            raise
        return subprocess.CompletedProcess(command, process.returncode, said)


def has_packages(language: Language, clock: Clock) -> bool:
    """Whether the packages that a language needs are there; says that they are not."""
    fetched = not language.fetch or clock.run(language.fetch, ROOT / language.folder).returncode == 0
    if not fetched:
        print(f"{language.name}: skipped, {' '.join(language.fetch)} does not succeed here", flush=True)
    return fetched


def failed_steps(language: Language, clock: Clock) -> list[str]:
    """Run lint and tests of a language; return the step that failed, if one did.

    What comes after it needs what it was to build.
    """
    began = time.monotonic()
    for step in language.steps:
        if clock.run(step, ROOT / language.folder).returncode:
            return [" ".join(step)]
    if language.steps:
        print(f"{language.name}: lint and tests took {time.monotonic() - began:.0f} s", flush=True)
    return []


def failed_scenarios(language: Language, driver: tuple[str, ...], clock: Clock) -> list[str]:
    """Play all scenarios with a driver; say so if one failed, and print what was said."""
    command = (sys.executable, "-m", "linkscore_lab.conformance", *driver)
    played = clock.run(command, ROOT / language.folder, stdout=subprocess.PIPE)
    if not played.returncode:
        return []
    print(played.stdout, flush=True)
    return [f"conformance of {' '.join(driver)}"]


def failures(languages: list[Language], clock: Clock) -> dict[str, list[str] | None]:
    """Run everything of some languages; return what failed, by language, None if there was no time for it."""
    failed: dict[str, list[str] | None] = {}
    for language in languages:
        try:
            if has_packages(language, clock):
                failed[language.name] = failed_steps(language, clock)
        except OutOfTime as exc:
            print(f"{language.name}: no time left for {exc}", flush=True)
            failed[language.name] = None
    began = time.monotonic()
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        plays = [
            (language.name, pool.submit(failed_scenarios, language, driver, clock))
            for language in languages
            if failed.get(language.name) == []
            for driver in language.drivers
        ]
        for name, play in plays:
            try:
                failed[name] = (failed[name] or []) + play.result()
            except OutOfTime as exc:
                print(f"{name}: no time left for {exc}", flush=True)
                failed[name] = failed[name] or None
    if plays:
        print(f"scenarios of {len(plays)} drivers took {time.monotonic() - began:.0f} s", flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [language.name for language in LANGUAGES]
    parser.add_argument(
        "languages", nargs="*", metavar="LANGUAGE", help=f"of {', '.join(names)}; all if none"
    )
    parser.add_argument(
        "--within", type=float, default=math.inf, metavar="SECONDS", help="time for all of it"
    )
    options = parser.parse_args()
    clock = Clock(time.monotonic() + options.within)
    wanted = options.languages or names
    if unknown := set(wanted) - set(names):
        parser.error(f"no client in {', '.join(sorted(unknown))}")
    languages = [language for language in LANGUAGES if language.name in wanted and has_tools(language)]
    failed = failures(languages, clock)
    for language in languages:
        if (broken := failed.get(language.name)) is not None:
            said = f"FAILED: {'; '.join(broken)}" if broken else language.passed
            print(f"{language.name}: {said}", flush=True)
    return int(any(failed.values()))


if __name__ == "__main__":
    sys.exit(main())
