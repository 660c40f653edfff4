"""Kernels of series that tests do not build: that takes minutes."""

from __future__ import annotations

import pytest

from qdisclab.emulation import kernel

TODAY = "7.2"

needs_today = pytest.mark.skipif(
    kernel.find(TODAY) is None,
    reason=f"no kernel {TODAY} in the cache; `emulate kernel build --series {TODAY}`",
)

#: What a guest does to load the only module that it was given; its error, or 0.
LOAD = """
import ctypes, os
status('booted')
libc = ctypes.CDLL(None, use_errno=True)
(name,) = os.listdir('/job/modules')
with open(f'/job/modules/{name}', 'rb') as file:
    status('loaded', error=libc.syscall(313, file.fileno(), b'', 0) and ctypes.get_errno())
"""
