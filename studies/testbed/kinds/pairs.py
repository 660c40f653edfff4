"""Flows of iperf between the pairs of a dumbbell, the same number in each.

```yaml
rig: {kind: dumbbell, pairs: 64}
traffic: {kind: pairs, senders: 64, flows: 128, length: 10 s}
```

All else is as `emulation.kinds.traffic.programs` says.
"""

from typing import Any, Literal

from pydantic import ConfigDict, model_validator

from qdisclab.emulation.kinds.traffic.programs import Programs
from qdisclab.emulation.study.schema import Flaws


class Pairs(Programs):
    """A list of programs: a client of iperf on each sender."""

    model_config = ConfigDict(
        json_schema_extra=lambda schema: schema["required"].remove("programs")  # it makes them
    )

    kind: Literal["pairs"]  # type: ignore[assignment]
    senders: int
    flows: int

    @model_validator(mode="before")
    @classmethod
    def _clients(cls, value: dict[str, Any]) -> dict[str, Any]:
        senders, flows = (value.get(key) for key in ("senders", "flows"))
        if not (type(senders) is type(flows) is int and min(senders, flows) > 0):
            raise Flaws(
                ((), "lacks how many", "write 'senders' and 'flows', each a positive number")
            )
        if flows % senders:
            what = f"{flows} flows are not the same number for each of {senders} senders"
            raise Flaws((("flows",), what, "write a multiple"))
        clients = [
            {
                "kind": "iperf",
                "name": f"pair{number}",
                "from": f"sender{number}",
                "to": f"receiver{number}",
                "options": ["-P", f"{flows // senders}"],
            }
            for number in range(1, senders + 1)
        ]
        return value | {"programs": clients}
