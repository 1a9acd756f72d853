"""The settings a Scrapy project may make, read once."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

from linkscore._channel import DEFAULT_TARGET, number_problem
from linkscore.client import Client
from linkscore.errors import LinkscoreError
from linkscore.session import near, option_problems, start_problem

logger = logging.getLogger("linkscore")

PREFIX = "LINKSCORE_"
MAX_DUE = 100_000  # pages fetched again in a run: as many as the server gives


def _tls(settings: Any, name: str) -> bool | str:
    """Read whether to encrypt: anything that is no truth value is the name of a file."""
    try:
        return bool(settings.getbool(name)) if settings.get(name) else False
    except ValueError:
        return str(settings.get(name))


# How a setting is read, by what it must be.
_READ: dict[str, Callable[[Any, str], Any]] = {
    "a text": lambda settings, name: str(settings.get(name) or ""),
    "True or False": lambda settings, name: settings.getbool(name),
    "True, False or the name of a file": _tls,
    "a number": lambda settings, name: float(str(settings.get(name))),
    "a whole number": lambda settings, name: int(str(settings.get(name))),
    "a list": lambda settings, name: tuple(settings.getlist(name)),
    "a dictionary": lambda settings, name: settings.getdict(name),
    "a text, or JSON": lambda settings, name: (
        settings.getdict(name) if str(settings.get(name)).startswith("{") else settings.get(name) or None
    ),
}

SETTINGS: dict[str, tuple[str, Any]] = {
    "target": ("a text", DEFAULT_TARGET),  # host:port
    "observe_only": ("True or False", False),
    "required": ("True or False", False),
    "crawl": ("a text", ""),
    "policy": ("a text, or JSON", None),
    "experience": ("a list", ()),
    "wanted": ("a text, or JSON", None),
    "examples": ("a list", ()),
    "timeout": ("a number", 5.0),
    "report_empty": ("True or False", True),
    "obey_skip": ("True or False", False),
    "token": ("a text", ""),
    "token_file": ("a text", ""),
    "tls": ("True, False or the name of a file", False),
    "budget": ("a dictionary", None),
    "respect": ("a list", ()),
    "revisit": ("a dictionary", None),
    "revisit_pages": ("a whole number", None),  # those of a day
}
"""Settings of a Scrapy crawl with their defaults, each `LINKSCORE_` and the upper-case name: see
docs/guides/scrapy.md."""


class Config(SimpleNamespace):
    """What a project sets, by the names of `SETTINGS`; `crawl` is the name of the spider if not set."""

    @classmethod
    def from_settings(cls, settings: Any, *, spider_name: str) -> Self:
        """Read the settings of a project; ValueError names all problems at once."""
        problems, given = [], {name: default for name, (_, default) in SETTINGS.items()}
        for name in sorted(name for name in settings if name.startswith(PREFIX)):
            option = name.removeprefix(PREFIX).lower()
            if _setting(option) != name or option not in SETTINGS:
                problems.append(f"{name}: no such setting{near(name, map(_setting, SETTINGS))}")
            elif settings.get(name) is not None:
                kind = SETTINGS[option][0]
                try:
                    given[option] = _READ[kind](settings, name)
                except (TypeError, ValueError):
                    problems.append(f"{name}: must be {kind}, got {settings.get(name)!r}")
        given["crawl"] = given["crawl"] or crawl_id(spider_name)
        made = cls(**given)
        problems += made.problems()
        if problems:
            raise _refused("; ".join(problems))
        return made

    def crawl_options(self) -> dict[str, Any]:
        """Give what the crawl is created with: what was set, and nothing else."""
        names = ("policy", "wanted", "budget", "respect", "revisit", "examples")
        options = {name: value for name in names if (value := getattr(self, name))}
        if self.experience:
            options["experience"] = [Path(name).read_bytes() for name in self.experience]
        return options

    def client_options(self) -> dict[str, Any]:
        """Give the options of a client."""
        return {
            "tls": self.tls,
            "token": self.token,
            "token_file": self.token_file,
            "timeout_s": self.timeout,
        }

    @property
    def due_pages(self) -> int:
        """How many known pages a run fetches again: those of a day, or a hundred if nobody says."""
        if self.revisit is None or self.revisit_pages is not None:
            return self.revisit_pages or 0
        return min(MAX_DUE, max(1, round(self.revisit.get("fetches_per_day") or 100)))

    def check_server(self) -> None:
        """Give the crawl to the server; ValueError, said in one line, if it refuses a setting.

        A server that is away matters only to a crawl that is `required` to have it.
        """
        no_retries = [("grpc.enable_retries", 0)]
        with Client(self.target, channel_options=no_retries, **self.client_options()) as client:
            try:
                client.ensure_crawl(crawl=self.crawl, **self.crawl_options())
            except LinkscoreError as error:
                problem = start_problem(error, self.target, self.tls, _setting)
                if not problem and self.required:
                    said = f"the server at {self.target} does not give crawl {self.crawl!r}"
                    problem = f"LINKSCORE_REQUIRED: {said}: {error.code.name}: {error}"
                if problem:
                    raise _refused(problem) from None
            except OSError as error:
                raise _refused(f"LINKSCORE_TOKEN_FILE: {error}") from None

    def problems(self) -> list[str]:
        """Give the settings that cannot be, and why, before anything is asked."""
        try:
            found = option_problems(self.target, self.crawl_options(), self.client_options())
        except OSError as error:
            return [f"LINKSCORE_EXPERIENCE: cannot read {error.filename!r} ({error.strerror})"]
        found["revisit_pages"] = number_problem(self.revisit_pages or 0, 0, MAX_DUE)
        return [f"{_setting(name)}: {problem}" for name, problem in found.items() if problem]


def _setting(option: str) -> str:
    """Return the setting of an option of the crawl or its client."""
    return PREFIX + option.removesuffix("_s").upper()


def _refused(problem: str) -> ValueError:
    """Say why the crawl does not start in one line of the log; Scrapy adds a traceback to what is raised."""
    logger.error("linkscore: %s", problem)
    return ValueError(problem)


def crawl_id(name: str) -> str:
    """Turn a spider's name into the id of a crawl: 1..63 of a-z, 0-9, `-` and `_`."""
    return re.sub(r"[^a-z0-9_-]+", "-", name.lower()).lstrip("-_")[:63] or "scrapy"
