"""Policies that go by the browse logs of a site: `news_prefix` (Wang 2008), `behavior_fetch` and
`behavior_discovery` (Liu 2011).
"""
