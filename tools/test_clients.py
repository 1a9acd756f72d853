"""Run the tests of the clients: `make test-clients`, or `python tools/test_clients.py go node` for some.

Each language's own lint and tests, one after the other; then the scenarios that every client passes
(`linkscore conformance`), two drivers at a time. A language whose tools are missing is skipped, with one line
that says so. Ends with 1 if anything failed.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINKSCORE = Path(sys.executable).parent / "linkscore"

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
    steps
        Commands that must succeed; they also build what `driver` starts.
    driver
        What `linkscore conformance` starts, in one go for each of the client's ways to call.
    """

    name: str
    tools: tuple[str, ...]
    folder: str
    steps: tuple[tuple[str, ...], ...]
    drivers: tuple[tuple[str, ...], ...]

    @property
    def passed(self) -> str:
        """What is said when all is well."""
        return "tests and all scenarios pass" if self.drivers else "tests pass"


CHECK_GENERATED = (sys.executable, str(ROOT / "tools" / "check_generated.py"))
PYTHON_DRIVER = (sys.executable, "-m", "linkscore_lab.conformance.python_driver")
JAVA_CLASSES = "target/classes:target/test-classes:$(cat target/classpath)"

LANGUAGES = (
    Language("python", (), ".", (), (PYTHON_DRIVER, (*PYTHON_DRIVER, "--aio"))),
    Language(
        "python crawlers",
        ("make",),
        ".",
        (
            ("make", "--silent", ".venv-crawlers/.installed"),
            (".venv-crawlers/bin/python", "-m", "pytest", "-q", "tests/crawlers"),
        ),
        (),
    ),
    Language(
        "go",
        ("go",),
        "clients/go",
        (
            (*CHECK_GENERATED, "linkscorev1"),
            ("go", "vet", "./..."),
            ("go", "test", "./..."),
            ("go", "-C", "colly", "vet", "./..."),
            ("go", "-C", "colly", "test", "./..."),
            ("go", "build", "-o", str(ROOT / "out" / "conformance-go"), "./conformance"),
        ),
        ((str(ROOT / "out" / "conformance-go"),),),
    ),
    Language(
        "java",
        ("java", "mvn"),
        "clients/java",
        (("mvn", "--batch-mode", "--quiet", "--threads", "2", "install"),),
        (("sh", "-c", f'cd client && exec java -cp "{JAVA_CLASSES}" linkscore.conformance.Driver'),),
    ),
    Language(
        "node",
        ("node", "npm"),
        "clients/node",
        (
            ("npm", "install", "--silent"),
            (*CHECK_GENERATED, "src/gen/linkscore"),
            ("npm", "run", "--silent", "lint"),
            ("npm", "test", "--silent"),
        ),
        (("node", "--import", "tsx", "conformance/driver.ts"),),
    ),
)


def has_tools(language: Language) -> bool:
    """Whether a language can be tested here; says what it lacks."""
    missing = [tool for tool in language.tools if not shutil.which(tool)]
    if missing:
        print(f"{language.name}: skipped, there is no {' and no '.join(missing)}", flush=True)
    return not missing


def failed_steps(language: Language) -> list[str]:
    """Run lint and tests of a language; return the step that failed, if one did.

    What comes after it needs what it was to build.
    """
    began = time.monotonic()
    for step in language.steps:
        if subprocess.run(step, check=False, cwd=ROOT / language.folder).returncode:
            return [" ".join(step)]
    if language.steps:
        print(f"{language.name}: lint and tests took {time.monotonic() - began:.0f} s", flush=True)
    return []


def failed_scenarios(language: Language, driver: tuple[str, ...]) -> list[str]:
    """Play all scenarios with a driver; say so if one failed, and print what was said."""
    command = [str(LINKSCORE), "conformance", "--", *driver]
    folder = ROOT / language.folder
    played = subprocess.run(command, cwd=folder, check=False, stdout=subprocess.PIPE, text=True)
    if not played.returncode:
        return []
    print(played.stdout, flush=True)
    return [f"conformance of {' '.join(driver)}"]


def failures(languages: list[Language]) -> dict[str, list[str]]:
    """Run everything of some languages; return what failed, by language."""
    failed = {language.name: failed_steps(language) for language in languages}
    began = time.monotonic()
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        plays = [
            (language.name, pool.submit(failed_scenarios, language, driver))
            for language in languages
            if not failed[language.name]
            for driver in language.drivers
        ]
        for name, play in plays:
            failed[name] += play.result()
    if plays:
        print(f"scenarios of {len(plays)} drivers took {time.monotonic() - began:.0f} s", flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [language.name for language in LANGUAGES]
    parser.add_argument(
        "languages", nargs="*", metavar="LANGUAGE", help=f"of {', '.join(names)}; all if none"
    )
    wanted = parser.parse_args().languages or names
    if unknown := set(wanted) - set(names):
        parser.error(f"no client in {', '.join(sorted(unknown))}")
    languages = [language for language in LANGUAGES if language.name in wanted and has_tools(language)]
    failed = failures(languages)
    for language in languages:
        broken = "; ".join(failed[language.name])
        print(f"{language.name}: {f'FAILED: {broken}' if broken else language.passed}", flush=True)
    return int(any(failed.values()))


if __name__ == "__main__":
    sys.exit(main())
