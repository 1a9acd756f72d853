"""Browse logs: files and batches of records in, daily counts without clients out."""
