"""Several processes on a machine, each a server of a cluster of its own: `--workers N` with `log = kafka://`.

`settings` gives each its port and its folder, `directory` is what such a worker is; see ADR 39.
"""
