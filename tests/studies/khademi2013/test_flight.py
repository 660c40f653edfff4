"""Tests of studies.khademi2013.captures.flight: a window as the captures show it."""

import pandas as pd

from studies.khademi2013.captures.flight import flights


def test_in_flight_is_what_is_sent_and_not_acknowledged() -> None:
    def sent(time_ns: int, seq: int, payload: int, flags: int = 0x10) -> dict[str, object]:
        about = {"sender": 1, "port": 2, "time_ns": time_ns}
        return {**about, "seq": seq, "payload": payload, "flags": flags}

    data = pd.DataFrame(
        [sent(0, 99, 0, flags=2), *(sent(10 + step, 100 + 10 * step, 10) for step in range(4))]
    )
    acks = pd.DataFrame({"sender": 1, "port": 2, "time_ns_then": [12.5], "ack": [120]})
    # As each is sent: nothing, 10, 20 and 30; then the first two are acknowledged: 20.
    assert flights(data, acks) == {"p10": 4, "p50": 20, "p90": 26}
