"""`linkscore conformance`: does a client do what docs/reference/clients.md says?"""

from __future__ import annotations

import click

from linkscore_cli.errors import needing


@click.command()
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--scenario", "names", multiple=True, help="Only this one; repeatable.")
@click.option("--list", "only_list", is_flag=True, help="Say what the scenarios are.")
def conformance(command: tuple[str, ...], names: tuple[str, ...], only_list: bool) -> None:
    """Play the scenarios every client must pass with the driver that COMMAND starts (after `--`)."""
    with needing("lab"):
        from linkscore_lab.conformance import SCENARIOS, play
    if only_list:
        for name, scenario in SCENARIOS.items():
            click.echo(f"{name}: {scenario.__doc__}")
        return
    if not command:
        raise click.UsageError("say how to start the driver: linkscore conformance -- COMMAND ...")
    if unknown := [name for name in names if name not in SCENARIOS]:
        raise click.BadParameter(f"there is no scenario {unknown[0]} (see --list)", param_hint="--scenario")
    failed = 0
    total = 0
    for outcome in play(command, names):
        total += 1
        failed += bool(outcome.complaint)
        mark = "FAIL" if outcome.complaint else "ok"
        tail = f": {outcome.complaint}" if outcome.complaint else ""
        click.echo(f"{mark:4} {outcome.took_s:5.1f} s  {outcome.scenario}{tail}")
    click.echo(f"{total - failed} of {total} scenarios passed")
    if failed:
        raise SystemExit(1)
