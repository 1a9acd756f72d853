"""Crawls divided into other groups: each event goes into the log of its group, see ADR 36.

An annex of the server, which nothing of the core imports: `linkscore data regroup`.
"""
