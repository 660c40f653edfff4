"""A point of a sweep: from the values that its axes have, its rig, traffic, qdiscs and id."""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any

from pydantic import TypeAdapter

from qdisclab.emulation.config import own, parameter, studyfile
from qdisclab.emulation.config.sweep import BUILT_IN, NAMED, OPTIONAL, TEMPLATE, Sweep
from qdisclab.emulation.kernel import module
from qdisclab.emulation.kinds import qdiscs, rigs, traffic as traffics
from qdisclab.emulation.kinds.rigs.base import RigSection
from qdisclab.emulation.model import control, era as eras, wifi
from qdisclab.emulation.model.axis import Value, digest, meaning
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.run import DEFAULT_MEMORY, NO_LINK, NONE, Point
from qdisclab.emulation.model.topology import Link
from qdisclab.emulation.model.units import Rate
from qdisclab.emulation.study.problems import read
from qdisclab.emulation.study.schema import FASTEST, Flaw, Flaws, Memory, below, refuse, unknown
from qdisclab.emulation.study.source import Path, dotted

_MEMORY: TypeAdapter[Any] = TypeAdapter(Memory)
LONGEST_LABEL = 180  # a file system takes 255 bytes; the era, kernel and length are appended
_CONTROL = re.compile(r"[a-z][a-z0-9_]*")


def context_of(file: studyfile.StudyFile, folder: FilePath) -> dict[str, Any]:
    """Return what rigs and traffic name of their study: its WiFi links and folder."""
    return {
        "wifi": {
            key: wifi.Wifi(key, link.access_point, tuple(link.stations))
            for key, link in file.wifi.items()
        },
        "folder": folder,
    }


