"""What the papers claim, and what we found: the words of the page, a module a paper."""

from __future__ import annotations

from linkscore_research.papers.findings import anthelion, behavior, focus, news, source

INTRODUCTION = """# The papers, reproduced

Five papers are behind the policies. This page puts each table and figure of theirs beside ours. It is made of
`research/papers/results` by `python -m linkscore_research.papers page`, and
`python -m linkscore_research.papers --list` names what can be measured again.

Our sites are not theirs: a few thousand pages each, real engines or true captures, where they had mirrors of
20,000 pages or live sites. The line *data* of a table says how many draws it has, a column *draws* their
least and largest, or a dash where they are equal. Read differences of a few hundredths as none.
"""

PAPERS = (source.PAPER, focus.PAPER, news.PAPER, behavior.PAPER, anthelion.PAPER)
