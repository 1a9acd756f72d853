"""From the bytes of a page to features: tag paths, text blocks, links, and records where they are asked for.

`extract` reads HTML as it was fetched; `page_from_extracted` takes what a crawler parsed itself. Both give
`PageFeatures`: plain columns, no HTML, no lxml. Everything later reads these and nothing else.
"""
