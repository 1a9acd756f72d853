"""Which URLs of a forum-like site lead from its entry over indexes to threads, learned online."""
