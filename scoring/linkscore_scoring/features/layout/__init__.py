"""The layout of a page: its repeated records, the groups its links form, and signals of the kind of page.

`tree` holds the elements as columns, `text_blocks` and `regions` find text and records in it, `moments` reads
dates, `view` puts them together; `signals` measures a view, with the signals of links, records and titles in
a file each.
"""

from linkscore_scoring.features.layout.signals import SIGNALS, page_layout

__all__ = ["SIGNALS", "page_layout"]
