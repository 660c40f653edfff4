"""Two builds of a kernel give the same file: it takes a quarter of an hour of a core."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from emulation.host.cache import cache_dir
from emulation.kernel import archive, builder, recipe

VARIABLE = "QDISC_LAB_SLOW"


@pytest.mark.slow
@pytest.mark.skipif(VARIABLE not in os.environ, reason=f"two builds: set {VARIABLE}=1")
def test_two_builds_in_two_folders_give_the_same_archive(tmp_path: Path) -> None:
    digests = []
    for place in ("here", "there/deeper"):
        cache = tmp_path / place
        cache.mkdir(parents=True)
        (cache / "sources").symlink_to(cache_dir("kernel") / "sources")
        kernel = builder.build(cache=cache)
        digests.append(archive.pack(kernel, tmp_path / "kernel.tar.gz"))
    assert digests[0] == digests[1]
    assert digests[0] in recipe.packed()
