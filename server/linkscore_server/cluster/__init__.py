"""Processes on several machines that are one server, over logs on Kafka; needs the extra `kafka`.

Shards are in *slots*. `group` says which slots are this process's, by a consumer group of the brokers;
`routes` tells the others, and hears from them; `owners` finds who has a shard; `cluster` takes shards and
lets them go.
"""
