"""What iperf, iperf3, netperf and ping print, read into tables."""

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.runs import reports
from qdisclab.emulation.errors import DamagedData
from tests.data import provenances

PING = """\
PING 10.0.4.2 (10.0.4.2) 56(84) bytes of data.
[1420070402.040000] 64 bytes from 10.0.4.2: icmp_seq=1 ttl=62 time=40.0 ms
[1420070402.120000] 64 bytes from 10.0.4.2: icmp_seq=2 ttl=62 time=20.0 ms

--- 10.0.4.2 ping statistics ---
4 packets transmitted, 2 received, 50% packet loss, time 4929ms
"""
NETPERF = """\
MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.2.2 () port 0 AF_INET : demo
Recv   Send    Send
Socket Socket  Message  Elapsed
Size   Size    Size     Time     Throughput
bytes  bytes   bytes    secs.    10^6bits/sec

131072  16384  16384    32.05       2.93
"""
DATAGRAMS = """\
MIGRATED UDP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.2.2 () port 0 AF_INET : demo
Socket  Message  Elapsed      Messages
Size    Size     Time         Okay Errors   Throughput
bytes   bytes    secs            #      #   10^6bits/sec

212992    1000   4.00         6125      0      12.25
212992           4.00         4000              8.00
"""
REQUESTS = """\
MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 () port 0 AF_INET to 10.0.2.2 () port 0
Local /Remote
Socket Size   Request  Resp.   Elapsed  Trans.
Send   Recv   Size     Size    Time     Rate
bytes  Bytes  bytes    bytes   secs.    per sec

16384  131072 1        1       10.00      40.00
16384  131072
"""
IPERF = """\
19700101000000,10.0.1.1,43892,10.0.2.2,5001,13,0.0-1.0,125000,1000000
19700101000000,10.0.1.1,43904,10.0.2.2,5001,15,0.0-2.0,500000,2000000
19700101000000,10.0.1.1,43892,10.0.2.2,5001,13,0.0-2.0,750000,3000000
19700101000000,10.0.1.1,0,10.0.2.2,5001,-1,0.0-2.0,1250000,5000000
"""


def iperf3(**changed: Any) -> str:
    part = {"socket": 7, "start": 0, "seconds": 1.0, "bits_per_second": 4e6}
    sender = {**part, "seconds": 2.0, "retransmits": 9, "mean_rtt": 28200}
    report = {
        "start": {"version": "iperf 3.12"},
        "intervals": [{"streams": [{**part, "retransmits": 5, "rtt": 24571}]}],
        "end": {"streams": [{"sender": sender, "receiver": {**part, "bits_per_second": 3e6}}]},
    }
    return json.dumps({**report, **changed}, indent=1)


def table(folder: Path, **printed: str) -> pd.DataFrame:
    ran = {"iperf3": {"start_s": 0.5}}
    run = provenances.made_up(folder, "mine", "first", programs=ran)
    return reports.read(provenances.printed(run, **printed).provenance)


def test_each_program(tmp_path: Path) -> None:
    texts = {"ping": PING, "netperf": NETPERF, "rr": REQUESTS, "iperf": IPERF, "iperf3": iperf3()}
    found = table(tmp_path, **texts, other="{1}\n", server="Server listening\n")
    assert list(found.columns) == list(reports.COLUMNS)
    whole = found[found["whole"].astype(bool)].set_index(["program", "flow"])
    assert dict(whole["goodput_mbit_s"].dropna()) == {
        ("netperf", 0): 2.93, ("iperf", 0): 3.0, ("iperf", 1): 2.0, ("iperf3", 0): 3.0
    }  # fmt: skip
    assert whole.loc[("rr", 0), "rtt_ms"] == 25
    assert whole.loc[("ping", 0), ["rtt_ms", "lost_percent", "seconds"]].tolist() == pytest.approx(
        [30, 50, 0.1], abs=1e-6
    )
    assert whole.loc[("iperf3", 0), ["retransmits", "rtt_ms"]].tolist() == [9, 28.2]
    parts = found[~found["whole"].astype(bool)]
    assert parts["program"].value_counts().to_dict() == {"ping": 2, "iperf": 1, "iperf3": 1}
    of_iperf3 = parts[parts["program"] == "iperf3"].iloc[0]
    assert (of_iperf3["time_s"], of_iperf3["rtt_ms"], of_iperf3["retransmits"]) == (0.5, 24.571, 5)
    assert list(parts[parts["program"] == "ping"]["time_s"]) == pytest.approx([0, 0.1], abs=1e-6)


REFUSED = iperf3(intervals=[], error="refused", end={})


@pytest.mark.parametrize("text", ["", "{", "{}", "[" * 5000, iperf3(intervals=[{}]), REFUSED])
def test_what_is_no_report_has_no_rows(tmp_path: Path, text: str) -> None:
    assert table(tmp_path, iperf3=text).empty


def test_of_datagrams_what_arrived_counts(tmp_path: Path) -> None:
    (flow,) = table(tmp_path, netperf=DATAGRAMS).itertuples()
    assert (flow.seconds, flow.goodput_mbit_s) == (4.0, 8.0)


def test_lost_packets_of_udp_are_no_goodput(tmp_path: Path) -> None:
    udp = {"socket": 5, "start": 0, "seconds": 2.0, "bits_per_second": 8e6, "lost_percent": 25}
    (row,) = table(tmp_path, iperf3=iperf3(intervals=[], end={"streams": [{"udp": udp}]})).to_dict(
        "records"
    )
    assert (row["goodput_mbit_s"], row["lost_percent"]) == (6, 25)


def test_an_archive_that_cannot_be_read(tmp_path: Path) -> None:
    run = provenances.made_up(tmp_path, "mine", "first")
    assert reports.read(run.provenance).empty
    run.provenance.with_suffix(".output.tar.gz").write_bytes(b"nothing")
    with pytest.raises(DamagedData, match="not gzip data"):
        reports.read(run.provenance)
    run.provenance.with_suffix(".output.tar.gz").write_bytes(gzip.compress(b"nothing" * 100))
    with pytest.raises(DataError, match="cannot be read"):
        reports.read(run.provenance)
