"""Kernels of series that tests do not build: that takes minutes."""

from __future__ import annotations

import pytest

from emulation import kernel

TODAY = "7.2"

needs_today = pytest.mark.skipif(
    kernel.find(TODAY) is None,
    reason=f"no kernel {TODAY} in the cache; `emulate kernel build --series {TODAY}`",
)
