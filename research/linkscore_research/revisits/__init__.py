"""Schedules of revisits against true histories of sites: `python -m linkscore_research.revisits`."""
