"""The settings a Scrapy project may make, read once."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from linkscore._channel import DEFAULT_TARGET, number_problem
from linkscore.client import Client
from linkscore.connection import near, option_problems, start_problem
from linkscore.errors import LinkscoreError
from linkscore.messages import CrawlOptions
from linkscore.v1 import crawl_service_pb2 as crawl_pb2

logger = logging.getLogger("linkscore")

PREFIX = "LINKSCORE_"
MAX_DUE = 10_000_000  # pages fetched again in a run: a bound
LEARN = {name.removeprefix("LEARN_").lower(): number for name, number in crawl_pb2.Learn.items() if number}
"""When the server may learn sites, by name."""


def _tls(settings: Any, name: str) -> bool | str:
    """Read whether to encrypt: anything that is no truth value is the name of a file."""
    try:
        return bool(settings.getbool(name)) if settings.get(name) else False
    except ValueError:
        return str(settings.get(name))


# How a setting is read, by the type of its field.
_READ: dict[str, Callable[[Any, str], Any]] = {
    "str": lambda settings, name: str(settings.get(name) or ""),
    "bool": lambda settings, name: settings.getbool(name),
    "float": lambda settings, name: float(str(settings.get(name))),
    "int": lambda settings, name: int(str(settings.get(name))),
    "tuple[str, ...]": lambda settings, name: tuple(settings.getlist(name)),
    "dict[str, Any]": lambda settings, name: settings.getdict(name),
    "bool | str": _tls,
    "Any": lambda settings, name: settings.get(name) or None,
}


_KINDS = {
    "float": "must be a number",
    "int": "must be a whole number",
    "dict[str, Any]": "must be a dictionary",
    "bool": "must be True or False",
    "tuple[str, ...]": "must be a list",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Settings of a Scrapy crawl, each `LINKSCORE_` and the upper-case name: see docs/guides/scrapy.md."""

    target: str = DEFAULT_TARGET  # host:port
    observe_only: bool = False
    required: bool = False
    crawl: str = ""
    policy: Any = None
    experience: tuple[str, ...] = ()
    wanted: Any = None
    examples: tuple[str, ...] = ()
    learn: str = ""
    timeout: float = 5.0
    report_empty: bool = True
    obey_skip: bool = False
    token: str = ""
    token_file: str = ""
    tls: bool | str = False
    budget: dict[str, Any] | None = None
    respect: tuple[str, ...] = ()
    revisit: dict[str, Any] | None = None
    revisit_pages: int | None = None  # those of a day

    @classmethod
    def from_settings(cls, settings: Any, *, spider_name: str) -> Config:
        """Read the settings of a project; ValueError names all problems at once."""
        kinds = {PREFIX + field.name.upper(): str(field.type) for field in fields(cls)}
        problems, given = [], dict[str, Any]()
        for name in sorted(name for name in settings if name.startswith(PREFIX)):
            if name not in kinds:
                problems.append(f"{name}: no such setting{near(name, kinds)}")
            elif settings.get(name) is not None:
                try:
                    value = _READ[kinds[name].removesuffix(" | None")](settings, name)
                except (TypeError, ValueError) as error:
                    kind = _KINDS.get(kinds[name].removesuffix(" | None"), "")
                    problems.append(f"{name}: {kind or error}, got {settings.get(name)!r}")
                else:
                    given[name.removeprefix(PREFIX).lower()] = value
        given["crawl"] = given.get("crawl") or crawl_id(spider_name)
        made = cls(**given)
        problems += made._problems()
        if problems:
            raise _refused("; ".join(problems))
        return made

    def crawl_options(self) -> CrawlOptions:
        """Give what the crawl is created with: what was set, and nothing else."""
        options: Any = {"policy": self.policy, "wanted": self.wanted}
        for name in ("budget", "respect", "revisit", "examples"):
            if value := getattr(self, name):
                options[name] = value
        if self.learn:
            options["learn"] = LEARN.get(self.learn, 0)
        if self.experience:
            options["experience"] = [Path(name).read_bytes() for name in self.experience]
        made: CrawlOptions = options
        return made

    def client_options(self) -> dict[str, Any]:
        """Give the options of a client."""
        return {
            "tls": self.tls,
            "token": self.token or None,
            "token_file": self.token_file or None,
            "timeout_s": self.timeout,
        }

    @property
    def due_pages(self) -> int:
        """How many known pages a run fetches again: those of a day, or a hundred if nobody says."""
        if self.revisit is None or self.revisit_pages is not None:
            return self.revisit_pages or 0
        return max(1, round(self.revisit.get("fetches_per_day") or 100))

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

    def _problems(self) -> list[str]:
        try:
            crawl = self.crawl_options()
        except OSError as error:
            return [f"LINKSCORE_EXPERIENCE: cannot read {error.filename!r} ({error.strerror})"]
        problems = option_problems(self.target, crawl, self.client_options())
        found = [f"{_setting(name)}: {problem}" for name, problem in problems]
        if problem := number_problem(self.revisit_pages or 0, 0, MAX_DUE):
            found.append(f"LINKSCORE_REVISIT_PAGES: {problem}")
        if self.learn and self.learn not in LEARN:
            found.append(f"LINKSCORE_LEARN: must be {' or '.join(LEARN)}, got {self.learn!r}")
        return found


def _setting(option: str) -> str:
    """Return the setting of an option of the crawl or its client."""
    return PREFIX + option.removesuffix("_s").upper()


def _refused(problem: str) -> ValueError:
    """Say why the crawl does not start in one line of the log; Scrapy adds a traceback to what is raised."""
    logger.error("linkscore: %s", problem)
    return ValueError(problem)


def crawl_id(name: str) -> str:
    """Turn a spider's name into the id of a crawl: 1..63 of a-z, 0-9, `-` and `_`."""
    clean = re.sub(r"[^a-z0-9_-]+", "-", name.lower()).lstrip("-_")[:63]
    return clean or "scrapy"
