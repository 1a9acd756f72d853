"""Crawls for pages that are wanted in words: ``python -m linkscore_research.wanted``.

`tasks` makes them from tags that pages carry themselves, half to choose on and half to judge on; `orders` are
crawlers to compare with; `measure` runs both and prints the table of research/notebook/topic.md.
"""
