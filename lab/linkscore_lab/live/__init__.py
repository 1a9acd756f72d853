"""Experiments on a crawl that runs: which of two policies does better on its sites.

`sequential` has the interval, which holds however often somebody looks; `comparison` says what follows
for the sites of a crawl.
"""
