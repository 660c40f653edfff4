"""Reading back qdiscs of the user's own: options that `tc` does not know, and wrong plugins."""

import sys
from types import ModuleType
from typing import Any

import pytest

from qdisclab.emulation.machine import guestcode
from tests.emulation.kinds.qdiscs.guest import readback


class Failure(Exception):
    """The guest's `rig.Failure`, whose module imports Mininet."""

    def __init__(self, cause: str, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.cause = cause


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The function `parsed` of a guest with such a qdisc."""
    rig = ModuleType("rig")
    vars(rig)["Failure"] = Failure
    monkeypatch.setitem(sys.modules, "rig", rig)
    own = ModuleType("own_qdiscs")
    exec(guestcode.read(guestcode.FOLDER / "own_qdiscs.py"), vars(own))  # noqa: S102
    return vars(own)["tolerant"](readback.parsed)


SHOWN = (
    '[{{"kind":"tbf","handle":"1:","options":{{"rate":1250000}}}},'
    '{{"kind":"x","handle":"10:","parent":"1:1","options":{{{}}}}}]'
)


def test_a_kind_without_a_plugin_has_no_options(parsed: Any) -> None:
    text = SHOWN.format("[Unknown qdisc, optlen=8] ")
    with pytest.raises(ValueError, match="property name"):
        readback.parsed(text)
    tbf, own = parsed(text)
    assert (tbf["options"], own["options"], own["parent"]) == ({"rate": 1250000}, {}, "1:1")


def test_a_plugin_that_prints_no_json_is_named(parsed: Any) -> None:
    with pytest.raises(Failure, match=r"the qdisc 'x': .*limit 100.*; have print_qopt of q_x\.c"):
        parsed(SHOWN.format("limit 100"))


def test_guests_with_such_qdiscs_alone_have_it() -> None:
    job = {"traffic": {"tool": "flent", "servers": []}}
    plain, own = (guestcode.files({**job, **more}) for more in ({}, {"own_qdiscs": ["x"]}))
    assert own.keys() - plain.keys() == {"own_qdiscs.py"}
    assert own["readback.py"].startswith(plain["readback.py"])
    assert own["readback.py"].endswith(b"parsed = own_qdiscs.tolerant(parsed)\n")
