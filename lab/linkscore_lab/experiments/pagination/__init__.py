"""How well page flips are told: labelled links of stored pages against `linkscore_scoring.pagination`."""
