"""A server of one's own on a data folder, for commands that are given the folder instead of an address."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from linkscore_server.app import Application
from linkscore_server.settings import Settings

_START_S = 600.0


@contextmanager
def private_server(data_dir: Path) -> Iterator[str]:
    """Serve a data folder, which no other server may have open; gives the address.

    On leaving, minings that became due are waited for.

    Raises
    ------
    LimitExceeded
        If another server has the folder open.
    OSError
        If it cannot be read.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        app = asyncio.run_coroutine_threadsafe(_started(data_dir), loop).result(_START_S)
        try:
            yield app.address
        finally:
            asyncio.run_coroutine_threadsafe(_stop(app), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _started(data_dir: Path) -> Application:
    app = Application(Settings(listen="127.0.0.1:0", metrics_listen="", data_dir=str(data_dir)))
    await app.start()
    return app


async def _stop(app: Application) -> None:
    await app.browse.idle()
    await app.stop()
