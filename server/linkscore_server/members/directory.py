"""A worker that is a server of a cluster: the group of all servers says which slots it has."""

from __future__ import annotations

import re
from pathlib import Path

from linkscore_scoring.errors import CorruptState
from linkscore_server.addresses import check_free
from linkscore_server.cluster.directory import ClusterDirectory
from linkscore_server.directories import Parts
from linkscore_server.members.settings import MemberSettings
from linkscore_server.routing.peer_calls import server_for_peers
from linkscore_server.settings import Settings
from linkscore_server.storage.files import FileStore
from linkscore_server.workers.address import WorkerAddress
from linkscore_server.workers.supervised import Supervised


class MemberDirectory(Supervised, ClusterDirectory):
    """Has slots as any server of the cluster; the supervisor asks it over a socket of its own.

    A worker that is started again has the name of the one before in the group, and so its slots: no other
    process is left with that name, the kernel has said so. It has none where nobody could take one that ends
    for good out of the group (`eviction.can_evict`).
    """

    is_waited_for = False

    def __init__(self, parts: Parts, address: WorkerAddress) -> None:
        super().__init__(parts, address)
        socket = address.sockets[address.number]
        if self._peer_server is not None:
            self._peer_server.add_insecure_port(socket)
        else:  # a front, which no other server asks
            most = parts.settings.max_message_bytes
            self._peer_server, _ = server_for_peers(socket, self.local, self.router, self.owners, most)
        if self._evict() is not None:
            self.instance = re.sub(r"[^A-Za-z0-9._-]", "-", self.owners.address)

    @classmethod
    def fits(cls, settings: Settings) -> int:
        """See `Directory.fits`: better than a server of a cluster that is one process."""
        return 3 if MemberSettings.of(settings).has_members else 0

    @classmethod
    def data_folder(cls, settings: Settings) -> FileStore:
        """See `Supervised.data_folder`: each worker has a folder in it."""
        # Late: every server asks whether this directory fits, and most have no client of brokers.
        from linkscore_server.storage.kafka.store import refuse_logs

        found = MemberSettings.of(settings)
        for number in range(found.workers):
            check_free("peers_listen", found.of_worker(number).peers_listen)
        folder = FileStore(Path(settings.data_dir))
        try:
            refuse_logs(folder)
        except CorruptState:
            folder.close()
            raise
        return folder

    @classmethod
    def settings_of(cls, settings: Settings, number: int) -> Settings:
        """See `Supervised.settings_of`."""
        return MemberSettings.of(settings).of_worker(number)
