"""How well orders mined from a browse log foresee the visits of later days, measured on a stored site."""
