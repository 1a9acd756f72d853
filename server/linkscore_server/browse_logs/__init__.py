"""Browse logs: files and batches of records in, daily counts without clients out, sites mined from them.

Who sends a file reads it, cleans it and cuts it into batches (`reading`); the server makes a batch visits,
which lie in one DuckDB file a crawl (`visits`). `service` answers the calls: it takes batches in, mines sites
and deletes old days; `command` is `linkscore logs import`.
"""
