"""Sites to measure on: their pages, their labels, and which pages are relevant."""
