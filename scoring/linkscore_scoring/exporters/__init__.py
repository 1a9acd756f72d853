"""Rules of a site as files that crawlers load.

`rules` says what is handed out of a site, `files` writes it (a function a format), `portable` prints
expressions so that every engine reads them alike.
"""
