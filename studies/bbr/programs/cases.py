"""The test cases of draft-ietf-ccwg-bbr's appendix, on a congestion control.

    cases.py CONTROL [NUMBER...]    as root, in a guest or on any Linux; needs ip and tc

Prints a line of JSON for each case, with the numbers that measures.py describes. A control that
does not tell its state (`flow.py`) has only the numbers that need none; what a case waits for in
vain is its error.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from flow import FRAME, MBIT, MSS, Flow, Network, Sample

CONTROL = sys.argv[1]
UNDONE = ("TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo", "TCPLossUndo", "TCPSpuriousRTOs")
PROBE_BW = ("UP", "DOWN", "CRUISE")  # REFILL has the gains of CRUISE

Numbers = dict[str, float]


def of_rate(bytes_s: float, mbit_s: float) -> float:
    """Return a rate of payload in percent of what a link of `mbit_s` can carry of it."""
    return 100 * bytes_s / (mbit_s * MBIT / 8 * MSS / FRAME)


def use(samples: list[Sample], mbit_s: float) -> float:
    """Return what was delivered in percent of what the link can carry."""
    first, last = samples[0], samples[-1]
    return of_rate((last.delivered - first.delivered) * MSS / (last.time - first.time), mbit_s)


def mean(values: list[float]) -> float:
    """Return the mean; of nothing it raises."""
    if not values:
        raise LookupError("no such stay in a state")
    return sum(values) / len(values)


def share(flags: list[bool]) -> float:
    """Return how many hold, in percent."""
    return 100 * mean([float(flag) for flag in flags])


def over(before: Sample, after: Sample) -> float:
    """Return the packets in flight beyond the estimated BDP as a state is left."""
    return min(one.inflight - one.bdp for one in (before, after))


def undone() -> int:
    """Return how often a's TCP took a reaction to loss back."""
    names, values = Path("/proc/self/net/netstat").read_text().splitlines()[:2]
    counts = dict(zip(names.split(), values.split(), strict=True))
    return sum(int(counts[name]) for name in UNDONE)


def a1() -> Numbers:
    """STARTUP is left on a plateau of the bandwidth."""
    Network(20, 40, 1000)
    flow = Flow(CONTROL)
    left = flow.enters("DRAIN", *PROBE_BW)
    full, counted, rounds = 0.0, 0, 0
    for one in flow.samples:
        if one.rounds != rounds:
            rounds, counted = one.rounds, counted + 1
            if one.bw >= 1.25 * full:
                full, counted = one.bw, 0
    error = abs(of_rate(left.bw, 20) - 100)
    return {"error": error, "rounds": counted, "drain": 100.0 * (left.state == "DRAIN")}


def a2() -> Numbers:
    """STARTUP is left on loss while the application is the limit."""
    path, flow = Network(50, 40, 1000), Flow(CONTROL)
    began = flow.run(1, mbit_s=20)
    if began.state != "STARTUP":
        raise LookupError(f"in state {began.state or 'unknown'} before any loss")
    path.queue("loss 20%")
    flow.run(0.8, mbit_s=20)
    states = [one for one in flow.since(began.time) if one.state != "STARTUP"]
    end = states[0] if states else flow.now
    return {"rounds": end.rounds - began.rounds, "drain": 100.0 * (end.state == "DRAIN")}


def a3() -> Numbers:
    """DRAIN is left when no more is in flight than the BDP."""
    Network(20, 40, 1000)
    flow = Flow(CONTROL)
    gain = flow.enters("DRAIN").gain
    after = flow.leaves()
    before = flow.samples[-2]
    return {"gain": gain, "over": over(before, after), "next": 100.0 * (after.state in PROBE_BW)}


def a4() -> Numbers:
    """DRAIN is left after three rounds, also where the bandwidth falls by a tenth as it begins."""
    path, flow = Network(20, 40, 1000), Flow(CONTROL)
    began = flow.enters("DRAIN")
    path.rate(18)
    return {"rounds": flow.leaves().rounds - began.rounds}


def steady(state: str) -> list[tuple[Sample, Sample, Sample]]:
    """Return the stays in a state of 12 s on a link that stays the same."""
    Network(20, 40, 1000)
    flow = Flow(CONTROL)
    flow.enters("UP")
    flow.run(12)
    return flow.spells(state)


def a5() -> Numbers:
    """PROBE_UP is left on a plateau of the bandwidth."""
    spells = steady("UP")
    rounds = mean([after.rounds - first.rounds for first, _, after in spells])
    return {"rounds": rounds, "down": share([after.state == "DOWN" for *_, after in spells])}


def a6() -> Numbers:
    """PROBE_UP is left on loss while the application is the limit."""
    path, flow = Network(20, 40, 1000), Flow(CONTROL)
    flow.run(1)
    flow.enters("UP")
    began = flow.run(0.2, mbit_s=10)
    if began.state != "UP":
        raise LookupError(f"in state {began.state} before any loss")
    path.queue("loss 10%")
    after = flow.leaves(mbit_s=10)
    # with so little in flight PROBE_DOWN may be over before the next sample
    down = after.state in ("DOWN", "CRUISE")
    return {"rounds": after.rounds - began.rounds, "down": 100.0 * down}


