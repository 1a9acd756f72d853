"""What several tests share: servers and crawls to ask, sites and pages to crawl, hostile bytes.

A folder in here is named after an annex, and goes with it; `tools/deletion_test.py` says which.
"""
