"""The settings a Scrapy project may make, read once."""

from __future__ import annotations

import logging
import re
import ssl
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkscore._channel import DEFAULT_TARGET, target_problem
from linkscore.client import Client
from linkscore.connection import start_problem
from linkscore.errors import LinkscoreError
from linkscore.messages import (
    Budget,
    CrawlOptions,
    Policy,
    Revisit,
    Wanted,
    budget_spec,
    example_page,
    policy_spec,
    revisit_spec,
    wanted_spec,
)
from linkscore.v1.crawl_service_pb2 import Learn

logger = logging.getLogger("linkscore")

PREFIX = "LINKSCORE_"
LEARN = {name.removeprefix("LEARN_").lower(): number for name, number in Learn.items() if number}
"""When the server may learn sites, by name."""


@dataclass(frozen=True, slots=True)
class Config:
    """Settings of a Scrapy crawl, each `LINKSCORE_` and the upper-case name: see docs/guides/scrapy.md."""

    target: str = DEFAULT_TARGET  # host:port
    observe_only: bool = False
    crawl: str = ""
    policy: Policy | None = None
    timeout: float = 5.0
    # Fetches between two RankBuckets calls. Measured on four stored sites, one at a time, `harvest`: mean
    # harvest rate and early area .935 and .88 at 1, .93 and .84 at 2, 4 and 8, .92 and .79 at 16.
    refresh: int = 1
    token: str = ""
    tls: bool | str = False
    report_empty: bool = True
    obey_skip: bool = False
    learn: str = ""
    wanted: Wanted | None = None
    experience: tuple[bytes, ...] = ()
    required: bool = False
    token_file: str = ""
    examples: tuple[str, ...] = ()
    budget: Budget | None = None
    respect: tuple[str, ...] = ()
    revisit: Revisit | None = None
    revisit_pages: int = 0

    @classmethod
    def from_settings(cls, settings: Any, *, spider_name: str) -> Config:
        """Read the settings of a project.

        Raises
        ------
        ValueError
            A `LINKSCORE_` setting is unknown or out of range; all problems are named at once.
        """
        known = {PREFIX + name.upper() for name in cls.__dataclass_fields__}
        given = {name for name in settings if name.startswith(PREFIX)}
        problems = [f"{name}: no such setting" for name in sorted(given - known)]
        experience, unread = _read_all("LINKSCORE_EXPERIENCE", settings.getlist("LINKSCORE_EXPERIENCE"))
        problems += unread
        made = cls(
            target=_text(settings.get("LINKSCORE_TARGET", DEFAULT_TARGET)),
            observe_only=settings.getbool("LINKSCORE_OBSERVE_ONLY"),
            crawl=settings.get("LINKSCORE_CRAWL") or crawl_id(spider_name),
            policy=settings.get("LINKSCORE_POLICY"),
            wanted=settings.get("LINKSCORE_WANTED") or None,
            experience=experience,
            learn=settings.get("LINKSCORE_LEARN") or "",
            required=settings.getbool("LINKSCORE_REQUIRED"),
            timeout=settings.getfloat("LINKSCORE_TIMEOUT", 5.0),
            refresh=settings.getint("LINKSCORE_REFRESH", 1),
            token=settings.get("LINKSCORE_TOKEN", ""),
            token_file=_text(settings.get("LINKSCORE_TOKEN_FILE")),
            tls=_tls(settings),
            report_empty=settings.getbool("LINKSCORE_REPORT_EMPTY", True),
            obey_skip=settings.getbool("LINKSCORE_OBEY_SKIP"),
            examples=tuple(settings.getlist("LINKSCORE_EXAMPLES")),
            budget=settings.getdict("LINKSCORE_BUDGET") or None,
            respect=tuple(settings.getlist("LINKSCORE_RESPECT")),
            revisit=(revisit := settings.getdict("LINKSCORE_REVISIT") or None),
            revisit_pages=settings.getint("LINKSCORE_REVISIT_PAGES", _pages(revisit)),
        )
        problems += made._problems()
        if problems:
            raise _refused("; ".join(problems))
        return made

    def crawl_options(self) -> CrawlOptions:
        """Give what the crawl is created with: what was set, and nothing else."""
        options: CrawlOptions = {"policy": self.policy, "wanted": self.wanted}
        if self.learn:
            options["learn"] = LEARN[self.learn]
        if self.experience:
            options["experience"] = self.experience
        if self.budget:
            options["budget"] = self.budget
        if self.respect:
            options["respect"] = self.respect
        if self.revisit is not None:
            options["revisit"] = self.revisit
        if self.examples:
            options["examples"] = self.examples
        return options

    def client_options(self) -> dict[str, Any]:
        """Give the options of a client."""
        return {
            "tls": self.tls,
            "token": self.token or None,
            "token_file": self.token_file or None,
            "timeout_s": self.timeout,
        }

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
        for name in ("tls", "token_file"):
            path = getattr(self, name)
            if isinstance(path, str) and path:
                found += _read_all(PREFIX + name.upper(), [path])[1] or _unlike_pem(name, path)
        checks: tuple[tuple[str, Callable[[Any], Any], Iterable[Any]], ...] = (
            ("POLICY", policy_spec, [self.policy]),
            ("WANTED", wanted_spec, [self.wanted]),
            ("BUDGET", budget_spec, [self.budget]),
            ("REVISIT", revisit_spec, [self.revisit]),
            ("EXAMPLES", example_page, self.examples),
        )
        for name, check, values in checks:
            for value in values:
                try:
                    check(value)
                except ValueError as e:
                    found.append(f"{PREFIX}{name}: {str(e).removeprefix(f'{name.lower()}: ')}")
        if self.revisit_pages < 0:
            found.append(f"LINKSCORE_REVISIT_PAGES: must be >= 0, got {self.revisit_pages}")
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


def _pages(revisit: dict[str, Any] | None) -> int:
    """Return how many known pages a run fetches again: those of a day, or a hundred if nobody says."""
    if revisit is None:
        return 0
    per_day = revisit.get("fetches_per_day")
    return max(1, round(per_day)) if isinstance(per_day, int | float) and per_day > 0 else 100


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _tls(settings: Any) -> bool | str:
    """Read whether to encrypt: anything that is no truth value is the name of a file."""
    value = settings.get("LINKSCORE_TLS")
    if not value:  # a variable of the environment that is not set may come as empty text
        return False
    try:
        return bool(settings.getbool("LINKSCORE_TLS"))
    except ValueError:
        return str(value)


def _read_all(setting: str, names: Sequence[str]) -> tuple[tuple[bytes, ...], list[str]]:
    """Return the contents of files, and a problem for each that cannot be read."""
    contents, problems = [], []
    for name in names:
        try:
            contents.append(Path(name).read_bytes())
        except OSError as e:
            problems.append(f"{setting}: cannot read {name!r} ({e.strerror})")
    return tuple(contents), problems


def _unlike_pem(name: str, path: str) -> list[str]:
    """Return a problem if a file for `tls` has no certificate; gRPC would say so at each call, in riddles."""
    try:
        if name == "tls":
            ssl.create_default_context(cafile=path)
    except ssl.SSLError:
        return [f"LINKSCORE_TLS: no certificate in {path!r}, must be a PEM file"]
    return []


def crawl_id(name: str) -> str:
    """Turn a spider's name into the id of a crawl: 1..63 of a-z, 0-9, `-` and `_`."""
    clean = re.sub(r"[^a-z0-9_-]+", "-", name.lower()).lstrip("-_")[:63]
    return clean or "scrapy"
