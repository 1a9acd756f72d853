"""CPU of a page in linkscore beside what peers spend on the same pages (`benchmarks.peers`), in one run.

linkscore is the server's process: it takes the page, makes it durable, learns from it and answers with all
scores. Peers run without a server around them, and none of them writes anything down. The ratio is linkscore
over the peer. A peer whose package is in neither environment is left out, with a line that says so.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.bench_ingest import LEARNED_FROM, MEASURED, compare
from benchmarks.pages import Corpus, Page
from benchmarks.peers import PEERS
from benchmarks.servers import bare, linkscore
from benchmarks.table import Row
from linkscore_scoring.kernels import KERNELS, PURE

_CRAWLERS = Path(".venv-crawlers/bin/python")
"""Where `make .venv-crawlers/.installed` puts crawlers that need far more than anything else here."""


def run(corpus: Corpus) -> list[Row]:
    """Return a row for each site and peer, and one for the bare parse: CPU milliseconds a page."""
    rows = []
    native = KERNELS is not PURE
    reader = ", compiled reader" if native else ""
    with linkscore(native=native) as ours, bare() as other:
        for site in corpus.names:
            pages = corpus.pages(site, LEARNED_FROM + MEASURED)
            mine, _ = compare(ours, other, site, pages, 10)
            parses = []
            for name, its, parse in _peers(pages[LEARNED_FROM:]):
                rows.append(Row(f"page, 10 a call{reader}: {name}", site, mine, "ms CPU/page", its))
                parses.append(parse)
            rows.append(
                Row(f"page, 10 a call{reader}: lxml's parse alone", site, mine, "ms CPU/page", median(parses))
            )
    return rows


def _peers(pages: list[Page]) -> Iterator[tuple[str, float, float]]:
    sent = json.dumps([[page.url, page.body.decode("latin-1")] for page in pages]).encode()
    for name, (package, _) in PEERS.items():
        python = _python_with(package)
        if python is None:
            print(f"peers: {name} left out, no environment has {package}", flush=True)
            continue
        command = [python, "-m", "benchmarks.peers", name]
        answer = json.loads(subprocess.run(command, input=sent, capture_output=True, check=True).stdout)
        yield f"{name} ({answer['version']})", answer["ms"], answer["parse_ms"]


def _python_with(package: str) -> str | None:
    asks = f"from importlib.metadata import version; version({package!r})"
    for python in (sys.executable, str(_CRAWLERS)):
        command = [python, "-c", asks]
        if Path(python).exists() and not subprocess.run(command, capture_output=True, check=False).returncode:
            return python
    return None
