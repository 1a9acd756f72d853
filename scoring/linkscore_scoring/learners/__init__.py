"""What several policies learn with: turns of equals, and an online classifier of links."""
