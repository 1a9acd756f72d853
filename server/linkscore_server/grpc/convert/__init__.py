"""Messages of linkscore.v1 to values of the scoring library, and back: the only room that knows both.

`names` of resources, `policies` and `crawls` as they are configured, `pages` in, `results` of
LinkScoringService out, `sites` and `rules` as SiteModelService shows them,
`inspection` as InspectionService does.
"""
