"""One crawl: events in, answers out.

`CrawlModel` is the state and changes by events only, so that the same events give the same state;
`CrawlQueries` reads it. Each site is a `SiteShard`: its model, and the policies that learn on it.
"""
