"""`linkscore frontier`: the frontier with the settings of a command line."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import click

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)

_OF_TARGET = {"target": "target", "tls": "target_tls_ca", "token_file": "target_token_file"}


@click.command(context_settings={"auto_envvar_prefix": "LINKSCORE_FRONTIER"})
@click.option("--listen", default="127.0.0.1:7071", show_default=True, help="gRPC address.")
@click.option(
    "--metrics-listen", default="127.0.0.1:9412", show_default=True, help="Prometheus address; empty: none."
)
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default="linkscore-frontier",
    show_default=True,
    help="Folder of the URLs, a file a crawl.",
)
@click.option("--target", default="localhost:7411", show_default=True, help="linkscore server to ask.")
@click.option("--target-token-file", type=_FILE, help="File with the token for that server.")
@click.option(
    "--target-tls-ca", type=_FILE, help="PEM file of the authority of its certificate: asks by TLS."
)
@click.option(
    "--crawl", default="", help="Crawl of linkscore to ask.  [default: the crawl id, in lower case]"
)
@click.option("--tls-cert", type=_FILE, help="PEM certificate chain; with --tls-key switches TLS on.")
@click.option("--tls-key", type=_FILE, help="PEM private key.")
@click.option("--tls-client-ca", type=_FILE, help="PEM authorities that clients must have a certificate of.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="What is logged, as JSON lines on standard error.",
)
def frontier(log_level: str, **given: Any) -> None:
    """Run a frontier that speaks URLFrontier's contract and orders URLs by linkscore.

    Every option is also an environment variable, LINKSCORE_FRONTIER_LISTEN for example.
    """
    from linkscore.session import option_problems
    from linkscore_frontier.service import serve
    from linkscore_server import observability
    from linkscore_server.operator_files import tls_problems
    from linkscore_server.settings import address_problems

    observability.set_up(log_level)
    cert, key, client_ca = (str(given[name] or "") for name in ("tls_cert", "tls_key", "tls_client_ca"))
    found = [*address_problems("listen", given["listen"], unix=True), *tls_problems(cert, key, client_ca)]
    if given["metrics_listen"]:
        found += address_problems("metrics_listen", given["metrics_listen"], unix=False)
    client = {"tls": given["target_tls_ca"], "token_file": given["target_token_file"]}
    of_target = option_problems(given["target"], {}, client).items()
    wrong = [(one.field, one.rule) for one in found] + [(_OF_TARGET[name], rule) for name, rule in of_target]
    for name, rule in wrong:
        raise click.BadParameter(rule, param_hint="--" + name.replace("_", "-"))
    try:
        asyncio.run(serve(given, client=client, tls=(cert, key, client_ca)))
    except OSError as exc:
        observability.log_failed_start(exc)
        sys.exit(1)
