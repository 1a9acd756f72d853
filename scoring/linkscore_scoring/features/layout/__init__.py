"""Layout of a page: regions of repeated records, groups of links, and signals of the kind of page."""
