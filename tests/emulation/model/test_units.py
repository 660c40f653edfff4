import re

import pytest

from qdisclab.emulation.model.units import Amount, Duration, Packets, Rate, Size, UnitError


@pytest.mark.parametrize(
    ("kind", "text", "base"),
    [
        (Rate, "10 Mbit/s", 10_000_000),
        (Rate, "2.5Gbit/s", 2_500_000_000),
        (Rate, "512 kbit/s", 512_000),
        (Rate, "7 bit/s", 7),
        (Duration, "50 ms", 50_000_000),
        (Duration, "0.3 us", 300),
        (Duration, "1.5 µs", 1_500),
        (Duration, "200 ns", 200),
        (Duration, "2 min", 120_000_000_000),
        (Duration, "1 h", 3_600_000_000_000),
        (Size, "1514 B", 1514),
        (Size, "64 KiB", 65_536),
        (Size, "64 kB", 64_000),
        (Size, "1.5 MiB", 1_572_864),
        (Packets, "127 packets", 127),
        (Packets, "1 packet", 1),
        (Packets, "  0 packets ", 0),
    ],
)
def test_parse(kind: type[Amount], text: str, base: int) -> None:
    assert kind.parse(text) == kind(base)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("kind", "text", "what"),
    [
        (Rate, "10", "a bare number has no unit"),
        (Duration, "0", "a bare number has no unit"),
        (Rate, "10 mbit/s", "unknown unit 'mbit/s', did you mean 'Mbit/s'?"),
        (Rate, "10 Mbit", "unknown unit 'Mbit'"),
        (Duration, "5 m", "unknown unit 'm', did you mean 'ms' or 'min'? ("),
        (Size, "5 K", "unknown unit 'K', did you mean 'kB' or 'KiB'? ("),
        (Duration, "10 parsecs", "unknown unit 'parsecs'"),
        (Size, "12 packets", "unknown unit 'packets'"),
        (Rate, "-1 Mbit/s", "is negative"),
        (Duration, "0.3 ns", "is not a whole number of ns"),
        (Size, "0.5 B", "is not a whole number of B"),
        (Packets, "1.5 packets", "is not a whole number of packets"),
        (Duration, "1e3 ms", "unknown unit 'e3 ms'"),
        (Duration, "", "is not a number and a unit"),
        (Duration, "ms", "is not a number and a unit"),
        (Duration, "1,5 ms", "unknown unit ',5 ms'"),
        (Duration, "١ ms", "is not a number and a unit"),
    ],
)
def test_parse_refuses(kind: type[Amount], text: str, what: str) -> None:
    with pytest.raises(UnitError, match=re.escape(what)) as caught:
        kind.parse(text)
    assert f"'{text}'" in str(caught.value)
    assert str(caught.value).endswith(f"; write e.g. '{kind.EXAMPLE}'")
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("text", "base"), [("20", 20 * 10**9), ("0.5", 5 * 10**8), ("2 min", 120 * 10**9)]
)
def test_a_number_of_seconds_needs_no_unit(text: str, base: int) -> None:
    assert Duration.of_seconds(text) == Duration(base)


@pytest.mark.parametrize("text", ["-5", "nan", "inf", "abc", "1e3", "5 m", ""])
def test_what_is_no_number_of_seconds_is_told_with_some(text: str) -> None:
    with pytest.raises(UnitError, match=r"; write e\.g\. '20 s'$") as caught:
        Duration.of_seconds(text)
    assert "bare number" not in str(caught.value)


@pytest.mark.parametrize("kind", [Rate, Duration, Size, Packets])
def test_the_example_of_each_kind_is_valid(kind: type[Amount]) -> None:
    assert str(kind.parse(kind.EXAMPLE)) == kind.EXAMPLE


@pytest.mark.parametrize(
    ("quantity", "text"),
    [
        (Rate(10_000_000), "10 Mbit/s"),
        (Rate(1_500_000), "1500 kbit/s"),
        (Rate(1_000_000_001), "1000000001 bit/s"),
        (Rate(0), "0 bit/s"),
        (Duration(140_000_000_000), "140 s"),
        (Duration(120_000_000_000), "120 s"),
        (Duration(200_000_000), "200 ms"),
        (Duration(1_001), "1001 ns"),
        (Size(1514), "1514 B"),
        (Size(65_536), "64 KiB"),
        (Packets(1), "1 packets"),
    ],
)
def test_str_is_what_parse_reads(quantity: Amount, text: str) -> None:
    assert str(quantity) == text
    assert type(quantity).parse(text) == quantity


@pytest.mark.parametrize("value", [1.0, True, "1", None])
def test_a_quantity_holds_an_integer(value: object) -> None:
    with pytest.raises(UnitError, match="whole number of bit/s"):
        Rate(value)  # type: ignore[arg-type]


def test_a_quantity_is_not_negative() -> None:
    with pytest.raises(UnitError, match="-1 ns: is negative"):
        Duration(-1)


def test_quantities_are_ordered_within_their_kind() -> None:
    assert sorted([Rate(3), Rate(1), Rate(2)]) == [Rate(1), Rate(2), Rate(3)]
    assert len({Rate(1), Duration(1)}) == 2
    with pytest.raises(TypeError):
        assert Rate(1) < Duration(2)  # type: ignore[operator]


def test_quantities_are_frozen_and_hashable() -> None:
    with pytest.raises(AttributeError):
        Size(1).bytes = 2  # type: ignore[misc]
    assert len({Size(1), Size(1), Packets(1)}) == 2


def test_properties() -> None:
    assert Rate(1_500_000).mbit_per_s == 1.5
    duration = Duration(2_500_000)
    assert (duration.us, duration.ms, duration.seconds) == (2500.0, 2.5, 0.0025)
