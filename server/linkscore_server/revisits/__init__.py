"""Revisits as an annex of the server: which known pages to fetch again, and what became of such fetches."""

from linkscore_server.revisits.annex import Revisits

__all__ = ["Revisits"]
