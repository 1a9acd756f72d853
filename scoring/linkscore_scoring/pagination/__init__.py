"""Pagination: links to other pages of one list or thread, and the lists they are of.

A *page link* is a link to another page of the same list or thread: ``1 2 3``, ``next``, ``older posts``.
`page_links` tells them by one page alone, reads numbers in URLs, and joins pages over a site; `anchors` reads
texts.

Source: Jiang, Song, Yu and Lin 2013, FoCUS, TKDE 25(6), section 4.3.1, who call them page-flipping links.
"""
