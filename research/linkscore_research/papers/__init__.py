"""The papers behind the policies, table by table: ours beside theirs.

``python -m linkscore_research.papers --list`` names the tables and figures, ``NAME`` measures one and writes
``research/papers/results/NAME.json``, and ``page`` makes ``docs/reference/reproduction.md`` of all results.
"""
