"""docs/testbed-on-paper.md, followed: its file, its commands, and what its tables say."""

import os
import re
import sys
from pathlib import Path

import pytest

from tests import ROOT, captured

PAGE = ROOT / "docs" / "testbed-on-paper.md"

pytestmark = pytest.mark.kernel

#: What is asked of the tables that the page prints.
ASKED = """
rtts = runs.summary().set_index(["qdisc", "program"])["base_rtt_ms"].round(1)
assert set(rtts["codel"].items()) == {("with_ecn", 20.0), ("without", 80.0)}, rtts
shares = packets.shares(table, by=["qdisc", "class"])
ecn, other = "CS0 ECT(0)", "CS0 Not-ECT"
assert shares.loc[("codel", ecn), "marked"] > 0 == shares.loc[("codel", ecn), "dropped"]
assert shares.loc[("codel", other), "dropped"] > 0 == shares.loc[("codel", other), "marked"]
assert (shares.loc["fifo", "marked"] == 0).all() and (shares.loc["fifo", "dropped"] > 0).all()
waits = packets.sojourn(table, by="qdisc")["mean"]
assert waits["codel"] < 15 < 80 < waits["fifo"] < 122, waits  # ms; 100 packets take 121
"""


def test_the_page_leads_from_a_rig_to_its_packets(tmp_path: Path) -> None:
    found = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    blocks: dict[str, str] = dict(found)
    assert blocks.keys() == {"yaml", "sh", "python"}
    (tmp_path / "on-paper").mkdir()
    (tmp_path / "on-paper/study.yaml").write_text(blocks["yaml"])
    environment = {**os.environ, "PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}"}
    for command in (
        ["bash", "-euo", "pipefail", "-c", blocks["sh"]],
        [sys.executable, "-c", blocks["python"] + ASKED],
    ):
        done = captured(command, cwd=tmp_path, env=environment)
        print(done.stdout)
        assert done.returncode == 0, done.stderr[-4000:]
