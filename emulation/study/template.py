"""The folder that `emulate new` makes: a study that runs without changes."""

from __future__ import annotations

import re
from pathlib import Path

from emulation.errors import ConfigError
from emulation.study import studies, trust

STUDY = """\
# yaml-language-server: $schema=study.schema.json
# What is asked: write it down here. Every key and value of this file is checked: `emulate check .`
format: 1
study: "{name}"
title: A study of my own

# --- The rig: what is around the queue under test -------------------------------------------------

rig:
  kind: daisy_chain             # client - router_up - delay - router_down - server
  base_rtt: 40 ms
  edge_rate: 1 Gbit/s           # of every port but the bottleneck's two
  sysctls:                      # of client and server
    net.ipv4.tcp_ecn: 0         # nobody asks for marks, which not all qdiscs make

memory: 256 MiB                 # of a guest

# --- The queue disciplines: names of your own, each a kind of tc with options ---------------------
# A kind of tc that is not named here can be used, too, as it comes.

qdiscs:
  fifo: {{kind: pfifo, options: {{limit: 200 packets}}}}
  codel: {{kind: codel, options: {{target: 5 ms, interval: 100 ms, limit: 1000 packets}}}}

axes:                           # short names for parameters that a sweep varies
  base_rtt: {{sets: rig.base_rtt}}

experiments:
  first:
    title: Latency under load
    measure: rrul               # how a run becomes numbers
    traffic:
      kind: flent
      test: rrul_be             # four TCP flows each way, and probes
      length: 20 s
      step: 200 ms
      start_jitter: 50 ms       # each flow starts up to this much later, as the seed says
    sweep:
      link: [20/5]              # download/upload in Mbit/s
      qdisc: [fifo, codel, fq_codel]
      cc: [cubic]
    repetitions: 2              # a repetition is a seed: 1 and 2

  command:
    title: A program of my own
    traffic:
      kind: programs
      length: 10 s
      files: [probe.py]
      programs:
        - {{kind: iperf, from: client, to: server}}
        - kind: command
          name: answers
          node: server
          command: [python3, probe.py, answer]
          until: load           # it is ended when the load is over
        - kind: command
          name: probe
          node: client
          command: [python3, probe.py, "{{server}}", "{{length_s}}"]
          after: {{udp: 9000, on: server}}
    sweep:
      link: [20/5]
      qdisc: [fifo, fq_codel]
      cc: [cubic]
    repetitions: 1
"""

PROBE = '''\
"""Send a small packet every 100 ms and print how long each answer took, a line of JSON each."""

import json
import socket
import sys
import time

PORT, EVERY_S = 9000, 0.1


def answer():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("0.0.0.0", PORT))
    while True:
        packet, sender = server.recvfrom(2048)
        server.sendto(packet, sender)


def probe(address, length_s):
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.connect((address, PORT))
    client.settimeout(1.0)
    began = time.monotonic()
    for number in range(int(length_s / EVERY_S)):
        time.sleep(max(0.0, began + number * EVERY_S - time.monotonic()))
        sent = time.monotonic()
        client.send(str(number).encode())
        try:
            while client.recv(2048) != str(number).encode():
                pass
        except (TimeoutError, ConnectionRefusedError):  # lost, or the load is over
            continue
        rtt_ms = round(1e3 * (time.monotonic() - sent), 3)
        print(json.dumps({"time_s": round(sent - began, 6), "rtt_ms": rtt_ms}), flush=True)


if sys.argv[1] == "answer":
    answer()
else:
    probe(sys.argv[1], float(sys.argv[2]))
'''

FIGURE = """\
notebook: rrul
title: Latency against goodput
caption: Induced latency and goodput of four flows each way, by queue discipline.
# claims: ["1", Fig. 2]         # where the statements of claims.csv stand that it is about
parameters:
  paper: "{name}"
  experiment: first
  figure: latency
  link: 20/5
  qdiscs: [fifo, codel, fq_codel]
  eras: [modern]
  ccs: [cubic]
  published_values: ""          # a file of published/ to be drawn beside it
"""

README = """\
# {name}

What is asked, and what came of it.

```sh
emulate check {name}              # is the file right?
emulate list {name}               # what would be run, and how long it takes
emulate run {name}/first          # the runs, into {name}/data
./reproduce-all --study {name}    # figures, tables and pages
```
"""

SCHEMA = Path(__file__).resolve().parents[2] / "docs" / "study.schema.json"


def make(folder: Path) -> list[Path]:
    """Write a new study into `folder`, which must not exist, and return the files written.

    The study is trusted from then on, however the user changes it. Raises `ConfigError` for a
    folder that exists or whose name cannot be that of a study.
    """
    name = folder.name
    if not re.fullmatch(r"[a-z][a-z0-9_-]*", name):
        todo = "write lower-case letters, digits, - and _, e.g. my-study"
        raise ConfigError(f"'{folder.name}' is not a name for a study", "emulate new", todo)
    if name in studies.shipped():
        raise ConfigError(
            f"there already is a study '{name}'", "emulate new", "choose another name"
        )
    if folder.exists():
        raise ConfigError("exists already", str(folder), "name a folder that does not exist")
    texts = {
        studies.FILE: STUDY.format(name=name),
        SCHEMA.name: SCHEMA.read_text(),
        "probe.py": PROBE,
        "figures/latency.yaml": FIGURE.format(name=name),
        "README.md": README.format(name=folder),
        ".gitignore": "data/\n",
    }
    for file, text in texts.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    trust.own(folder)
    return [folder / file for file in texts]
