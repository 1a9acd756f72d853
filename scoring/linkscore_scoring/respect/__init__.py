"""`Crawl.respect`: uses that a crawl is for, and sites and pages that reserve them, in every way sites do."""
