"""A driver on stubs with gRPC's defaults, as one writes who has read no docs: what the kit must catch."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import grpc

from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2
from linkscore.v1 import link_scoring_service_pb2_grpc as scoring_grpc
from linkscore.v1.common_pb2 import Page


class NaiveClient:
    def __init__(self, target: str, token: str | None) -> None:
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        # A pool of its own, as another program would have.
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0)]
        self._stub = scoring_grpc.LinkScoringServiceStub(grpc.insecure_channel(target, options))

    def rank(self, said: dict[str, Any]) -> dict[str, Any]:
        request = scoring_pb2.RankBucketsRequest(crawl="crawls/x", buckets=said["buckets"])
        answer = self._stub.RankBuckets(request, metadata=self._metadata)
        pairs = zip(answer.order, answer.values, strict=True)
        return {"values": {said["buckets"][at]: value for at, value in pairs}}

    def ingest(self, said: dict[str, Any]) -> dict[str, Any]:
        pages = [Page(url=page["url"], body=page["body"].encode()) for page in said["pages"]]
        request = scoring_pb2.IngestPagesRequest(crawl="crawls/x", pages=pages)
        answer = self._stub.IngestPages(request, metadata=self._metadata)
        scores = [list(result.links.scores) for result in answer.results]
        return {"links": [[{"value": score} for score in each] for each in scores]}


def main() -> None:
    client: NaiveClient | None = None
    for line in sys.stdin:
        said = json.loads(line)
        told: dict[str, Any] = {}
        try:
            if said["call"] == "connect":
                file = said.get("token_file")
                token = Path(file).read_text().strip() if file else said.get("token")
                client = NaiveClient(said["target"], token)
            elif said["call"] != "close":
                told = getattr(client, said["call"])(said)
        except grpc.RpcError as error:
            print(json.dumps({"error": {"code": error.code().value[0]}}), flush=True)
        else:
            print(json.dumps({"ok": told}), flush=True)


if __name__ == "__main__":
    main()
