"""``make power N=200``: power cuts. What was not synced is lost, in part or whole, in any order.

`recorder.c` writes down what a server does to its files, `disk` makes of that any folder that a power cut may
leave, `life` is what a server does between two cuts and what must be so after one, `campaign` cuts.
"""
