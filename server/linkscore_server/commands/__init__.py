"""What the server adds to the `linkscore` command: `serve`, `check-config`, `health` and `data`.

The command line finds them by their entry points (pyproject.toml) and loads a module to list its help, so
modules import click and the settings, and everything heavier when a command runs.
"""
