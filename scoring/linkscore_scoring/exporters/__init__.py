"""Rules of a site as files that crawlers load: `rules` says what is handed out, `files` writes it."""
