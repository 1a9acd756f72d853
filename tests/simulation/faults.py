"""One run by its seed: a fleet under faults that are drawn, then healed, then judged."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from simulation.fleet import NAMES, SESSION_S, SLOTS, Fleet

_FAULTS = 2  # of a run, for each server
_BETWEEN_S = 8.0  # at most
_HEALING_S = 600.0
"""Longest time until all is as it should be, once nothing fails: longer than any wait of a server."""

_QUIET_S = 3 * SESSION_S + 20.0  # after which nothing is on its way any more


def run(seed: int, *, are_read: bool = False, names: str = NAMES, slots: int = SLOTS) -> Fleet:
    """Let a fleet live through the faults of a seed; raises AssertionError if something does not hold."""
    fleet = Fleet(seed, are_read=are_read, names=names, slots=slots)
    with fleet.played():
        for name in names:
            fleet.start(name)
        wait(fleet, lambda: all(server.is_serving for server in fleet.servers.values()), "start")
        fleet.network.is_bad = fleet.world.rng.random() < 0.8
        fleet.create()
        at = 0.0
        for _ in range(fleet.world.rng.randint(1, _FAULTS * len(names))):
            at += fleet.world.rng.uniform(0.1, _BETWEEN_S)
            fleet.world.at(at, partial(_strike, fleet))
        fleet.world.run(lambda: fleet.world.now > at + 40, float("inf"))
        _heal(fleet)
        wait(fleet, lambda: fleet.is_done, "pages")
        fleet.world.run(lambda: False, _QUIET_S)
        wait(fleet, lambda: all(server.is_serving for server in fleet.servers.values()), "servers")
        fleet.judge()
    return fleet


def wait(fleet: Fleet, is_so: Callable[[], bool], what: str) -> None:
    """Let a fleet live until something is so, or something went wrong."""
    assert fleet.world.run(lambda: is_so() or bool(fleet.trouble), _HEALING_S), f"{what}: not in time"
    assert fleet.trouble == []


def _strike(fleet: Fleet) -> None:
    draws = fleet.world.rng
    name = draws.choice(fleet.names)
    if name not in fleet.servers:
        return
    draws.choice([_kill, _pause, _pause, _stop, _cut, _brokers_away, _forget])(fleet, name)


def _kill(fleet: Fleet, name: str) -> None:
    fleet.kill(name)
    fleet.world.at(fleet.world.rng.uniform(0.5, 5), partial(fleet.start, name))


def _pause(fleet: Fleet, name: str) -> None:
    fleet.note(f"pause {name}")
    process = fleet.servers[name].process
    process.is_paused = True

    def go_on() -> None:
        fleet.note(f"go on {name}")
        process.is_paused = False

    fleet.world.at(fleet.world.rng.uniform(0.1, 2.5 * SESSION_S), go_on)


def _stop(fleet: Fleet, name: str) -> None:
    server = fleet.servers[name]
    if not server.is_serving or server.process.is_paused:
        return
    fleet.note(f"stop {name}")
    server.process.loop.call_soon(
        lambda: server.process.start(server.stop()).add_done_callback(
            lambda _: fleet.world.at(0, partial(_ended, fleet, name, server.address))
        )
    )


def _ended(fleet: Fleet, name: str, address: str) -> None:
    if fleet.server_at(address) is not None:
        _kill(fleet, name)


def _cut(fleet: Fleet, name: str) -> None:
    fleet.note(f"cut {name}")
    process = fleet.servers[name].process
    fleet.network.cut.add(process)
    fleet.world.at(fleet.world.rng.uniform(1, 4 * SESSION_S), partial(fleet.network.cut.discard, process))


def _brokers_away(fleet: Fleet, _: str) -> None:
    fleet.note("brokers away")
    fleet.network.are_brokers_away = True

    def back() -> None:
        fleet.note("brokers back")
        fleet.network.are_brokers_away = False

    fleet.world.at(fleet.world.rng.uniform(0.5, 2 * SESSION_S), back)


def _forget(fleet: Fleet, _: str) -> None:
    fleet.note("group forgotten")
    fleet.coordinator.forget()


def _heal(fleet: Fleet) -> None:
    fleet.note("heal")
    fleet.network.is_bad = fleet.network.are_brokers_away = False
    fleet.network.cut.clear()
    for server in fleet.servers.values():
        server.process.is_paused = False
    for name in fleet.names:
        if name not in fleet.servers:
            fleet.start(name)
