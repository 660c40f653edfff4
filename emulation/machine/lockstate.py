"""What the lock has, what this machine's cache has instead, and what mirrors have now."""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from qdisclab.emulation import kernel
from qdisclab.emulation.host.apt import PrivateApt
from qdisclab.emulation.host.lock import Lock
from qdisclab.emulation.kernel import recipe
from qdisclab.emulation.machine import layer, rootfs


def state(lock: Lock) -> Iterator[str]:
    """Yield a line for the guest and one for each series of kernels."""
    locked, cached = rootfs.locked(lock.guest), rootfs.find()
    where = "not built" if cached is None else "built"
    if cached is not None and cached.digest != locked.digest:
        where = f"not built; {cached.digest} stands for it"
    yield f"guest  {locked.digest}  {len(lock.guest)} packages  {where}"
    for series, debs in lock.kernels.items():
        where = "not built"
        if built := kernel.find(series):
            version = built.provenance["source"]["version"]
            other = f" from {version or 'a file'}" if version != debs[0].version else ""
            where = f"built{other}"
        yield f"kernel {series}  {debs[0].version}  {where}"


def difference() -> str:
    """Return how the guest of this cache differs from the lock's, or ""."""
    cached, locked = rootfs.find(), rootfs.locked()
    if cached is None or cached.digest == locked.digest:
        return ""
    names = sorted({*cached.packages, *locked.packages})
    pairs = {name: (cached.packages.get(name), locked.packages.get(name)) for name in names}
    return "the guest of this cache differs: " + ", ".join(
        f"{name} {version or 'absent'} (locked: {wanted or 'none'})"
        for name, (version, wanted) in pairs.items()
        if version != wanted
    )


def updated(old: Lock) -> Lock:
    """Return the lock with the versions that this machine's mirrors have now."""
    with tempfile.TemporaryDirectory(prefix="lock-") as scratch:
        apt = PrivateApt(Path(scratch) / "guest", components=rootfs.COMPONENTS)
        apt.update()
        guest = tuple(apt.resolve(rootfs.wanted()))
        system = set(apt.resolve((*rootfs.wanted(), *layer.SYSTEM))).difference(guest)
        tools = tuple(apt.look_up([deb.package])[0] for deb in old.tools)
        kernels = {}
        for series, debs in old.kernels.items():
            origin = recipe.load(series).origin
            assert origin is not None  # what is in the lock has an origin
            apt = PrivateApt(Path(scratch) / series, suites=origin.suites)
            apt.update()
            newest = (apt.look_up([origin.package]) or debs)[0]
            older = (deb for deb in debs if deb.version != newest.version)
            kernels[series] = (newest, *older)
    return replace(old, guest=guest, system=tuple(system), tools=tools, kernels=kernels)


def changes(old: Lock, new: Lock) -> Iterator[str]:
    """Yield what differs between two locks, a line for each package."""
    parts = [(old.guest, new.guest), (old.system, new.system), (old.tools, new.tools)]
    parts += [(old.kernels[series][:1], new.kernels[series][:1]) for series in new.kernels]
    count = 0
    for before, after in parts:
        was, now = ({deb.package: deb for deb in debs} for debs in (before, after))
        for name in sorted({*was, *now}):
            if was.get(name) != now.get(name):
                count += 1
                yield f"{was.get(name, 'nothing')} -> {now.get(name, 'nothing')}"
    yield f"{count} packages differ"
