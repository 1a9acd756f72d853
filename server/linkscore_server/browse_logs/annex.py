"""Browse logs as an annex of the server: its service, its visits, its hours of maintenance."""

from __future__ import annotations

from collections.abc import Iterator

from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_server.browse_logs.manager import FOLDER, BrowseLogManager, visits_in
from linkscore_server.browse_logs.metrics import BrowseMetrics
from linkscore_server.browse_logs.seeds import CrawlSeeds
from linkscore_server.browse_logs.service import BrowseLogService
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.data_folder import DataFolder
from linkscore_server.services import Host, Services


class BrowseLogs(Services):
    """Takes browse logs in, and mines them."""

    def __init__(self, host: Host) -> None:
        self.manager = BrowseLogManager(
            host.registry,
            host.settings,
            BrowseMetrics(host.metrics.registry),
            host.clock,
        )
        self.methods = {"SiteModelService/SuggestSeeds": CrawlSeeds(host.registry, self.manager).suggest}
        self.servicers = {"BrowseLogService": BrowseLogService(host.registry, self.manager)}

    def recovered(self, shard: str, model: CrawlModel) -> None:
        """Publish the visits of batches that the log has, and drop the others."""
        self.manager.visits(shard).recover(model.ledger.batches)

    def opened(self, actor: CrawlActor) -> None:
        """Mine what is due."""
        self.manager.crawl_opened(actor)

    def start(self) -> None:
        """Begin maintenance."""
        self.manager.start()

    async def idle(self) -> None:
        """Wait for minings."""
        await self.manager.idle()

    async def close(self) -> None:
        """Finish batches, and stop."""
        await self.manager.close()

    @staticmethod
    def problems(folder: DataFolder, shard: str) -> Iterator[str]:
        """See `Services.problems`."""
        return iter(visits_in(folder.beside(shard, FOLDER)).problems())
