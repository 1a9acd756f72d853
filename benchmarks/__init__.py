"""What linkscore costs, measured: ``python -m benchmarks``. Reported, not gating."""
