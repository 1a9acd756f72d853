"""Real Nutch keeps a living site fresh: ``python -m linkscore_research.crawlers.nutch_revisits``.

It needs ``NUTCH_HOME``. Its plugin asks the server which known pages each round fetches again, so many a
day. Nutch's clock is the machine's. ``generate -adddays``, as Nutch has it, is the day of the site, and the
server's clock is as many days ahead; so days between two runs are whole ones. See `living_crawls`.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence

from linkscore import Client
from linkscore_research.crawlers.compare import CRAWLERS, ROOT, lacks
from linkscore_research.revisits.living_crawls import PATIENCE_S, Run, compare

_CRAWL = "nutch"
"""The name that Nutch's plugin gives a crawl."""


def main(argv: Sequence[str]) -> None:
    """Print a line a site."""
    if missing := lacks(CRAWLERS["nutch"]):
        raise SystemExit(f"Nutch needs {', '.join(missing)}; see clients/java/nutch/README.md")
    compare(crawl, "python -m linkscore_research.crawlers.nutch_revisits", __doc__, argv, start_s=time.time())


def crawl(run: Run) -> None:
    """Let Nutch go round until nothing is due."""
    with Client(run.target) as client:
        client.ensure_crawl(crawl=_CRAWL, revisit={"fetches_per_day": run.pages / run.every})
    nutch, revisits = CRAWLERS["nutch"], ["--revisits", str(run.pages / run.every)]
    where = ["--folder", str(run.folder), "--adddays", str(round(run.day))]
    subprocess.run(  # noqa: S603 - our own program
        [*nutch.command, "--start", f"{run.site}/", "--target", run.target, *where, *revisits],
        cwd=ROOT / nutch.folder,
        check=True,
        timeout=PATIENCE_S,
        stdout=subprocess.DEVNULL,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
