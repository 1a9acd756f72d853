"""Errors without the frames they came through; needs nothing else of the server."""

from __future__ import annotations


def without_frames(error: Exception) -> Exception:
    """Return an error that no longer holds the frames it came through.

    They hold the request, and often the error: such a ring is left to the garbage collector, which comes by
    numbers of objects, not by bytes. 84 refused pages of 20 MB filled a server for good.
    """
    error.__traceback__ = error.__context__ = error.__cause__ = None
    return error
