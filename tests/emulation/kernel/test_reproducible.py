"""Two builds of a kernel give the same file: it takes a quarter of an hour of a core."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from emulation.host.cache import cache_dir
from emulation.kernel import archive, builder, make, recipe

VARIABLE = "QDISC_LAB_SLOW"


def test_a_build_does_not_see_what_kconfig_would_write_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/rustc").write_text("#!/bin/sh\necho rustc 1.95.0\n")
    (tmp_path / "bin/rustc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    command = ["sh", "-c", "rustc --version"]
    assert make.run(command, tmp_path, tmp_path / "build.log") == 127


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
