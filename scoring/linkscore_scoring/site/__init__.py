"""The state of one site: links and texts seen, templates, where links lead, what fetches brought.

`SiteModel` has it all, written by one thread, event by event; policies only read it. Each of its tables is
one file here; what a site takes in is a `Fetch`.
"""
