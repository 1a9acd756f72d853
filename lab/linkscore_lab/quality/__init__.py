"""The quality gate: harvest figures of stored sites, held against a committed baseline.

`python -m linkscore_lab.quality` is the command.
"""

from linkscore_lab.quality.baseline import Baseline, Figure, read_baseline, write_baseline
from linkscore_lab.quality.gate import Request, run_gate
from linkscore_lab.quality.measure import Measured
from linkscore_lab.quality.verdict import Verdict, judge

__all__ = [
    "Baseline",
    "Figure",
    "Measured",
    "Request",
    "Verdict",
    "judge",
    "read_baseline",
    "run_gate",
    "write_baseline",
]