def a7() -> Numbers:
    """STARTUP and PROBE_UP go on while the application is the limit and nothing is lost."""
    Network(20, 40, 1000)
    shares = {}
    for name, state in (("startup", "STARTUP"), ("up", "UP")):
        flow = Flow(CONTROL)
        began = flow.run(0.2, mbit_s=5) if state == "STARTUP" else flow.enters("UP")
        flow.run(3.5, mbit_s=5)
        shares[name] = share([one.state == state for one in flow.since(began.time)])
        flow.sender.close()
    return shares


def a8() -> Numbers:
    """PROBE_DOWN is left when the queue is empty."""
    spells = steady("DOWN")
    return {
        "gain": mean([first.gain for first, *_ in spells]),
        "over": mean([over(last, after) for _, last, after in spells]),
        "cruise": share([after.state == "CRUISE" for *_, after in spells]),
    }


def a9() -> Numbers:
    """PROBE_DOWN is left after a time, where the bandwidth falls by a tenth as it begins."""
    path, flow = Network(20, 40, 1000), Flow(CONTROL)
    flow.run(2)
    began = flow.enters("DOWN")
    path.rate(18)
    left = flow.leaves()
    up = flow.run(5, lambda now: now.state == "UP")
    return {"wait": left.time - began.time, "refill": up.rounds - left.rounds}


def a10() -> Numbers:
    """PROBE_RTT comes 5 s after the last shortest round trip, and ends."""
    path, flow = Network(20, 40, 1000), Flow(CONTROL)
    raised = flow.run(1)
    path.back("delay 50ms")
    began = flow.enters("PROBE_RTT")
    flow.run(0.1)
    probing = flow.now
    ended = flow.leaves()
    return {
        "after": began.time - raised.time,
        "window": probing.cwnd / probing.bdp,
        "lasts": 1e3 * (ended.time - began.time),
        "back": 100.0 * (ended.state in PROBE_BW),
    }


def a11() -> Numbers:
    """No PROBE_RTT follows a pause of the application."""
    Network(20, 40, 1000)
    flow = Flow(CONTROL)
    flow.enters("UP")
    flow.run(2)
    flow.run(11, mbit_s=0)
    began = flow.now
    flow.run(3)
    return {"probe_rtt": share([one.state == "PROBE_RTT" for one in flow.since(began.time)])}


def a12() -> Numbers:
    """STARTUP finds the bandwidth of a link whose acknowledgements come every 20 ms."""
    path = Network(20, 40, 1000)
    path.back("delay 40ms slot 20ms 20ms")
    time.sleep(0.1)
    flow = Flow(CONTROL)
    began = flow.run(1)
    flow.run(5)
    numbers = {"use": use(flow.since(began.time), 20)}
    startup = [one for one in flow.samples if one.state == "STARTUP"]
    if startup:
        left = flow.samples[len(startup)]
        numbers["window"] = max(one.cwnd for one in startup) / left.bdp
        numbers["estimate"] = of_rate(left.bw, 20)
    return numbers


def a13() -> Numbers:
    """A link is full whose acknowledgements begin to come every 20 ms."""
    path, flow = Network(20, 40, 1000), Flow(CONTROL)
    flow.run(3)
    bundled = flow.now
    path.back("delay 40ms slot 20ms 20ms")
    began = flow.run(1)
    flow.run(5)
    numbers = {"use": use(flow.since(began.time), 20)}
    if flow.now.state:
        before, after = (
            mean([float(one.cwnd) for one in samples if one.state == "CRUISE"])
            for samples in (flow.since(bundled.time - 1, bundled.time), flow.since(began.time))
        )
        numbers["more"] = after - before
    return numbers


def a14() -> Numbers:
    """A link is full whose BDP is a twentieth of a packet."""
    path = Network(10, 10, 1000)
    path.queue("rate 64kbit")  # unlike htb's it takes its time for the first packet, too
    time.sleep(0.1)
    flow = Flow(CONTROL)
    flow.run(30)
    began = flow.now
    flow.run(20)
    samples = flow.since(began.time)
    numbers = {"use": use(samples, 0.064)}
    if flow.now.state:
        numbers["window"] = min(one.cwnd for one in samples)
        numbers["estimate"] = mean([of_rate(one.bw, 0.064) for one in samples])
    return numbers


