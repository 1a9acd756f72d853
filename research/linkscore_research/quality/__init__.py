"""The quality gate: harvest figures of stored sites, held against a committed baseline.

`python -m linkscore_research.quality` is the command.
"""

from linkscore_research.quality.baseline import Baseline, Figure, read_baseline, write_baseline
from linkscore_research.quality.gate import Request, run_gate
from linkscore_research.quality.measure import Measured
from linkscore_research.quality.verdict import Verdict, judge

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
