"""What the lab adds to the `linkscore` command; it needs the extra ``lab``.

`replay` (with `suite` and `compare`), `measure` (`demo`, `cluster`, `regexes`, `logs report`) and
`train`. The command line finds them by their entry points (pyproject.toml) and loads a module to list its
help, so modules import click, and everything heavier when a command runs.
"""
