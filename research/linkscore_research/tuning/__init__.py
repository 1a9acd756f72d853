"""Choose the constants of `harvest` by regret: ``python -m linkscore_research.tuning``, or ``make tune``."""
