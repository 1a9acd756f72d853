"""Page flips: links to other pages of the same list or thread (Jiang 2013, section 4.3.1)."""
