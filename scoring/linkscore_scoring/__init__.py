"""Link scoring as a pure library: features, site models, learners, policies, and the crawls they work in.

No grpc, files, clock or environment in here: time and randomness enter as arguments. Data flows one way
through the packages::

    features, urls -> pagination, clustering, graph, browse_logs -> site -> learners -> policies -> engine

A program drives a crawl by `engine.crawl.CrawlModel` and `engine.queries.CrawlQueries`; who writes a policy
starts from `policies.Policy` and checks it with `testing`.
"""
