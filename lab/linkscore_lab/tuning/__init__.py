"""Choose the constants of `harvest` by regret: ``python -m linkscore_lab.tuning``, or ``make tune``."""
