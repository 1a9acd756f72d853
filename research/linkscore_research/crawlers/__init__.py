"""Real crawlers in other languages, plain beside linkscore, through outages too."""
