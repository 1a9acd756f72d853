"""The setting that puts snapshots into object storage; the library is not loaded."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from linkscore_cli.extras import install_command
from linkscore_scoring.errors import FieldProblem
from linkscore_server.settings import Settings, setting

SCHEMES = ("s3", "gs", "az", "file")


def url_problem(url: str) -> str:
    """Return what is wrong with the URL of a place for objects, empty if nothing is."""
    scheme, colon, rest = url.partition("://")
    if not (colon and rest and scheme in SCHEMES):
        return f"must be {', '.join(f'{known}://' for known in SCHEMES)} and a place there, got {url!r}"
    if find_spec("obstore") is None:
        return f"needs the objects extra: {install_command('objects')}"
    return ""


@dataclass(frozen=True, kw_only=True)
class ObjectSettings(Settings):
    """Of a server that keeps snapshots as objects."""

    snapshot_url: str = setting(
        "",
        "with log = kafka://, where snapshots are kept, such as `s3://BUCKET/PREFIX`, one for each cluster "
        "of brokers; empty: on the brokers",
    )

    def problems(self) -> list[FieldProblem]:
        """See `Settings.problems`."""
        found = super().problems()
        if not self.snapshot_url:
            return found
        if problem := url_problem(self.snapshot_url):
            found.append(FieldProblem("snapshot_url", problem))
        elif not self.log.startswith("kafka://"):
            found.append(FieldProblem("snapshot_url", "needs log = kafka://; see `linkscore data backup`"))
        return found
