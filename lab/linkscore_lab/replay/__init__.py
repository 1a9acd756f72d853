"""Crawl stored sites again under any policy, and compare what came of it."""
