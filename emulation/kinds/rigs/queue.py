"""A queue of a rig that is written out, and its rate: each its own, or the sweep's."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, PlainValidator, TypeAdapter, model_validator

from qdisclab.emulation.kinds.qdiscs import KINDS
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.topology import Link
from qdisclab.emulation.model.units import Rate
from qdisclab.emulation.study import schema
from qdisclab.emulation.study.schema import Flaws, LinkRate, Section

TESTED = "tested"  # in place of a qdisc: that of the sweep
OF_LINK = ("up", "down")  # in place of a rate

_LINK_RATE: TypeAdapter[Rate] = TypeAdapter(LinkRate)


class QueueSection(Section):
    """A qdisc of the rig's own."""

    kind: str
    options: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _readable(self) -> Self:
        if self.kind not in KINDS:
            raise Flaws((("kind",), *schema.unknown("kind", self.kind, sorted(KINDS))))
        with schema.below("options"):
            read = schema.read_options(self.kind, self.options)
            absent = KINDS[self.kind].missing(read)
            schema.refuse(((name,), what, todo) for name, what, todo in absent)
        return self

    def qdisc(self) -> Qdisc:
        """Return the qdisc with its options."""
        options = schema.read_options(self.kind, self.options)
        txqueuelen = options.pop("txqueuelen", None)
        return Qdisc(self.kind, self.kind, tuple(options.items()), txqueuelen)


def known_queue(value: Any) -> Any:
    """Return `tested` or a `QueueSection`."""
    if value == TESTED or isinstance(value, QueueSection):
        return value
    if isinstance(value, str):
        todo = "write 'tested' for the sweep's, or {kind: fq_codel, options: {…}}"
        raise Flaws(((), f"'{value}' is not a queue", todo))
    return QueueSection.model_validate(value)


def _rate(value: Any) -> Any:
    return value if value in OF_LINK else _LINK_RATE.validate_python(value)


#: A `Rate`, or `up` or `down` of the sweep's link.
AnyRate = Annotated[Any, PlainValidator(_rate)]
Queue = Annotated[QueueSection | Literal["tested"] | None, PlainValidator(known_queue)]


def rate_of(rate: Any, link: Link | None) -> Rate:
    """Return the rate; for `up` and `down` that of `link`."""
    if rate in OF_LINK:
        assert link is not None
        link_rate: Rate = getattr(link, rate)
        return link_rate
    assert isinstance(rate, Rate)
    return rate
