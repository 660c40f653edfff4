"""The guest's kernel: fetched, patched, configured, checked, built and cached by content.

`build` returns a kernel, from the cache if it is there; `find` looks only in the cache; `named`
takes a series or the digest of a cached kernel, `check_named` says whether there is one;
`archive` has kernels as files.
"""

from qdisclab.emulation.kernel.builder import Kernel, build, check_named, find, kernels, named
from qdisclab.emulation.kernel.recipe import all_series

__all__ = ["Kernel", "all_series", "build", "check_named", "find", "kernels", "named"]
