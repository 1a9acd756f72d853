"""Experiments: what measures papers, tunes constants or compares ideas. Nothing of the product imports it.

Rooms: `clustering`, `page_types`, `pagination` and `news` measure on labelled data what parts do; `tuning`
chooses the constants of `harvest` and says what changes are worth; `wanted` crawls for tags, beside other
orders. `scrapy_policies` and `console_teaching` crawl stored sites with real Scrapy.
"""

# Import a room: each needs other libraries.
__all__: list[str] = []
