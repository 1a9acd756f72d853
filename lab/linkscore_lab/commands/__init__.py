"""What the lab adds to the `linkscore` command; it needs the extra ``lab``.

The command line finds commands by their entry points (pyproject.toml) and loads a module to list its help, so
modules import click, and everything heavier when a command runs.
"""
