"""Models of one site: templates, navigation, URL patterns, novelty."""
