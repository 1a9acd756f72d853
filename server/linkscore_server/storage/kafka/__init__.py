"""Logs of crawls on Kafka, or any broker that speaks its protocol; needs the extra `kafka`.

`records` says what lies in a partition and which of it counts, `log` writes and reads one, `brokers` speaks
to a cluster, `topics` sees to the settings of topics, `store` is all crawls of a cluster, `moving` and
`rewriting` copy whole crawls.
"""
