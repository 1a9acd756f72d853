"""Where events live: an append log per crawl with snapshots beside it, on disk or in memory."""
