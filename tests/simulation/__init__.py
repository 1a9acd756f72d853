"""A cluster in virtual time: the servers' own code over brokers, a group and a network that are played.

`world` has time, processes and their threads; `brokers` keeps records and divides slots; `fleet` runs the
code of servers on them, and callers, and says what must hold; `faults` is one run. Its number gives the whole
run: a fault that was found is found again.
"""
