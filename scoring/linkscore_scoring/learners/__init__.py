"""Online classifiers of links, found by name, with which several policies learn."""
