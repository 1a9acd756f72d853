"""The views: each asks the source and fills its template."""
