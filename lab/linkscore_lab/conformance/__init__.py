"""What every client must do, whatever its language: scenarios played against a scripted server.

A client takes part by a *driver*, a small program that reads one JSON object a line and answers with one
(`driver`). `linkscore conformance -- COMMAND` starts the driver and plays every scenario of `connection` and
`calls` with it: the server (`fake`) answers as the scenario says and keeps what it was asked, the scenario
(`trial`) compares both ends. Module `driver` says what a driver must understand; that of Python is
`python_driver`.
"""

from linkscore_lab.conformance import connection, calls  # isort: skip - in the order they are played
from linkscore_lab.conformance.trial import SCENARIOS, Outcome, play

__all__ = ["SCENARIOS", "Outcome", "calls", "connection", "play"]
