"""Settings of a crawl that forbid links: how far it may go, and what it takes for a trap."""
