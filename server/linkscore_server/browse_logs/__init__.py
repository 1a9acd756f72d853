"""Browse logs: files and batches of records in, daily counts without clients out, sites mined from them.

A file is read (`log_files`, `formats`), cleaned (`cleaning`) and cut into batches (`batching`) by whoever
sends it; a batch is checked and made into visits (`staging`, `records`) by the server; `manager` takes
batches in, mines sites in `mining_pool` and deletes old days. The visits of a crawl lie in one DuckDB file
(`visits`). `service` answers calls, `command` is `linkscore logs import`, `annex` is all of it.
"""
