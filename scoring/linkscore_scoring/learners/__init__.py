"""What several policies learn with: turns of equals, and online classifiers of links, found by name."""
