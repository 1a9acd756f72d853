"""Crawl for what is wanted in words: `policy` scores, `learning` is what a site and the crawl taught it."""
