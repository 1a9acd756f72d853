"""The layout of a page: signals of what kind of page it is.

`tree` holds the elements as columns and finds text blocks, `moments` reads dates, `signals` measures it.
"""
