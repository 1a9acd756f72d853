"""Object storage: snapshots of crawls on Kafka, and whole crawls as copies, see ADR 38.

An annex of the server, which nothing of the core imports.
"""
