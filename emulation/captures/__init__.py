"""Captures of a run, and their reduction to the data that each kind of run stores.

`frames` decodes captures, `follow` follows each packet through a queue, `counters` checks that the
qdisc counted the same packets, `table` and `flent` write files. The other modules are reductions:
pure functions from the files that a guest left to the data that is stored.
"""
