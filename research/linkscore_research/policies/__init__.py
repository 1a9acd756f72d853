"""Policies of the literature to compare with: entry points of this distribution; clusterers come along."""

from linkscore_research import clusterers as clusterers