def a15() -> Numbers:
    """A bandwidth that is ten times as much is found."""
    path, flow = Network(10, 40, 33), Flow(CONTROL)
    flow.run(4)
    path.packets = 333
    path.queue()
    path.rate(100)
    began = flow.now
    if began.state:
        began = flow.enters("UP")
    ago = 0

    def full(now: Sample) -> bool:
        nonlocal ago
        while flow.samples[ago].time < max(now.time - 0.1, began.time):
            ago += 1
        past = flow.samples[ago]
        return now.time - past.time > 0.09 and use([past, now], 100) >= 90

    try:
        return {"rounds": flow.run(15, full).rounds - began.rounds}
    except TimeoutError:
        return {"rounds": flow.now.rounds - began.rounds}


def a16() -> Numbers:
    """The estimate follows a bandwidth that falls to a tenth."""
    path, flow = Network(100, 40, 333), Flow(CONTROL)
    flow.run(4)
    path.rate(10)
    began = flow.now
    flow.run(15)
    numbers = {"use": use(flow.since(began.time + 5), 10)}
    if flow.now.state:
        high = [one.time for one in flow.since(began.time) if of_rate(one.bw, 10) > 110]
        numbers["after"] = high[-1] - began.time if high else 0.0
    return numbers


def a17() -> Numbers:
    """A policer of 10 Mbit/s is met without much loss."""
    path = Network(100, 40, 1000)
    path.tc("qdisc add dev a handle ffff: ingress")
    police = "police rate 10mbit burst 100kb conform-exceed drop"
    path.tc(f"filter add dev a parent ffff: matchall action {police}")
    flow = Flow(CONTROL)
    flow.run(10)
    began = flow.now
    flow.run(10)
    lost = 100 * (flow.now.again - began.again) / (flow.now.sent - began.sent)
    return {"use": use(flow.since(began.time), 10), "lost": lost}


def spurious(options: str, seconds: float, settles: float) -> Numbers:
    """Return what is left after packets come late for so long, measured when that is over."""
    path, flow = Network(20, 40, 66), Flow(CONTROL)
    before = flow.run(4)
    reactions = undone()
    path.queue(options)
    flow.run(seconds)
    path.queue("delay 0ms")
    after = flow.run(settles)
    flow.run(1)
    once = use(flow.since(before.time - 1, before.time), 20)
    numbers = {"undone": undone() - reactions, "use": 100 * use(flow.since(after.time), 20) / once}
    if before.state:
        numbers["estimate"] = 100 * after.bw / before.bw
        numbers["same"] = share([one.state in PROBE_BW for one in flow.since(after.time)])
    return numbers


def a18() -> Numbers:
    """A fast recovery that was spurious leaves nothing behind."""
    return spurious("delay 30ms", 0.01, 0.5)


def a19() -> Numbers:
    """A timeout that was spurious leaves nothing behind."""
    return spurious("delay 800ms", 0.25, 1.5)


def a20() -> Numbers:
    """PROBE_RTT during STARTUP leads back to it."""
    path, flow = Network(20, 40, 1000), Flow(CONTROL)
    flow.run(1, mbit_s=5)
    path.back("delay 50ms")
    flow.enters("PROBE_RTT", mbit_s=5)
    after = flow.leaves(mbit_s=5)
    flow.run(2)
    began = flow.now
    flow.run(1)
    return {"back": 100.0 * (after.state == "STARTUP"), "use": use(flow.since(began.time), 20)}


def a21() -> Numbers:
    """PROBE_UP is left on loss, once there was one before."""
    path, flow = Network(20, 40, 1000), Flow(CONTROL)
    flow.run(1)
    for _ in range(2):
        began = flow.enters("UP")
        path.queue("loss 10%")
        after = flow.leaves()
        path.queue("loss 0%")
        flow.run(1)
    return {"rounds": after.rounds - began.rounds, "down": 100.0 * (after.state == "DOWN")}


def a22() -> Numbers:
    """Rounds in which the application pauses before PROBE_UP do not lower the estimate."""
    Network(20, 40, 1000)
    flow = Flow(CONTROL)
    flow.run(2)
    before = flow.enters("CRUISE")
    mbit_s = 0.0
    while flow.now.state == "CRUISE":
        flow.run(0.04, mbit_s=mbit_s)
        mbit_s = -1 - mbit_s  # it pauses and sends in turn
    after = flow.now
    left = flow.leaves() if after.state == "UP" else after
    return {"estimate": 100 * after.bw / before.bw, "down": 100.0 * (left.state == "DOWN")}


CASES = [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20]
CASES += [a21, a22]


def main(numbers: list[int]) -> None:
    """Run these cases, each in namespaces of its own."""
    for number in numbers or range(1, len(CASES) + 1):
        row: dict[str, object] = {"case": number}
        if child := os.fork():
            os.waitpid(child, 0)
        else:
            try:
                values = CASES[number - 1]()
                row |= {name: round(value, 4) for name, value in values.items()}
            except BaseException as error:  # also of sys.exit: the others go on
                row["error"] = str(error)
            print(json.dumps(row), flush=True)
            os._exit(0)
        subprocess.run(["ip", "-all", "netns", "delete"], check=True)


if __name__ == "__main__":
    main([int(word) for word in sys.argv[2:]])
