"""The `linkscore` command: one tree of commands, those that ask a server on `linkscore.Client`.

This package needs the extra ``cli`` (click and rich) and imports nothing of linkscore but the client, so that
online commands run where neither lxml nor numpy is. Commands of the server and of the lab are found by their
entry points (group ``linkscore.commands``), as those of anybody else are.
"""
