"""What several tests share: servers and crawls to ask, sites and pages to crawl, hostile bytes."""
