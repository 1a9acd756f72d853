"""The layout of a page: signals of what kind of page it is.

`tree` holds the elements as columns and finds its text blocks, `regions` finds records, `moments` reads
dates, `signals` measures the page.
"""

from linkscore_scoring.features.layout.signals import SIGNALS

__all__ = ["SIGNALS"]
