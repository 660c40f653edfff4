"""A recipe of one option and one patch, for kernel trees of a few lines."""

import shutil
from pathlib import Path

import pytest

from qdisclab.emulation.host.cache import cache_dir
from qdisclab.emulation.kernel import make, recipe
from tests import write_files

MAKEFILE = """\
VERSION = 6
PATCHLEVEL = 12
SUBLEVEL = 7
EXTRAVERSION =
allnoconfig:
\tcp $(KCONFIG_ALLCONFIG) $(O)/.config
olddefconfig:
\t@true
linux:
\t@echo "  CC      init/main.o"
\t@grep -q good init/main.c || { echo "init/main.c:1:1: error: not good"; exit 1; }
\t@cat init/main.c $(O)/.config > $(O)/linux
\t@echo 0x1 > $(O)/vmlinux.symvers
modules_prepare:
\t@mkdir -p $(O)/include/generated $(O)/scripts
\t@touch $(O)/Makefile $(O)/include/generated/autoconf.h $(O)/scripts/modpost $(O)/scripts/modpost.o
"""

PATCH = """\
From: Somebody <somebody@example.invalid>
Subject: [PATCH] add a line

---
--- a/init/main.c
+++ b/init/main.c
@@ -1 +1,2 @@
 good
+patched
"""

needs_make = pytest.mark.skipif(
    not (shutil.which("make") and shutil.which("patch") and shutil.which("gcc")),
    reason="no make, patch or gcc",
)


@pytest.fixture
def recipe_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recipe with one option and one patch."""
    texts = {
        "KERNEL.toml": "[series]\n",
        "config/a.config": "# reason\nCONFIG_A=y\n",
        "patches/6.12/one.patch": PATCH,
        "patches/series": "6.12..6.12 6.12/one.patch\n",
    }
    folder = write_files(tmp_path / "qdisc", texts)
    monkeypatch.setattr(recipe, "RECIPE_DIR", folder)
    return folder


@pytest.fixture
def cache(tmp_path: Path, recipe_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache beside the recipe, and no tools but those that the tiny tree needs."""
    monkeypatch.setattr(make, "check_tools", lambda: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return cache_dir("kernel")
