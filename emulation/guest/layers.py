"""Layers of packages over the guest's root file system.

A layer is a folder of the host, which the guest names by a link in its scratch folder, as it does
its root. The layers and what is the root so far become the lower folders of another overlay, which
then takes the place of the root.
"""

import ctypes
import os

_PLACE = "/mnt"

#: Where other file systems are mounted; they move along.
_MOUNTED = ("proc", "sys", "dev", "run", "tmp", "job")

_MS_MOVE = 8192  # linux/mount.h


def mount(names):
    """Put the layers `names`, the first one on top, over the root of this process."""
    _mount("tmpfs", _PLACE, "tmpfs")
    lower = []
    for name in names:
        lower.append(f"{_PLACE}/{name}")
        os.mkdir(lower[-1])
        _mount("none", lower[-1], "hostfs", data=name)
    for name in ("upper", "work", "root"):
        os.mkdir(f"{_PLACE}/{name}")
    upper = f"upperdir={_PLACE}/upper,workdir={_PLACE}/work"
    root = f"{_PLACE}/root"
    _mount("overlay", root, "overlay", data=f"lowerdir={':'.join([*lower, '/'])},{upper}")
    for name in _MOUNTED:
        _mount(f"/{name}", f"{root}/{name}", flags=_MS_MOVE)
    os.chdir(root)
    _mount(".", "/", flags=_MS_MOVE)
    os.chroot(".")


def _mount(source, target, kind=None, flags=0, data=None):
    """mount(2)."""
    words = [None if word is None else word.encode() for word in (source, target, kind, data)]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(*words[:3], ctypes.c_ulong(flags), words[3]):
        number = ctypes.get_errno()
        raise OSError(number, f"{os.strerror(number)}: mount of {source} at {target}")
