"""HTML and URLs to features."""
