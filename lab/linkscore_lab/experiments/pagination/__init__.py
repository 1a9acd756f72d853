"""How well page links are told: labelled links of stored pages against `linkscore_scoring.pagination`."""
