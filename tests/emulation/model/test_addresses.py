"""emulation.model.addresses: names in braces."""

from qdisclab.emulation.model import addresses

PORTS = [
    ("client", "client-r1", "10.0.1.1/24"),
    ("r1", "r1-client", "10.0.1.2/24"),
    ("r1", "up.0", "10.0.2.1/24"),
    ("s1", "s1-r1", ""),
]


def test_nodes_and_ports_have_names() -> None:
    words = addresses.by_name(PORTS)
    assert words["r1"] == words["r1.r1-client"] == "10.0.1.2"
    assert words["r1.up.0"] == "10.0.2.1"
    assert not {"s1", "s1.s1-r1"} & words.keys()
    text = 'match ip dst {r1.up.0}/32 src {client} {s1} {"json": {}} {r1.other}'
    assert list(addresses.names(text)) == ["r1.up.0", "client", "s1", "r1.other"]
    filled = 'match ip dst 10.0.2.1/32 src 10.0.1.1 {s1} {"json": {}} {r1.other}'
    assert addresses.filled(text, words) == filled
