"""Formats of browse logs, one file each: how a file becomes records.

The registry is `FORMATS`; `detect` finds out which format a file has.
"""

from linkscore_server.browse_logs.formats.access_log import access_records, vhost_records
from linkscore_server.browse_logs.formats.base import LogFile, Reader
from linkscore_server.browse_logs.formats.delimited import csv_records, tsv_records
from linkscore_server.browse_logs.formats.json_lines import json_records
from linkscore_server.browse_logs.formats.parquet import parquet_records

FORMATS: dict[str, Reader] = {
    "csv": csv_records,
    "tsv": tsv_records,
    "json": json_records,
    "combined": access_records,
    "vhost_combined": vhost_records,
    "parquet": parquet_records,
}

__all__ = ["FORMATS", "LogFile", "Reader"]
