"""One crawl as a deterministic machine: events in, scored links out. No clock, no files, no sockets."""
