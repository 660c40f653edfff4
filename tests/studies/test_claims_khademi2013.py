"""The rules of khademi2013: against Table 5, and that each looks at cells which there are."""

from functools import partial

import numpy as np
import pandas as pd

from qdisclab.analysis.claims.assess import assess
from qdisclab.analysis.claims.plugin import rules_of
from qdisclab.analysis.claims.verdict import Verdict
from qdisclab.analysis.measures.table import MEASURED
from qdisclab.analysis.runs.statement import read_claims
from qdisclab.analysis.runs.study import study_at

STUDY = study_at("khademi2013")
RULES, _ = rules_of(STUDY)
CLAIMS = {one.id: one for one in read_claims(STUDY)}
NOISE = np.array([-1.0, 0.0, 1.0])  # of three seeds


def table(*rows: tuple[str, str, str, float]) -> pd.DataFrame:
    """Three seeds that differ by 0.1 %: (experiment, qdisc, metric, value) each."""
    made = [
        ("2013", experiment, "10/10", qdisc, "reno", seed, metric, value * (1 + 0.001 * noise))
        for experiment, qdisc, metric, value in rows
        for seed, noise in enumerate(NOISE, start=1)
    ]
    return pd.DataFrame(made, columns=list(MEASURED.columns))


def verdict(number: str, *rows: tuple[str, str, str, float], link: str = "10/10") -> Verdict:
    (found,) = assess([CLAIMS[number]], RULES, table(*rows).assign(link=link))
    return found.headline.verdict


wifi_verdict = partial(verdict, link="100/100")


def test_table_5_is_read_row_by_row() -> None:
    printed = pd.read_csv(study_at("khademi2013").folder / "published" / "table5.csv")
    rules = STUDY.module("claims")
    assert len(printed) == len(rules.TABLE_5)
    for number, (flows, aqm, value) in zip(
        rules.TABLE_5, printed.itertuples(index=False, name=None), strict=True
    ):
        assert CLAIMS[number].value_low == value
        where, drops = f"flows_{4 * flows}", 1000.0
        dropped = (where, f"{aqm}_5ms", "packets_dropped", drops)

        def with_marks(
            marks: float, where: str = where, aqm: str = aqm
        ) -> tuple[str, str, str, float]:
            return (f"{where}_ecn", f"{aqm}_5ms_ecn", "packets_marked", marks)

        assert verdict(number, dropped, with_marks(value * drops)) is Verdict.AGREES
        assert verdict(number, dropped, with_marks(2 * value * drops)) is Verdict.DISAGREES


def test_reductions_have_the_sign_of_the_paper() -> None:
    """Sec. 6: FQ-CoDel reduces the median by 25 to 57 %."""
    rows = [
        (f"flows_{flows}", qdisc, "queuing_median_ms", value)
        for flows in (4, 16, 32, 64)
        for qdisc, value in (("codel_5ms", 10.0), ("fq_codel_5ms", 6.0))
    ]
    assert verdict("k053", *rows) is Verdict.AGREES
    swapped = [(a, b, c, 16.0 - value) for a, b, c, value in rows]
    assert verdict("k053", *swapped) is Verdict.DISAGREES


def test_delay_above_the_target_breaks_a_claim() -> None:
    def medians(excess: float) -> list[tuple[str, str, str, float]]:
        return [
            ("flows_1", f"{aqm}_{target}ms", "queuing_median_ms", target * excess)
            for aqm in ("codel", "pie", "ared")
            for target in (5, 10, 20, 30)
        ]

    assert verdict("k005", *medians(0.9)) is Verdict.AGREES
    assert verdict("k005", *medians(1.1)) is Verdict.DISAGREES


def up_rtts(**medians: tuple[float, float, float]) -> list[tuple[str, str, str, float]]:
    """Medians of the uploads' round trips by qdisc, at light to heavy load, in ms."""
    loads = ("wifi_mixed_4", "wifi_mixed_16", "wifi_mixed_64")
    return [
        (load, qdisc, "up_rtt_median_ms", value)
        for qdisc, values in medians.items()
        for load, value in zip(loads, values, strict=True)
    ]


def test_what_section_5_prints_of_mixed_traffic_agrees_with_itself() -> None:
    printed = up_rtts(
        codel_5ms=(480, 1150, 2000), ared_5ms=(500, 1180, 2100), pie_5ms=(460, 470, 480)
    )
    for number in ("k042", "k043", "k044", "k045", "k046", "k049"):
        assert wifi_verdict(number, *printed) == Verdict.AGREES
    for number, wrong in (
        ("k042", up_rtts(codel_5ms=(480, 1, 2), ared_5ms=(500, 1, 2), pie_5ms=(300, 1, 2))),
        ("k043", up_rtts(codel_5ms=(480, 800, 2000))),
        ("k045", up_rtts(codel_5ms=(480, 900, 2000), ared_5ms=(500, 1180, 900))),
        ("k046", up_rtts(pie_5ms=(460, 470, 900))),
        ("k049", up_rtts(codel_5ms=(1, 400, 400), ared_5ms=(1, 400, 400), pie_5ms=(1, 390, 390))),
    ):
        assert wifi_verdict(number, *wrong) == Verdict.DISAGREES


def test_drops_cause_delay_only_where_a_queue_without_them_has_less() -> None:
    aqms = up_rtts(codel_5ms=(600, 600, 1000), ared_5ms=(650, 850, 800))
    for fifo, expected in ((400, Verdict.AGREES), (1300, Verdict.DISAGREES)):
        rows = [*aqms, *up_rtts(pfifo_fast=(fifo, fifo, fifo))]
        assert wifi_verdict("k048", *rows) == expected


def test_what_section_5_prints_of_downloads_is_compared_without_headers() -> None:
    printed = {"k037": ("ared_5ms", 18.6), "k038": ("codel_5ms", 20.4), "k039": ("pie_5ms", 21.0)}
    for number, (qdisc, value) in printed.items():
        for factor, expected in (
            (1448 / 1500, Verdict.AGREES),
            (0.88, Verdict.AGREES),  # a tenth less than that
            (1.08, Verdict.DISAGREES),  # within a tenth of what has the headers
        ):
            row = ("wifi_down_4", qdisc, "goodput_median_mbit_s", factor * value)
            assert wifi_verdict(number, row) == expected
