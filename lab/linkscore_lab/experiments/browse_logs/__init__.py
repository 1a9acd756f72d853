"""Browse logs in the lab: counts of a file, without a server."""
