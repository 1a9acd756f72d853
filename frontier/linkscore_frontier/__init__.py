"""A frontier that speaks URLFrontier's contract and gives URLs in the order linkscore advises.

A process of its own, a client of the public contract: `linkscore frontier`. `store` keeps the URLs of a
crawl, `crawls` those of all, and asks linkscore, `service` answers the calls.
"""
