"""``python -m linkscore_lab.conformance COMMAND...`` plays all scenarios with the driver it starts."""

from __future__ import annotations

import sys

from linkscore_lab.conformance import SCENARIOS, play


def main(command: list[str]) -> int:
    """Print how each scenario ended; without a driver, what the scenarios are."""
    if not command:
        for name, scenario in SCENARIOS.items():
            print(f"{name}: {scenario['says']}")
        return 0
    failed = 0
    for outcome in play(command):
        failed += bool(outcome.complaint)
        mark, tail = ("FAIL", f": {outcome.complaint}") if outcome.complaint else ("ok", "")
        print(f"{mark:4} {outcome.took_s:5.1f} s  {outcome.scenario}{tail}", flush=True)
    print(f"{len(SCENARIOS) - failed} of {len(SCENARIOS)} scenarios passed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