class Points:
    """Makes the points of a sweep."""

    def __init__(self, sweep: Sweep, folder: FilePath, context: dict[str, Any]) -> None:
        """`folder` is the study's, where its modules are; `context` is `context_of` its file."""
        self.sweep, self.folder, self.context = sweep, folder, context
        self.file, self.section, self.joining = sweep.file, sweep.section, sweep.joining
        self._parts: dict[str, Any] = {}

    @cached_property
    def base(self) -> dict[str, Any]:
        """Return the rig and the traffic as plain values, without those of the sweep."""
        common, own = self.file.rig, self.section.rig
        kind = common.get("kind", "daisy_chain")
        if own.get("kind", kind) != kind:
            common = {}
        rig = {"kind": kind, **common, **own}
        common_sysctls, own_sysctls = common.get("sysctls"), own.get("sysctls")
        if isinstance(common_sysctls, dict) and isinstance(own_sysctls, dict):
            rig["sysctls"] = {**common_sysctls, **own_sysctls}
        return {"rig": rig, "traffic": dict(self.section.traffic), "qdisc": {}}

    @cached_property
    def _controls(self) -> tuple[control.Control, ...]:
        """Return the study's own congestion controls."""
        sections = self.file.controls.items()
        controls = []
        for name, section in sections:
            together = tuple(other for other, of in sections if of.module == section.module)
            source = replace(module.source(self.folder / section.module), controls=together)
            controls.append(control.Control(name, source, section.parameters))
        return tuple(controls)

    def point(self, values: Sequence[Value]) -> Point:
        """Make the point of these values.

        Raises `Flaws` whose paths begin with `rig`, `traffic`, `qdisc` or the name of an axis.
        """
        chosen = {value.axis: value for value in values}
        qdisc = self._qdisc_name(chosen)
        applied = [value for value in values if self._applies(value, qdisc)]
        document = dict(self.base)
        overrides: list[tuple[str, dict[str, Any]]] = []
        set_by: dict[Path, str] = {}  # parameter -> the axis that sets it
        era, memory = None, self.section.memory or self.file.memory or DEFAULT_MEMORY
        for value in applied:
            options: dict[str, Any] = {}
            for path, setting in self._settings(value, qdisc).items():
                with below(value.axis):
                    if path not in ("link", "qdisc", "cc"):
                        _record_setter(path, value.axis, set_by)
                    if path == "era":
                        era = self._era(str(setting))
                    elif path == "memory":
                        memory = read(_MEMORY, setting, Memory, {})
                    elif path.startswith("qdisc."):
                        options[path.removeprefix("qdisc.")] = setting
                    elif path not in BUILT_IN:
                        parameter.put(document, path, setting)
            if options:
                overrides.append((value.axis, options))
        rig, traffic, link, cc = _results(
            lambda: self._read("rig", document["rig"], set_by),
            lambda: self._read("traffic", document["traffic"], set_by),
            lambda: self._link(chosen),
            lambda: _control(chosen),
        )
        for axis in ("link", "qdisc"):
            if axis in chosen and not rig.tested:
                todo = "remove it, or choose a rig with a bottleneck"
                raise Flaws(((axis,), "the rig has no bottleneck to apply it to", todo))
        if rig.tested and link is NO_LINK:
            raise Flaws((("sweep",), "has no link", "add e.g. 'link: [10/10]'"))
        if rig.tested and qdisc == NONE:
            raise Flaws((("sweep",), "has no qdisc", "add e.g. 'qdisc: [fq_codel]'"))
        queues, borrowed = self._queues(qdisc, link, rig, overrides, chosen, applied)
        asked = [value for value in applied if value.asked]
        outside = (of.axis for of in asked if of.text not in self.sweep.all_values(of.axis))
        label, _, qdisc_part, _ = self._id(applied)
        point = Point(
            label=label,
            link=link,
            qdisc=qdisc_part,
            cc=cc,
            queues=queues,
            rig=rig,
            traffic=traffic,
            memory=memory,
            era=era,
            borrowed=borrowed,
            controls=self._controls,
            axes=tuple((value.axis, value.text) for value in applied),
            outside=tuple(outside),
            settings=tuple((of.axis, of.value) for of in asked if of.axis not in BUILT_IN),
        )
        _check(point, set_by)
        return point

    def _qdisc_name(self, chosen: Mapping[str, Value]) -> str:
        if "qdisc" not in chosen:
            return NONE
        name = chosen["qdisc"].text
        if name not in self.file.qdiscs and name not in qdiscs.tested():
            names = dict.fromkeys([*self.file.qdiscs, *qdiscs.tested()])
            what, todo = unknown("qdisc", name, names)
            raise Flaws((("qdisc",), what, own.own().outside(self.file.study, name) or todo))
        return name

    def _qdisc_section(self, name: str) -> studyfile.QdiscSection:
        return self.file.qdiscs.get(name) or studyfile.QdiscSection(kind=name)

    def _applies(self, value: Value, qdisc: str) -> bool:
        """Return whether an axis of the study applies to the qdisc.

        An axis that sets an option does not where the qdisc has no such option, unless the user
        asks for it.
        """
        axis = self.file.axes.get(value.axis)
        if axis is None or value.asked or qdisc == NONE:
            return True
        section = self._qdisc_section(qdisc)
        settings = {axis.sets: value.value} if axis.sets else axis.values.get(value.text, {})
        options = {path: value for path, value in settings.items() if path.startswith("qdisc.")}
        if qdisc in self.joining:  # it comes with its own options
            return len(options) < len(settings) or not settings
        if value.axis in section.by or section.kind not in qdiscs.KINDS:
            return True
        given = (path for path, value in options.items() if value is not None)
        names = {path.removeprefix("qdisc.") for path in given}
        return names <= qdiscs.KINDS[section.kind].options.keys()

    def _settings(self, value: Value, qdisc: str) -> dict[str, Any]:
        """Map the paths of the parameters that a value of an axis sets to their values."""
        if (axis := self.file.axes.get(value.axis)) is None:
            return {value.axis: value.value}
        if axis.values:
            if value.text not in axis.values:
                raise Flaws(((value.axis,), *unknown(value.axis, value.text, axis.values)))
            settings = axis.values[value.text].items()
            is_whole = value.asked or qdisc not in self.joining
            return {path: of for path, of in settings if is_whole or not path.startswith("qdisc.")}
        assert axis.sets is not None
        if qdisc != NONE and value.axis in self._qdisc_section(qdisc).by:
            return {}  # the qdisc has its own options for the value
        return {axis.sets: value.value}

    def _era(self, name: str) -> str:
        """Return the name of an era; raise `Flaws` where there is no such era."""
        try:
            eras.switches(name, self.section.restores)
        except ValueError as error:
            what, _, todo = str(error).partition("; ")
            raise Flaws(((), what, todo or "choose another era")) from None
        return name

    def _read(self, part: str, document: Any, set_by: Mapping[Path, str]) -> Any:
        """Read the rig or the traffic of a document; equal documents give the same object.

        A flaw in a parameter that an axis has set is reported at the axis.
        """
        if (key := part + json.dumps(document, sort_keys=True, default=str)) not in self._parts:
            kinds: Any = rigs.KINDS if part == "rig" else traffics.KINDS
            try:
                self._parts[key] = read(kinds.adapter, document, kinds.form, self.context)
            except Flaws as error:
                raise Flaws(*(_at_axis(flaw, set_by) for flaw in error.below(part))) from None
        return self._parts[key]

    def _link(self, chosen: Mapping[str, Value]) -> Link:
        if "link" not in chosen:
            return NO_LINK
        if (name := chosen["link"].text) in self.file.links:
            section = self.file.links[name]
            return Link(name, section.down, section.up)
        with below("link"):
            return link(name)

    def _queues(
        self,
        name: str,
        link: Link,
        rig: RigSection,
        overrides: Sequence[tuple[str, Mapping[str, Any]]],
        chosen: Mapping[str, Value],
        applied: Sequence[Value],
    ) -> tuple[tuple[tuple[Rate, Qdisc], ...], tuple[tuple[Rate, Rate], ...]]:
        """Return the qdisc under test at each rate, and the rates whose options others borrow."""
        if name == NONE or not rig.tested:
            return (), ()
        section = self._qdisc_section(name)
        axes = {value.axis: value for value in applied}
        free = any(chosen[axis].asked for axis in ("link", "qdisc") if axis in chosen)
        queues, borrowed = [], []
        for rate in rig.tested_rates(None if link is NO_LINK else link):
            source_rate = str(rate)
            if section.rates and source_rate not in section.rates and name not in self.joining:
                if not free:
                    what = f"'{name}' has no values for {rate}, a rate of {link.name}"
                    todo = f"add '{rate}' to qdiscs.{name}.rates"
                    raise Flaws((("qdisc",), what, todo))
                offered = map(Rate.parse, section.rates)
                nearest = min(offered, key=lambda each: abs(math.log(each.base / rate.base)))
                source_rate = str(nearest)
                borrowed.append((rate, nearest))
            options: dict[str, Any] = dict(section.options)
            for axis, values in section.by.items():
                if axis in axes:
                    if (value := axes[axis].text) not in values:
                        what = f"'{name}' has no options for {axis} {value}"
                        todo = f"add it to qdiscs.{name}.by.{axis}; it has {', '.join(values)}"
                        raise Flaws(((axis,), what, todo))
                    options = _changed(options, values[value])
            options = _changed(options, section.rates.get(source_rate, {}))
            for axis, settings in overrides:
                with below(axis):
                    options = _changed(options, studyfile.options_of(section.kind, settings))
            if kind := qdiscs.KINDS.get(section.kind):  # each is valid; now all of them together
                wrong = (*kind.flaws(options), *kind.missing(options))
                refuse((("qdisc", option), what, todo) for option, what, todo in wrong)
            txqueuelen = options.pop("txqueuelen", None)
            source = None if section.module is None else module.source(self.folder / section.module)
            qdisc = Qdisc(name, section.kind, tuple(options.items()), txqueuelen, source)
            queues.append((rate, qdisc))
        return tuple(queues), tuple(borrowed)

    # --- its id ---------------------------------------------------------------------------------

    def _id(self, applied: Sequence[Value]) -> list[str]:
        """Return the four parts of a point's id: label, link, qdisc, congestion control."""
        template = self.section.id or TEMPLATE
        by_axis = {value.axis: value for value in applied}

        def optional(match: re.Match[str]) -> str:
            names = NAMED.findall(match[1])
            differs = all(name in by_axis and not self._is_default(by_axis[name]) for name in names)
            return match[1] if differs else ""

        def filled(match: re.Match[str]) -> str:
            if match[1] == "experiment":
                return self.sweep.name
            return by_axis[match[1]].slug if match[1] in by_axis else NONE

        text = OPTIONAL.sub(optional, template)
        label, link_part, qdisc, cc = NAMED.sub(filled, text).split("/")
        named = set(NAMED.findall(text))
        left_out = set(NAMED.findall(template)) - named  # defaults of the rig or the traffic
        more = [
            f",{value.axis}={value.slug}"
            for value in applied
            if value.swept
            and value.axis not in (*named, *BUILT_IN)
            and not (value.axis in left_out and self._is_default(value))
        ]
        label += "".join(more)
        if len(label) > LONGEST_LABEL:
            label = f"{label[:LONGEST_LABEL]}-{digest(label)}"
        return [label, link_part, qdisc, cc]

    def _is_default(self, value: Value) -> bool:
        """Return whether the rig or the traffic has the value without the axis, too."""
        axis = self.file.axes.get(value.axis)
        if axis is None or axis.sets is None:
            return False
        try:
            default = parameter.get(self.base, axis.sets)
        except (KeyError, IndexError, TypeError):
            return False
        return bool(meaning(default) == value.meaning)


