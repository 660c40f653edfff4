"""The bulk transfers of a sender: iperf's, a process per flow.

    bulk.py NODE LOAD SEED LENGTH_S MTU RECEIVER…

The flows of a load go round the senders. Each starts up to a second late; all end with the load.
"""

import random
import subprocess
import sys

from loads import begin, counts, set_mtu, wait_until

LATEST_S = 1.0
LONGER_S = 60.0  # than the load


def main(node: str, load: str, seed: str, length_s: str, mtu: str, *receivers: str) -> None:
    """Send; a flow that ends before the load does is an error."""
    number = int(node.removeprefix("sender")) - 1
    began = begin(receivers[number])
    set_mtu("eth0", int(mtu))
    rng = random.Random(f"{seed} {node}")
    mine = range(number, counts(load)["bulk"], len(receivers))
    flows = []
    for late_s in sorted(LATEST_S * rng.random() for _ in mine):
        wait_until(began + late_s)
        # -C: no header before the data, which servers wait for
        command = ["iperf", "-C", "-c", receivers[number], "-t", f"{float(length_s) + LONGER_S:g}"]
        flows.append(subprocess.Popen(command, stdin=subprocess.DEVNULL))
    wait_until(began + float(length_s))
    if any(flow.poll() is not None for flow in flows):
        sys.exit("a flow ended before the load")
    for flow in flows:
        flow.kill()


if __name__ == "__main__":
    main(*sys.argv[1:])
