"""Run the tests of the clients: `make test-clients`, or `python tools/test_clients.py go node` for some.

Each language's own lint and tests, then the scenarios that every client passes (`linkscore conformance`). A
language whose tools are missing is skipped, with one line that says so. Ends with 1 if anything failed.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINKSCORE = Path(sys.executable).parent / "linkscore"


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
        (("mvn", "--batch-mode", "--quiet", "install"),),
        (("sh", "-c", f'cd client && exec java -cp "{JAVA_CLASSES}" linkscore.conformance.Driver'),),
    ),
    Language(
        "node",
        ("node", "npm"),
        "clients/node",
        (
            ("npm", "install", "--silent"),
            ("npm", "run", "--silent", "lint"),
            ("npm", "test", "--silent"),
        ),
        (("node", "--import", "tsx", "conformance/driver.ts"),),
    ),
)


def failures(language: Language) -> Iterator[str]:
    """Run everything of a language; give what failed."""
    folder = ROOT / language.folder
    for step in language.steps:
        if subprocess.run(step, check=False, cwd=folder).returncode:
            yield " ".join(step)
            return  # what comes later needs what was to be built
    for driver in language.drivers:
        played = subprocess.run(
            [LINKSCORE, "conformance", "--", *driver],
            cwd=folder,
            check=False,
            stdout=subprocess.PIPE,
            text=True,
        )
        if played.returncode:
            print(played.stdout)
            yield f"conformance of {' '.join(driver)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [language.name for language in LANGUAGES]
    parser.add_argument(
        "languages", nargs="*", metavar="LANGUAGE", help=f"of {', '.join(names)}; all if none"
    )
    wanted = parser.parse_args().languages or names
    if unknown := set(wanted) - set(names):
        parser.error(f"no client in {', '.join(sorted(unknown))}")
    failed = False
    for language in (language for language in LANGUAGES if language.name in wanted):
        if missing := [tool for tool in language.tools if not shutil.which(tool)]:
            print(f"{language.name}: skipped, there is no {' and no '.join(missing)}", flush=True)
            continue
        began = time.monotonic()
        broken = list(failures(language))
        failed = failed or bool(broken)
        said = f"FAILED: {'; '.join(broken)}" if broken else language.passed
        print(f"{language.name}: {said} ({time.monotonic() - began:.0f} s)", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
