"""Site models as messages."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkscore.v1 import site_model_service_pb2 as pb
from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.graph.hits import hits
from linkscore_scoring.site.model import SiteModel
from linkscore_server.grpc.convert import results
from linkscore_server.grpc.convert.names import site_name

Matrix = NDArray[np.float64]


def site_message(crawl: str, shard: SiteShard) -> pb.Site:
    """Return a site."""
    site = shard.model
    return pb.Site(
        name=site_name(crawl, site.name),
        host=site.name,
        stage=results.wire_stage(site.stage),
        page_count=site.pages,
        failed_count=site.failed,
        sample_count=len(site.sample),
        next_learning_at=site.schedule.next_at,
        learning=site.learning_since > 0,
        model_revision=site.revision,
        cluster_count=len(site.templates.clusters) if site.templates else 0,
        tag_path_count=len(site.apaths),
        link_count=len(site.memory),
        text_chars=site.texts.distinct_chars,
        duplicate_share=site.duplicates / site.pages if site.pages else 0.0,
        cluster_pages={
            results.cluster_name(c): n for c, n in site.crawled.items() if results.cluster_name(c)
        },
        policy_state=shard.served.describe(site),
        session_names=site.sessions.names(),
        policy_trust=[results.policy_trust(known) for known in shard.policy_trust()],
    )


def clusters(site: SiteModel, A: Matrix) -> list[pb.Cluster]:
    """Return the template clusters of a site, largest first; `A` as in `NavigationTable.adjacency`."""
    if site.templates is None:
        return []
    h, a = hits(A)
    found = [
        pb.Cluster(
            name=results.cluster_name(stats.id),
            sample_pages=stats.size,
            crawled_pages=site.crawled[stats.id],
            example_url=stats.example,
            tag_paths=stats.top_paths,
            hub=h[i],
            authority=a[i],
            dissimilarity=stats.dsim,
        )
        for i, stats in enumerate(site.templates.clusters)
    ]
    return sorted(found, key=lambda cluster: -cluster.sample_pages)


def edges(clusters: list[int], A: Matrix) -> list[pb.ClusterEdge]:
    """Return the links between clusters, heaviest first."""
    found = [
        pb.ClusterEdge(
            source=results.cluster_name(clusters[i]),
            destination=results.cluster_name(clusters[j]),
            weight=A[i, j],
        )
        for i, j in zip(*np.nonzero(A), strict=True)
    ]
    return sorted(found, key=lambda edge: -edge.weight)


def navigation(site: SiteModel) -> dict[str, pb.NavigationEntry]:
    """Return where links lead, by a name that orders them: source cluster, then tag path."""
    entries = [
        pb.NavigationEntry(
            source=results.cluster_name(row.source),
            tag_path=site.apaths.get(row.apath).raw,
            link_count=row.links,
            followed_count=round(row.followed),
            destination_probs={results.cluster_name(c): p for c, p in row.destinations.items()},
        )
        for row in site.navigation.entries()
    ]
    return {f"{entry.source}\t{entry.tag_path}": entry for entry in entries}
