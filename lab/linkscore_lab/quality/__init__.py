"""The quality gate: harvest figures of stored sites, held against a committed baseline."""
