"""What browse logs tell about a site: counts in, news prefixes and behaviour patterns out."""
