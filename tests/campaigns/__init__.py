"""Long runs that try to break a server, as its clients do; a small one of each is among the tests."""
