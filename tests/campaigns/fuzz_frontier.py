"""``make fuzz-frontier N=20000``: random calls, as of `fuzz`, to a real frontier whose linkscore is away."""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

from google.protobuf.descriptor import MethodDescriptor

from campaigns.fuzz import Fuzz, options
from campaigns.messages import Messages
from linkscore_frontier import urlfrontier_pb2 as pb
from support.frontier.process import FrontierProcess, frontier

MOST_MB = 600
"""Memory of a frontier at most: 64 MiB of messages, five times over as objects, and caches of its files."""

NOWHERE = "127.0.0.1:1"
METHODS = list(pb.DESCRIPTOR.services_by_name["URLFrontier"].methods)
_OFTEN = {"PutURLs": 10, "GetURLs": 6, "ListURLs": 2, "DeleteCrawl": 0.2, "SetActive": 0.2}
_LIKELY = {
    "url": tuple(f"http://{host}.org/{kind}/{n}" for host in "abc" for kind in "qt%" for n in range(50)),
    "crawlID": ("", "DEFAULT", "a.org"),
    "key": ("linkscore.bucket", "linkscore.score", "linkscore.value", "linkscore.ticket", "a.org", "x"),
}


def findings(process: FrontierProcess, seed: int, calls: int) -> list[str]:
    """Return what is wrong after so many calls."""
    rng = random.Random(seed)
    messages = Messages(rng, _LIKELY, broken=0.0)

    def requests(method: MethodDescriptor) -> list[bytes]:
        if method.name == "SetActive":  # else nothing is given any more
            return [pb.Active(state=True).SerializeToString()]
        return messages.requests(method)

    fuzz = Fuzz(rng, process.target, METHODS, _OFTEN, requests, messages.learn)
    return list(fuzz.findings(process, calls, MOST_MB))


def main() -> int:
    """Call, and print what was found."""
    given = options(__doc__ or "")
    with (
        tempfile.TemporaryDirectory() as folder,
        frontier(Path(folder), "--target", NOWHERE) as process,
    ):
        found = findings(process, given.seed, given.calls)
    print(*found, f"seed {given.seed}: {given.calls} calls, {len(found)} findings", sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
