"""Copies before the fetch: which links lead to text that fetched pages show."""