def _record_setter(path: str, axis: str, set_by: dict[Path, str]) -> None:
    """Record that `axis` sets the parameter; raise `Flaws` where another axis does so, too."""
    steps = tuple(parameter.steps(path))
    for place, other in set_by.items():
        shared = min(len(place), len(steps))
        if other != axis and place[:shared] == steps[:shared]:
            raise Flaws(((), f"sets {path}, as the axis '{other}' does", "remove one of the two"))
    set_by[steps] = axis


def _results(*parts: Callable[[], Any]) -> tuple[Any, ...]:
    """Call all `parts` and return what they return; raise the `Flaws` of all of them together."""
    results: list[Any] = []
    flaws: list[Flaw] = []
    for part in parts:
        try:
            results.append(part())
        except Flaws as error:
            flaws += error.flaws
    refuse(flaws)
    return tuple(results)


def _check(point: Point, set_by: Mapping[Path, str]) -> None:
    """Raise `Flaws` where the parts of a point do not go together."""
    try:
        topology = point.topology()
    except ValueError as error:
        raise Flaws((("rig",), str(error), "correct the rig")) from None
    nodes = [node.name for node in topology.nodes]
    named: dict[str, dict[str, Any]]
    named = {"eras": dict(point.rig.eras), "hosts": dict(point.rig.hosts)}
    wrong = ((key, node) for key, of in named.items() for node in of if node not in nodes)
    flaws: list[Flaw] = [(("rig", *at), *unknown("node", at[1], nodes)) for at in wrong]
    try:
        point.traffic.check(point.rig, topology)
    except Flaws as error:
        flaws += error.below("traffic")
    else:
        try:
            if not point.rig.base_rtts and (ends := point.traffic.ends(topology)):
                topology.base_rtt(*ends)
        except ValueError as error:
            flaws.append((("rig",), str(error), "put netem at the root of its port"))
    if point.rig.tested and not topology.queues():
        what = "has no queue under test, but the sweep has a link and a qdisc for it"
        flaws.append((("rig",), what, "write 'bottleneck: false', or give a port the qdisc"))
    refuse(_at_axis(flaw, set_by) for flaw in flaws)


