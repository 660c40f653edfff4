"""Police what arrives at the box, as an ISP does: police.py RATE BURST (tc-police(8))."""

import subprocess
import sys

rate, burst = sys.argv[1:]
for words in (
    "qdisc add dev box-server handle ffff: ingress",
    f"filter add dev box-server parent ffff: matchall action police rate {rate} burst {burst}"
    " conform-exceed drop",
):
    subprocess.run(["tc", *words.split()], check=True)
