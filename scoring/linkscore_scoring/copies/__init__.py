"""Copies before the fetch: what fetched pages say of links that lead to text the site shows elsewhere."""
