"""What every client must do, whatever its language: scenarios played against a scripted server.

A client takes part by a *driver*, a small program that reads one JSON object a line and answers with one
(`driver`). ``python -m linkscore_lab.conformance COMMAND`` starts the driver and plays every scenario of
`scenarios.json` with it. The server (`fake`) answers as told and keeps what it was asked.
"""

from linkscore_lab.conformance.scenarios import SCENARIOS, Outcome, play

__all__ = ["SCENARIOS", "Outcome", "play"]
