"""What a supervisor must know of the workers that it starts, whoever divides the shards among them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Coroutine
from typing import Any, cast

from linkscore_server.data_folder import DataFolder
from linkscore_server.directories import Directory, Parts, directory_of
from linkscore_server.settings import Settings
from linkscore_server.workers.address import WorkerAddress


class Supervised(Directory, ABC):
    """The directory of one of several processes that listen at one port.

    Parameters
    ----------
    parts
        The process.
    address
        Of this worker among its like.

    Attributes
    ----------
    address
        As given.
    is_waited_for
        Whether what others ask of a worker waits while it is replaced. If not, others have its shards then.
    """

    is_alone = False
    shares_port = True
    is_waited_for: bool = True

    def __init__(self, parts: Parts, address: WorkerAddress) -> None:
        self.address = address
        super().__init__(parts)

    @classmethod
    def supervisor(cls, settings: Settings) -> Coroutine[Any, Any, None]:
        """See `Directory.supervisor`."""
        from linkscore_server.workers.supervisor import Supervisor  # which no worker needs

        return Supervisor(settings, cls).run()

    @classmethod
    @abstractmethod
    def data_folder(cls, settings: Settings) -> DataFolder:
        """Return the data folder, locked, with what is made once before workers begin.

        Raises
        ------
        LinkscoreError
            If it is in use, or holds what cannot be served.
        """

    @classmethod
    def settings_of(cls, settings: Settings, number: int) -> Settings:
        """Return the settings of one worker, where they are not those of all."""
        return settings


def supervised(settings: Settings) -> type[Supervised]:
    """Return the directory of workers with such settings."""
    return cast("type[Supervised]", directory_of(settings))  # of settings that a supervisor gave
