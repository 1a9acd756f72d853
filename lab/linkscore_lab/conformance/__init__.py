"""What every client must do, whatever its language: scenarios played against a scripted server.

A client takes part by a *driver*, a small program that reads one JSON object a line and answers with one
(`driver`). `linkscore conformance -- COMMAND` starts the driver and plays every scenario with it: those of
`scenarios.json` are data (`table`), those of `connection` need time, files or a server that leaves. The
server (`fake`) answers as told and keeps what it was asked. The driver of Python is `python_driver`.
"""

from pathlib import Path

from linkscore_lab.conformance import connection
from linkscore_lab.conformance.table import add_scenarios
from linkscore_lab.conformance.trial import SCENARIOS, Outcome, play

add_scenarios(Path(__file__).with_name("scenarios.json"))

__all__ = ["SCENARIOS", "Outcome", "connection", "play"]
