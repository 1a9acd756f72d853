"""Visits of browse logs, by day and deletable, beside the event log: in Parquet files or in memory.

`VisitStore` is the seam, with one suite of tests for both kinds; `tables` says what a visit is, and counts
them.
"""
