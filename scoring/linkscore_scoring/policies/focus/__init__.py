"""FoCUS (Jiang, Song, Yu and Lin 2013): from the entry of a forum over its indexes to its threads.

In the order a page passes through them: `policy` (index, thread or other, by layout; scores, verdicts),
`forum_model` (what is learned, page by page: the entry, regular expressions of URLs on the way, how certain
it is), `paths` (what pages behind links turned out to be, and the way to threads).
"""
