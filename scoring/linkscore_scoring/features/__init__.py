"""From the bytes of a page to features: tag paths, text blocks, links, and layout where it is asked for.

`extract` reads HTML as it was fetched; `with_links` takes the links that a crawler found itself. Both give
`PageFeatures`: plain columns, no HTML, no lxml. Everything later reads these and nothing else.
"""
