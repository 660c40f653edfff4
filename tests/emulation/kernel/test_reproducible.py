"""Two builds of a kernel give the same file: it takes a quarter of an hour of a core."""

import os
from pathlib import Path

import pytest

from qdisclab.emulation.host.cache import cache_dir
from qdisclab.emulation.kernel import archive, builder, make, recipe
from tests import write_executable

VARIABLE = "QDISC_LAB_SLOW"


def test_a_build_does_not_see_what_kconfig_would_write_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in `scripts/rustc-version.sh` and `scripts/pahole-version.sh` of Linux."""
    (tmp_path / "bin").mkdir()
    for name in ("rustc", "pahole"):
        write_executable(tmp_path / "bin" / name, "echo 1.95.0")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    (tmp_path / "Makefile").write_text(
        "versions:\n"
        "\t@$(RUSTC) --version 2>/dev/null || echo no rustc\n"
        '\t@[ -x "$$(command -v $(PAHOLE))" ] || echo no pahole\n'
    )
    assert make.run(make.make_command("versions"), tmp_path, tmp_path / "build.log") == 0
    assert (tmp_path / "build.log").read_text().endswith("no rustc\nno pahole\n")


@pytest.mark.slow
@pytest.mark.skipif(VARIABLE not in os.environ, reason=f"two builds: set {VARIABLE}=1")
def test_two_builds_in_two_folders_give_the_same_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources, digests = cache_dir("kernel") / "sources", []
    for place in ("here", "there/deeper"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / place))
        (cache_dir("kernel") / "sources").symlink_to(sources)
        kernel = builder.build()
        digests.append(archive.pack(kernel, tmp_path / "kernel.tar.gz"))
    assert digests[0] == digests[1]
    assert digests[0] in recipe.packed()
