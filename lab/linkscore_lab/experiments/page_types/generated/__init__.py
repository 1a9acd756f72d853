"""Pages of made-up engines: many templates of few pages, where stored sites are few of many."""
