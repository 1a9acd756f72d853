"""Browse logs as a part of the server: its service, its visits, its hours of maintenance."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_server.browse_logs.manager import FOLDER, BrowseLogManager, visits_in
from linkscore_server.browse_logs.metrics import BrowseMetrics
from linkscore_server.browse_logs.seeds import CrawlSeeds
from linkscore_server.browse_logs.service import BrowseLogService
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.data_folder import DataFolder
from linkscore_server.observability.metrics import Metrics
from linkscore_server.settings import Settings


class BrowseLogs:
    """Takes browse logs in, and mines them."""

    def __init__(
        self, registry: CrawlRegistry, settings: Settings, metrics: Metrics, clock: Callable[[], float]
    ) -> None:
        self.manager = BrowseLogManager(registry, settings, BrowseMetrics(metrics.registry), clock)
        self.seeds = CrawlSeeds(registry, self.manager)
        self.service = BrowseLogService(registry, self.manager)

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
        """Yield what is wrong with what is kept beside the events of a shard in a data folder."""
        return iter(visits_in(folder.beside(shard, FOLDER)).problems())
