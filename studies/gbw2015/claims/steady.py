"""Section 4 and 5.1 of gbw2015: set-up, and the RRUL test's steady state (Fig. 2)."""

from typing import Final

from qdisclab.analysis.claims.check import Lacking, apart, every, ratio, read_back, setting, within
from qdisclab.analysis.claims.quantity import Quantity
from qdisclab.analysis.claims.verdict import Rule

from .words import (
    AQM,
    DOWN,
    EQUAL,
    FIFO,
    FQ,
    GOODPUT,
    LATENCY,
    LINKS,
    LOW,
    MUCH,
    NEW_AQM,
    PRACTICALLY_ZERO,
    QDISCS,
    SCHEDULERS,
    SLIGHTLY,
    SPIKE,
    VASTLY,
    bounded,
    in_rrul,
    order,
)

ACK_DROPS, OWN_WAIT = "ack_drops_percent", "upload_wait_ms"
#: A packet that goes first waits for the one on the link and the one that the shaper holds.
AHEAD_PACKETS: Final = 2
ZERO_MS: Final = 3.0  # "very close to zero": what README's figures allow as a difference

SOMEWHAT: Final = 1 / VASTLY  # "somewhat above": by less than what is "vastly" more


RULES: Final[dict[str, Rule]] = {
    # Sec. 3 and 4: set-up
    "g010": setting("computing costs no time here, so that there is no headroom to check"),
    "g011": ratio(  # with 127 packets less than what is called identical elsewhere
        Quantity(DOWN, "rrul_short_queue", "100/100", "pfifo_fast_127", median=True),
        in_rrul(DOWN, "100/100", FIFO),
        high=EQUAL[0],
    ),
    "g012": setting("arithmetic: half of 20 ms at 1 Mbit/s is 1250 B, less than 1514 B"),
    "g013": setting("the code of Linux 3.14"),
    "g014": read_back("Table 1 has it, and so has the experiment"),
    "g015": within(in_rrul("probe_behind_packets", "10/1", "fq_codel"), high=AHEAD_PACKETS),
    "g016": setting("computing costs no time here"),
    "g017": read_back("Table 1 has it, and so has the experiment"),
    "g018": read_back("Table 1 has it, and so has the experiment"),
    "g019": read_back("the code of Linux 3.14; Table 1 has it, and so has the experiment"),
    "g020": read_back("the code of Linux 3.14; Table 1 has it, and so has the experiment"),
    "g021": read_back("a default of the code; Table 1 has it, and so has the experiment"),
    "g022": read_back("a default of the code; Table 1 has it, and so has the experiment"),
    "g023": setting("a default of the code; the number of active queues is 127 there"),
    "g024": setting("a default of the code"),
    # Fig. 2: all qdiscs lie within the axes
    "g026": bounded(in_rrul(GOODPUT, "100/100", QDISCS), from_zero=True),
    "g027": bounded(in_rrul(LATENCY, "100/100", QDISCS), from_zero=True),
    "g028": setting("the order of printed labels; Fig. 2's values are compared instead"),
    "g029": bounded(in_rrul(GOODPUT, "10/10", QDISCS), from_zero=True),
    "g030": bounded(in_rrul(LATENCY, "10/10", QDISCS), from_zero=True),
    "g031": setting("the order of printed labels; Fig. 2's values are compared instead"),
    "g032": setting("no goodput of links of 10 and 1 Mbit/s can leave an axis from 0 to 10"),
    "g033": bounded(in_rrul(LATENCY, "10/1", QDISCS), from_zero=True),
    # Sec. 5.1.1
    "g034": every(
        order(LATENCY, (*AQM, *FQ), (FIFO,)),
        *ratio(  # g035 has the exception
            in_rrul(GOODPUT, LINKS[:2], FIFO), in_rrul(GOODPUT, LINKS[:2], "fq_nocodel"), SLIGHTLY
        ),
    ),
    "g035": order(GOODPUT, (FIFO,), FQ, ("10/1",)),
    "g036": every(  # it drops some, and more than the queues that get more goodput
        within(in_rrul(ACK_DROPS, "10/1", FIFO), low=1), order(ACK_DROPS, FQ, (FIFO,), ("10/1",))
    ),
    "g037": every(
        order(GOODPUT, ("ared",), (FIFO,), ("10/1",)), order(LATENCY, ("ared",), (FIFO,), ("10/1",))
    ),
    "g038": order(LATENCY, AQM, (FIFO,)),
    "g039": order(GOODPUT, ("ared",), NEW_AQM, ("10/1",)),
    "g040": every(order(LATENCY, ("ared",), NEW_AQM), order(GOODPUT, ("ared",), (FIFO,))),
    "g041": read_back("Table 1 has it, and so has the experiment"),
    "g042": order(GOODPUT, ("pie",), tuple(name for name in QDISCS if name != "pie"), ("100/100",)),
    "g043": setting("the code of Linux 3.14, which has 1 % and not 0.1 %"),
    "g044": within(
        in_rrul(("drops_download_percent", "drops_upload_percent"), "100/100", "pie"), high=0.1
    ),
    "g045": every(  # a round trip passes two queues, each with its target
        *(
            within(in_rrul(LATENCY, link, "codel"), low=targets, high=SOMEWHAT * targets)
            for link, targets in (("100/100", 5 + 5), ("10/10", 5 + 5), ("10/1", 5 + 13))
        )
    ),
    "g046": every(  # the printed goodputs at 10/10 do not separate
        order(LATENCY, ("ared",), ("codel",), LOW),
        order(LATENCY, ("codel",), ("pie",), LOW),
        order(GOODPUT, ("ared",), ("codel",), ("10/1",)),
        order(GOODPUT, ("codel",), ("pie",), ("10/1",)),
    ),
    "g047": order(GOODPUT, (FIFO, *AQM, "fq_codel"), SCHEDULERS),
    "g224": every(  # as g036 has it of the FIFO
        within(in_rrul(ACK_DROPS, "10/1", "ared"), low=1),
        order(ACK_DROPS, FQ, ("ared",), ("10/1",)),
    ),
    "g225": Lacking("when CoDel enters and leaves its dropping state", "metric"),
    "g048": every(
        order(GOODPUT, ("fq_codel",), SCHEDULERS),
        *ratio(in_rrul(GOODPUT, LINKS, "fq_codel"), in_rrul(GOODPUT, LINKS, SCHEDULERS), SLIGHTLY),
    ),
    "g049": every(  # "no gain": not as much as 1 ms
        order(GOODPUT, ("fq_codel",), ("fq_nocodel",)),
        *apart(in_rrul(LATENCY, LINKS, "fq_codel"), in_rrul(LATENCY, LINKS, "fq_nocodel"), low=-1),
    ),
    "g050": ratio(  # what is in flight besides the path's is in the flow's own queue
        in_rrul(OWN_WAIT, "10/1", "fq_codel"), in_rrul(OWN_WAIT, "10/1", "fq_nocodel"), high=MUCH
    ),
    "g051": within(in_rrul(LATENCY, "100/100", FQ), high=ZERO_MS),
    "g052": order(LATENCY, ("fq_nocodel", "fq_codel"), (FIFO,), LOW, factor=PRACTICALLY_ZERO),
    "g053": ratio(  # in which of 30 runs that happens is chance; with 16 queues it often does
        in_rrul("slowest_probe_ms", "10/1", "fq_nocodel_16", "rrul_few_queues"),
        in_rrul("slowest_probe_ms", "10/1", "fq_nocodel"),
        low=SPIKE,
    ),
}