def _at_axis(flaw: Flaw, set_by: Mapping[Path, str]) -> Flaw:
    """Move a flaw of the document to the axis that has set the wrong value, if there is one."""
    path, what, todo = flaw
    steps = tuple(map(str, path))
    for depth in range(len(steps), 0, -1):
        if steps[:depth] in set_by:
            return (set_by[steps[:depth]],), what, todo
    inside = {axis for place, axis in set_by.items() if place[: len(steps)] == steps}
    if len(inside) == 1 and len(steps) > 1:  # the whole is wrong, by a part that is set
        return (*inside,), f"{dotted(path)}: {what}", todo
    return flaw


def _control(chosen: Mapping[str, Value]) -> str:
    """Return the congestion control; whether the kernel has it is checked with the run."""
    if "cc" not in chosen:
        return NONE
    name = chosen["cc"].text
    if not _CONTROL.fullmatch(name):
        raise Flaws((("cc",), f"'{name}' is not a congestion control", "write e.g. cubic or reno"))
    return name


def link(text: str) -> Link:
    """Read a link, download/upload in Mbit/s: `50/10`; raise `Flaws` for anything else."""
    parts = text.split("/")
    todo = "write download/upload in Mbit/s: 10/1"
    if len(parts) != 2 or not all(re.fullmatch(r"\d+(\.\d+)?", part) for part in parts):
        raise Flaws(((), f"'{text}' is not a link", todo))
    rates = [Fraction(part) * 10**6 for part in parts]
    if any(rate.denominator != 1 for rate in rates):
        raise Flaws(((), f"'{text}' is not a whole number of bit/s", todo))
    down, up = (Rate(rate.numerator) for rate in rates)
    if not Rate(0) < min(down, up) or max(down, up) > FASTEST:
        raise Flaws(((), f"'{text}' is not possible", f"write rates above 0 and up to {FASTEST}"))
    return Link(f"{down.mbit_per_s:g}/{up.mbit_per_s:g}", down, up)


def _changed(options: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return `options` with `changes`, in order, as the order matters to `tc`.

    A changed option keeps its place; a new one takes that of a removed one, or comes last.
    """
    removed = [name for name, value in changes.items() if value is None and name in options]
    new = [name for name, value in changes.items() if value is not None and name not in options]
    places = dict(zip(removed, new, strict=False))
    changed: dict[str, Any] = {}
    for name, value in options.items():
        if name in places:
            changed[places[name]] = changes[places[name]]
        elif name not in removed:
            changed[name] = changes.get(name, value)
    for name in new:
        changed.setdefault(name, changes[name])
    return changed
