"""Training of the page type classifiers: labelled sites in, weights and figures out."""
