"""Crawlers of all languages, plain beside linkscore, and what an outage of its server costs them."""

# Import a module: each needs other libraries.
__all__: list[str] = []
