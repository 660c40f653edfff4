"""Tests of studies.khademi2013.captures.pings: what ping printed."""

from pathlib import Path

import pandas as pd
import pytest

from qdisclab.emulation.errors import GuestFailure
from studies.khademi2013.captures import pings


def test_what_ping_printed_goes_to_the_requests_that_were_captured(tmp_path: Path) -> None:
    answer = "64 bytes from 10.0.3.1: icmp_seq=2 ttl=62 time=104 ms\n"
    (tmp_path / pings.LOG).write_text("PING 10.0.3.1\n" + answer)
    sent = pd.DataFrame({"seq": [1, 2], "time_ns": [1000, 1100]})
    found = pings.read_pings(tmp_path, sent, began_ns=900)
    assert found["sent_ns"].tolist() == [100, 200]
    assert found["answer_ms"].fillna(-1).tolist() == [-1, 104]
    with pytest.raises(GuestFailure, match="an answer to 2, which was not sent"):
        pings.read_pings(tmp_path, sent[:1], began_ns=900)
