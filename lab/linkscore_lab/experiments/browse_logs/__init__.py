"""What a browse log is worth: `linkscore logs report`, and counts of a log file without a server."""

from linkscore_lab.experiments.browse_logs.read_counts import read_counts
from linkscore_lab.experiments.browse_logs.report import run_logs_report

__all__ = ["read_counts", "run_logs_report"]
