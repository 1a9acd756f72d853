"""How well orders mined from a browse log foresee the visits of later days, measured on a stored site."""

from linkscore_lab.experiments.browse_logs.behavior.report import (
    BehaviorReport,
    behavior_report,
    print_behavior,
)

__all__ = ["BehaviorReport", "behavior_report", "print_behavior"]
