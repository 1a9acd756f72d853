"""Replay, demonstration and measuring tools; may read files and labels."""
