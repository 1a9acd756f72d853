"""How well news is found from a browse log, measured against labelled pages."""
