"""iperf's UDP server in the guest, which flent's `udp_flood` sends to, and the client it finds."""

import os

PORT = 5001  # iperf's own
IPERF = "/usr/bin/iperf"
FOLDER = "/tmp/flood"

#: flent 2.1.1 asks `iperf -h` for an option that iperf 2.1 has under another name, looks for the
#: answer in the standard error, and writes the rate and the size of datagrams that nobody gave as
#: "[None]", where its runner's own rate is 100 Mbit/s.
CLIENT = f"""#!/bin/sh
[ "$1" = -h ] && echo "--enhancedreports" >&2
exec {IPERF} $(echo " $* " | sed '
    s/ --enhancedreports / --enhanced /
    s/ --bandwidth \\[None\\] --len \\[None\\] / --bandwidth 100M /')
"""


def start(rig, traffic):
    """The server, listening on the server's node; flent finds the client."""
    from traffic import serve

    os.makedirs(FOLDER)
    with open(f"{FOLDER}/iperf", "w") as script:
        script.write(CLIENT)
    os.chmod(f"{FOLDER}/iperf", 0o755)
    os.environ["PATH"] = f"{FOLDER}:{os.environ['PATH']}"
    return [serve(rig, traffic["server"], [IPERF, "-s", "-u"], "udp", PORT)]
