"""What people are told about a site: what its next fetches should bring, traps, templates."""
