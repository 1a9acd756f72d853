"""What a server says of itself: Prometheus metrics and JSON log lines.

It knows no other room: who does something counts it here. Gauges that are counted when Prometheus asks are
with what they count, in `crawls.collector`.
"""
