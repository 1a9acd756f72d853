"""A crawl as tables for analysts: `linkscore export tables` writes Parquet files.

`files` says what tables there are and writes them in bounded memory, `rows` makes them of a log and of the
state it led to, `command` is the command.
"""
