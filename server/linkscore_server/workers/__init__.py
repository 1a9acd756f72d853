"""Several processes that serve one data folder at one port: `linkscore serve --workers N`; see ADR 21.

`supervisor` starts workers, starts them again and ends them, `shares` is what they are told, `worker` is one
of them, `supervised` says what else a worker may be, `metrics` shows the metrics of all at one address.
"""
