"""What a browse log is worth: `linkscore logs report`, and counts of a log file without a server."""

from linkscore_lab.browse_logs.read_counts import read_counts
from linkscore_lab.browse_logs.report import BehaviorReport, behavior_report, print_behavior

__all__ = ["BehaviorReport", "behavior_report", "print_behavior", "read_counts"]
