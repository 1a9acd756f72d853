"""One HTML file that shows what the runs of a replay achieved; it loads nothing from anywhere."""

from linkscore_lab.report.page import write_report

__all__ = ["write_report"]
