"""What packets did on their way: captures of a run, and what each kind of run makes of them.

`frames` decodes them, `follow` follows each packet through a queue, `counters` checks that the
qdisc counted the same, `table` and `flent` write. The other modules are reductions: pure functions
from what a guest left to what is kept.
"""
