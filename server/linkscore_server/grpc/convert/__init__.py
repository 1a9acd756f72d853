"""Messages of linkscore.v1 to values of the scoring library, and back. The only place that knows both."""
