"""A web page that shows what crawls of a server know; a client of the wire contract like any other."""

from linkscore_console.app import console_app

__all__ = ["console_app"]
