"""URLs by the URL Standard: identity, hrefs resolved, patterns of those of a site, session ids in them."""
