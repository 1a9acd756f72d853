"""The workers of a server as an annex: each has the shards that its number says, and asks the others."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from linkscore_scoring.engine.groups import Shard
from linkscore_server.data_folder import DataFolder
from linkscore_server.directories import Parts
from linkscore_server.routing.directory import GroupDirectory
from linkscore_server.routing.owners import LocalOwner, Owner, Owners
from linkscore_server.routing.peer_calls import server_for_peers
from linkscore_server.routing.reading import ReadingPeer
from linkscore_server.settings import Settings
from linkscore_server.store import open_store
from linkscore_server.workers.address import WorkerAddress
from linkscore_server.workers.supervised import Supervised


class WorkerDirectory(Supervised, GroupDirectory):
    """Has the shards of one worker, and finds the worker that has another one.

    Parameters
    ----------
    parts
        The process.
    address
        Of this worker among its like.
    """

    def __init__(self, parts: Parts, address: WorkerAddress) -> None:
        super().__init__(parts, address)
        self._peer_server, _ = server_for_peers(
            address.sockets[address.number],
            self.local,
            self.router,
            self.owners,
            parts.settings.max_message_bytes,
        )

    def owners_of(self, local: LocalOwner) -> Owners:
        """See `GroupDirectory.owners_of`."""
        reader, most = self.parts.scoring.reader, self.parts.settings.max_message_bytes
        workers: list[Owner] = [ReadingPeer(socket, most, reader) for socket in self.address.sockets]
        workers[self.address.number] = local
        return Owners(workers, self.address.number)

    @classmethod
    def fits(cls, settings: Settings) -> int:
        """See `Directory.fits`."""
        return 2 if settings.workers > 1 else 0

    @classmethod
    def data_folder(cls, settings: Settings) -> DataFolder:
        """See `Supervised.data_folder`."""
        folder = DataFolder(Path(settings.data_dir))
        try:
            with closing(open_store(settings.data_dir)) as store:
                store.secret()  # made once, before workers read it
        except BaseException:
            folder.close()
            raise
        return folder

    def owns(self, shard: Shard) -> bool:
        """See `Directory.owns`."""
        return self.address.owns(shard)

    async def start(self) -> None:
        """See `Directory.start`."""
        await self._peer_server.start()
        await self.owners.all_there()
        await super().start()

    async def close(self) -> None:
        """See `Directory.close`; others are answered what they asked before they were told."""
        await self._peer_server.stop(self.parts.settings.drain_s)
        await super().close()
