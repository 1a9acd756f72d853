"""Settings of browse logs."""

from __future__ import annotations

from dataclasses import dataclass

from linkscore_scoring.errors import FieldProblem
from linkscore_server.settings import Settings, setting


@dataclass(frozen=True, kw_only=True)
class BrowseLogSettings(Settings):
    """Of a server that takes browse logs in."""

    max_records_per_batch: int = setting(100_000, "records in one batch of ImportBrowseRecords")
    browse_retention_days: int = setting(90, "days that an imported day of a browse log is kept")
    browse_window_days: int = setting(60, "latest days of a browse log that are mined")
    browse_mine_every_days: int = setting(1, "new days of a site's browse log after which it is mined again")
    browse_mine_min_visits: int = setting(1_000, "visits a site needs to be mined without a request")
    browse_max_pages_a_day: int = setting(
        500, "pages of a site that a client may visit on a day; a client with more counts as a program"
    )
    browse_referrers: str = setting(
        "site",
        "which pages that led to a visit are stored. `site`: those of the same site; `all`: of other sites "
        "too, but for those with a query",
    )
    browse_memory_mb: int = setting(
        512, "memory of one import or mining of browse logs, MiB, beside memory_mb"
    )

    def problems(self) -> list[FieldProblem]:
        """See `Settings.problems`."""
        found = super().problems()
        if self.browse_referrers not in ("site", "all"):
            found.append(
                FieldProblem("browse_referrers", f"must be site or all, got {self.browse_referrers!r}")
            )
        return found
