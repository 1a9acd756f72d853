"""The settings a Scrapy project may make, read once."""

from __future__ import annotations

import logging
import re
import ssl
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from linkscore._channel import DEFAULT_TARGET, target_problem
from linkscore.client import Client
from linkscore.connection import start_problem
from linkscore.errors import LinkscoreError
from linkscore.messages import CrawlOptions, example_page, message_of, policy_spec, wanted_spec
from linkscore.v1 import crawl_service_pb2 as crawl_pb2

logger = logging.getLogger("linkscore")

PREFIX = "LINKSCORE_"
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
    "float": lambda settings, name: settings.getfloat(name),
    "int": lambda settings, name: settings.getint(name),
    "tuple[str, ...]": lambda settings, name: tuple(settings.getlist(name)),
    "dict[str, Any]": lambda settings, name: settings.getdict(name),
    "bool | str": _tls,
    "Any": lambda settings, name: settings.get(name) or None,
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
    # Fetches between two RankBuckets calls. Measured on four stored sites, one at a time, `harvest`: mean
    # harvest rate and early area .935 and .88 at 1, .93 and .84 at 2, 4 and 8, .92 and .79 at 16.
    refresh: int = 1
    report_empty: bool = True
    obey_skip: bool = False
    token: str = ""
    token_file: str = ""
    tls: bool | str = False
    budget: dict[str, Any] | None = None
    respect: tuple[str, ...] = ()
    revisit: dict[str, Any] | None = None
    revisit_pages: int = -1  # those of a day

    @classmethod
    def from_settings(cls, settings: Any, *, spider_name: str) -> Config:
        """Read the settings of a project; ValueError names all problems at once."""
        kinds = {PREFIX + field.name.upper(): str(field.type) for field in fields(cls)}
        problems, given = [], dict[str, Any]()
        for name in sorted(name for name in settings if name.startswith(PREFIX)):
            if name not in kinds:
                problems.append(f"{name}: no such setting")
            elif settings.get(name) is not None:
                try:
                    value = _READ[kinds[name].removesuffix(" | None")](settings, name)
                except (TypeError, ValueError) as error:
                    problems.append(f"{name}: {error}")
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
            options["learn"] = LEARN[self.learn]
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
        if self.revisit is None or self.revisit_pages >= 0:
            return max(0, self.revisit_pages)
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
                problem = start_problem(error, self.target, self.tls, lambda name: PREFIX + name.upper())
                if not problem and self.required:
                    said = f"the server at {self.target} does not give crawl {self.crawl!r}"
                    problem = f"LINKSCORE_REQUIRED: {said}: {error.code.name}: {error}"
                if problem:
                    raise _refused(problem) from None
            except OSError as error:
                raise _refused(f"LINKSCORE_TOKEN_FILE: {error}") from None

    def _problems(self) -> list[str]:
        found = []
        if problem := target_problem(self.target):
            found.append(f"LINKSCORE_TARGET: {problem}")
        if self.token and self.token_file:
            found.append("LINKSCORE_TOKEN, LINKSCORE_TOKEN_FILE: only one of them may be set")
        tls = self.tls if isinstance(self.tls, str) else ""
        files = [("TLS", tls), ("TOKEN_FILE", self.token_file), *(("EXPERIENCE", x) for x in self.experience)]
        found += [problem for name, path in files if path and (problem := _file_problem(name, path))]
        checks: list[tuple[str, Callable[[Any], Any], Any]] = [
            ("POLICY", policy_spec, self.policy),
            ("WANTED", wanted_spec, self.wanted),
            ("BUDGET", lambda given: message_of(crawl_pb2.Budget, given), self.budget),
            ("REVISIT", lambda given: message_of(crawl_pb2.Revisit, given), self.revisit),
            *(("EXAMPLES", example_page, example) for example in self.examples),
        ]
        for name, check, value in checks:
            try:
                check(value)
            except ValueError as e:
                found.append(f"{PREFIX}{name}: {str(e).removeprefix(f'{name.lower()}: ')}")
        if self.learn and self.learn not in LEARN:
            found.append(f"LINKSCORE_LEARN: must be {' or '.join(LEARN)}, got {self.learn!r}")
        if self.timeout <= 0:
            found.append(f"LINKSCORE_TIMEOUT: must be > 0, got {self.timeout}")
        if self.refresh < 1:
            found.append(f"LINKSCORE_REFRESH: must be >= 1, got {self.refresh}")
        return found


def _refused(problem: str) -> ValueError:
    """Say why the crawl does not start in one line of the log; Scrapy adds a traceback to what is raised."""
    logger.error("linkscore: %s", problem)
    return ValueError(problem)


def _file_problem(name: str, path: str) -> str:
    """Say what is wrong with a file; of one that is no PEM gRPC would tell at each call, in riddles."""
    try:
        with open(path, "rb"):
            if name == "TLS":
                ssl.create_default_context(cafile=path)
    except ssl.SSLError:
        return f"LINKSCORE_TLS: no certificate in {path!r}, must be a PEM file"
    except OSError as e:
        return f"{PREFIX}{name}: cannot read {path!r} ({e.strerror})"
    return ""


def crawl_id(name: str) -> str:
    """Turn a spider's name into the id of a crawl: 1..63 of a-z, 0-9, `-` and `_`."""
    clean = re.sub(r"[^a-z0-9_-]+", "-", name.lower()).lstrip("-_")[:63]
    return clean or "scrapy"
