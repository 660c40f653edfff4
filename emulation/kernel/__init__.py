"""The guest's kernel: fetched, patched, configured, proved, built and cached by content.

`build` returns a kernel, from the cache where it is there; `find` looks only there; `named` takes
a series or the digest of one that is there.
"""

from emulation.kernel.builder import Kernel, build, find, kernels, named
from emulation.kernel.recipe import all_series, default_series

__all__ = ["Kernel", "all_series", "build", "default_series", "find", "kernels", "named"]
