"""What the quality gate measures on browse logs: how soon orders mined from early days reach later visits."""

from __future__ import annotations

from pathlib import Path

from linkscore_lab.experiments.browse_logs.behavior.report import ORACLE, behavior_report
from linkscore_lab.quality.baseline import Figure
from linkscore_lab.quality.measure import LabelledSite, Measured

MODE = "log"
LOG_ENDING = ".log.tsv.gz"
LOGS_IN_WORDS = (
    "visits, links: pages the oracle needs for 80 % of the visits after the first 30 days of the log, to "
    "fetch or to discover them, / pages the order needs"
)


def log_of(folder: Path, site: LabelledSite) -> Path | None:
    """Return the browse log of a site, None if the folder has none."""
    path = folder / f"{site.name}{LOG_ENDING}"
    return path if path.is_file() else None


def measure_log(site: LabelledSite, log: Path, *, workers: int = 0) -> Measured:
    """Return the figures of a site's browse log: each order beside the oracle, in (0, 1].

    Raises
    ------
    InvalidInput
        If log or archive cannot be read.
    """
    report = behavior_report(log, [site.archive], workers=workers)
    return Measured(
        figures={
            f"{site.name}:{task}:{MODE}:{row.order.replace(' ', '_')}": Figure(round(1.0 / row.times, 6))
            for task, rows in (("visits", report.fetch), ("links", report.discovery))
            for row in rows
            if row.order != ORACLE
        }
    )
