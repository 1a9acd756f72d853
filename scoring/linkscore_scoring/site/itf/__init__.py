"""Regular expressions of the index, thread and page-flip URLs of a site (Jiang 2013, section 4.3.2)."""
