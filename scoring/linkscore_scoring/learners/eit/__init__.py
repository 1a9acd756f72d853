"""Which URLs of a forum-like site lead from its entry over indexes to threads (Jiang 2013), learned online."""
