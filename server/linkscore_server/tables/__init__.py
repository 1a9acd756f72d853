"""A crawl as tables for analysts: `linkscore export tables` writes Parquet files.

`columns` says what tables there are, `rows` makes them of a log and of the state it led to, `files` writes
them in bounded memory, `command` is the command.
"""
