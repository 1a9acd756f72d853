"""Calls about crawls whose sites are in several groups, in this process or in others; see ADR 20.

`router` finds who owns what a call is about; `scatter_gather` and `fan_out` take calls apart and put answers
together;
`streams` does so message by message; `coordinator` makes, changes and deletes all groups of a crawl; `owners`
is who answers for a group, `peer_queries` what owners are asked beside the contract, `peers` how other
processes are asked, `peer_calls` how they are answered, `reading` how pages for them are read first.
"""
