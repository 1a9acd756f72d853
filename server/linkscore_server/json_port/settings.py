"""The setting that opens the port of JSON."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from linkscore_cli.extras import install_command
from linkscore_scoring.errors import FieldProblem
from linkscore_server.settings import Settings, address_problems, setting


@dataclass(frozen=True, kw_only=True)
class JsonPortSettings(Settings):
    """Of a server that answers JSON over HTTP too."""

    json_listen: str = setting(
        "", "HTTP address of calls in JSON, `host:port`; port 0 takes a free one; empty: no such port"
    )

    def problems(self) -> list[FieldProblem]:
        """See `Settings.problems`."""
        found = super().problems()
        if not self.json_listen:
            return found
        if find_spec("h11") is None:
            found.append(FieldProblem("json_listen", f"needs the http extra: {install_command('http')}"))
        return found + address_problems("json_listen", self.json_listen, unix=False)
