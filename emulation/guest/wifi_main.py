"""The first process of a guest whose rig has radio channels: a rig that knows them, then `main.py`.

It lies in the guest as `main.py`, and what wired jobs call so as `wired_main.py` (`emulation.vm`).
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import readback
import rig
import wifi_rig
import wired_main

if __name__ == "__main__":
    rig.Rig = wifi_rig.Rig
    readback.read, readback.compare = wifi_rig.read, wifi_rig.compare
    wired_main.main()
