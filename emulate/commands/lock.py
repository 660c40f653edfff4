"""`emulate lock`: what the bytes of runs depend on, and how the cache differs from it."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulation import kernel
from emulation.checks.verify import Shipped, shipped
from emulation.host import lock as locks
from emulation.host.apt import PrivateApt
from emulation.host.debs import Deb
from emulation.host.lock import Lock
from emulation.kernel import recipe
from emulation.machine import rootfs

if TYPE_CHECKING:
    from argparse import _SubParsersAction


def add_parser(subparsers: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of `emulate lock`."""
    parser = subparsers.add_parser(
        "lock",
        description="Show the locked versions of the kernels' sources and of the guest's packages, "
        "and what this machine's cache has instead of them.",
    )
    parser.add_argument(
        "--update",
        action="store_true",
        help="move the lock to what the Debian mirrors of this machine have now, and count the "
        "shipped runs that get another identity by it",
    )
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder (default: data)")
    parser.add_argument("--json", action="store_true", help="print the lock as JSON")


def run(args: argparse.Namespace) -> int:
    """Show or move the lock; the exit status."""
    old = locks.load()
    if args.update:
        new = updated(old)
        print(*changes(old, new), sep="\n")
        affected = moved(shipped(args.data), old, new)
        for experiment, count in sorted(affected.items()):
            print(f"{count:5} runs of {experiment} get another identity")
        print(f"{affected.total()} shipped runs get another identity")
        locks.save(new)
    elif args.json:
        print(json.dumps(_record(old), indent=1))
    else:
        print(*state(old), sep="\n")
        if note := _stand_in():
            print(note, file=sys.stderr)
    return 0


def state(lock: Lock) -> Iterator[str]:
    """Yield a line for the guest and one for each series of kernels."""
    root, found = rootfs.locked(lock.guest), rootfs.find()
    where = "not built" if found is None else "built"
    if found is not None and found.digest != root.digest:
        where = f"not built; {found.digest} stands for it"
    yield f"guest  {root.digest}  {len(lock.guest)} packages  {where}"
    for series, debs in lock.kernels.items():
        built = kernel.find(series)
        version = built.provenance["source"]["version"] if built else ""
        where = "built" if version == debs[0].version else f"built from {version or 'a file'}"
        yield f"kernel {series}  {debs[0].version}  {where if built else 'not built'}"


def _stand_in() -> str:
    """Return how the guest of this cache differs from the lock's, or ""."""
    found, wanted = rootfs.find(), rootfs.locked()
    if found is None or found.digest == wanted.digest:
        return ""
    names = sorted(
        name
        for name in {*found.packages, *wanted.packages}
        if found.packages.get(name) != wanted.packages.get(name)
    )
    told = (
        f"{name} {found.packages.get(name, 'absent')} (locked: {wanted.packages.get(name, 'none')})"
        for name in names
    )
    return "the guest of this cache differs: " + ", ".join(told)


def updated(old: Lock) -> Lock:
    """Return the lock with the versions that this machine's mirrors have now."""
    with tempfile.TemporaryDirectory(prefix="lock-") as scratch:
        apt = PrivateApt(Path(scratch) / "guest", components=rootfs.COMPONENTS)
        apt.update()
        guest = tuple(apt.resolve(rootfs.wanted()))
        tools = tuple(apt.look_up([deb.package])[0] for deb in old.tools)
        kernels = {}
        for series, known in old.kernels.items():
            origin = recipe.load(series).origin
            assert origin is not None  # what is in the lock has an origin
            apt = PrivateApt(Path(scratch) / series, suites=origin.suites)
            apt.update()
            kernels[series] = tuple(_with_first(known, apt.look_up([origin.package])))
    return replace(old, guest=guest, tools=tools, kernels=kernels)


def _with_first(known: tuple[Deb, ...], offered: list[Deb]) -> Iterable[Deb]:
    """Return the newest that is `offered`, then what is `known` already."""
    first = offered[:1] or known[:1]
    return [*first, *(deb for deb in known if deb.version != first[0].version)]


def changes(old: Lock, new: Lock) -> Iterator[str]:
    """Yield what differs between two locks, a line for each package."""
    parts = [(old.guest, new.guest), (old.tools, new.tools)]
    parts += [(old.kernels[series][:1], new.kernels[series][:1]) for series in new.kernels]
    count = 0
    for before, after in parts:
        was, now = ({deb.package: deb for deb in debs} for debs in (before, after))
        for name in sorted({*was, *now}):
            if was.get(name) != now.get(name):
                count += 1
                left, right = (str(debs.get(name, "nothing")) for debs in (was, now))
                yield f"{left} -> {right}"
    yield f"{count} packages differ"


def moved(runs: Iterable[Shipped], old: Lock, new: Lock) -> Counter[str]:
    """Count by experiment the runs that are of the `old` lock and not of the `new` one."""
    before, after = (rootfs.locked(lock.guest).digest for lock in (old, new))
    series = {name for name, debs in old.kernels.items() if debs[:1] != new.kernels[name][:1]}
    counted: Counter[str] = Counter()
    for one in runs:
        identity = one.record["identity"]
        of_old = identity["root"]["digest"] == before
        if of_old and (before != after or identity["kernel"]["series"] in series):
            counted["/".join(one.id.split("/")[:2])] += 1
    return counted


def _record(lock: Lock) -> dict[str, Any]:
    def named(debs: Iterable[Deb]) -> list[dict[str, str]]:
        return [vars(deb) for deb in debs]

    return {
        "root": rootfs.locked(lock.guest).digest,
        "guest": named(lock.guest),
        "tools": named(lock.tools),
        "kernels": {series: named(debs) for series, debs in lock.kernels.items()},
    }
