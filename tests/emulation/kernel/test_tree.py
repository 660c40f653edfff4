"""emulation.kernel.tree: kernels of trees that somebody works in."""

import hashlib
from pathlib import Path

import pytest

from qdisclab.emulate import cli
from qdisclab.emulation.errors import ConfigError, KernelBuildError
from qdisclab.emulation.kernel import builder, tree
from qdisclab.emulation.kernel.builder import Kernel
from tests import captured, write_files
from tests.emulation.kernel.conftest import MAKEFILE, PATCH, needs_make

RULES = """\
linux: $(O)/init/main.o $(O)/net/codel.o
\t@cat $^ > $(O)/linux
$(O)/%.o: %.c
\t@mkdir -p $(dir $@)
\t@! grep -q bad $< || { echo "$<:1:1: error: not good"; exit 1; }
\t@echo "  CC      $*.o"
\t@cp $< $@
"""

pytestmark = needs_make


class Tree:
    """A tree of two C files, a recipe for it and a cache."""

    def __init__(self, path: Path, recipe: Path, cache: Path) -> None:
        self.path, self.recipe, self.cache = path, recipe, cache
        self.write("Makefile", MAKEFILE.partition("linux:")[0] + RULES)
        for name in ("arch/um/Makefile", "arch/x86/um/Makefile", "arch/arm/Kconfig"):
            self.write(name, "")
        self.write("init/main.c", "good\n")
        self.write("net/codel.c", "codel\n")

    def write(self, name: str, content: str) -> None:
        write_files(self.path, {name: content})

    def build(self) -> Kernel:
        return tree.build(self.path)

    def git(self, *words: str) -> str:
        who = ("-c", "user.name=N", "-c", "user.email=n@example.invalid")
        command = ["git", "-C", self.path, *who, *words]
        return captured(command, check=True).stdout.strip()


@pytest.fixture
def source(tmp_path: Path, recipe_dir: Path, cache: Path) -> Tree:
    return Tree(tmp_path / "linux", recipe_dir, cache)


def compiled(kernel: Kernel) -> list[str]:
    """The objects that the build of a kernel compiled."""
    log = (kernel.path.parent / "build.log").read_text()
    return sorted(line.split()[1] for line in log.splitlines() if line.startswith("  CC "))


def test_only_what_has_changed_is_compiled_again(source: Tree) -> None:
    first = source.build()
    assert first.path.read_text() == "good\npatched\ncodel\n"
    assert compiled(first) == ["init/main.o", "net/codel.o"]
    source.write("net/codel.c", "codel of mine\n")
    second = source.build()
    assert second.path.read_text() == "good\npatched\ncodel of mine\n"
    assert compiled(second) == ["net/codel.o"]
    source.write("net/codel.c", "codel\n")
    assert source.build() == first  # found by its content, and not built


def test_another_tree_of_the_series_finds_the_objects(source: Tree, tmp_path: Path) -> None:
    first = source.build()
    other = Tree(tmp_path / "other", source.recipe, source.cache)
    assert other.build() == first
    other.write("net/codel.c", "of another\n")
    assert compiled(other.build()) == ["net/codel.o"]
    (source.path / "net/codel.c").write_text("mine\n")
    assert source.build().path.read_text() == "good\npatched\nmine\n"
    assert len(list(source.cache.glob("trees/*"))) == 1


def test_a_file_that_a_patch_changes_is_patched_anew(source: Tree) -> None:
    hunk = "@@ -1,3 +1,4 @@\n 1\n+patched\n 2\n 3\n"
    (source.recipe / "patches/6.12/one.patch").write_text(
        f"--- a/init/main.c\n+++ b/init/main.c\n{hunk}"
    )
    for last in ("4", "mine"):
        source.write("init/main.c", f"1\n2\n3\n{last}\n")
        assert source.build().path.read_text() == f"1\npatched\n2\n3\n{last}\ncodel\n"
    (source.recipe / "patches/series").write_text("")
    assert source.build().path.read_text() == "1\n2\n3\nmine\ncodel\n"


def test_what_an_interrupted_build_copied_is_not_taken_for_the_trees(
    source: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.build()
    source.write("net/codel.c", "bad\n")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(builder, "compiled", interrupt)
        source.build()
    source.write("net/codel.c", "codel\n")
    assert source.build().path.read_text() == "good\npatched\ncodel\n"


def interrupt(*_: object) -> Path:
    raise KeyboardInterrupt


def test_a_removed_file_is_removed_from_the_copy(source: Tree) -> None:
    source.write("net/old.c", "old\n")
    source.build()
    (copy,) = source.cache.glob("trees/*/source")
    assert (copy / "net/old.c").exists()
    (source.path / "net/old.c").unlink()
    source.build()
    assert not (copy / "net/old.c").exists()


def test_what_no_kernel_here_is_made_of_is_no_part_of_its_identity(source: Tree) -> None:
    first = source.build()
    for name in ("arch/arm/boot/a.c", "Documentation/index.rst", "sound/a.c", "build/linux.o"):
        source.write(name, "other\n")
    assert source.build() == first
    source.write("arch/arm/Kconfig", "config A\n")
    assert source.build().digest != first.digest


def test_the_record_of_a_checkout_has_commit_changes_and_new_files(source: Tree) -> None:
    source.write(".gitignore", "*.o\n")
    source.git("init", "-q")
    source.git("add", ".")
    source.git("commit", "-qm", "first")
    source.git("tag", "v6.12.7")
    clean = source.build()
    about = clean.provenance["source"]
    assert (about["describe"], about["diff_sha256"], about["untracked"]) == ("v6.12.7", "", [])
    assert about["commit"] == source.git("rev-parse", "HEAD")
    source.write("net/codel.c", "codel of mine\n")
    source.write("net/own.c", "own\n")
    source.write("net/own.o", "ignored\n")
    dirty = source.build()
    about = dirty.provenance["source"]
    assert (about["describe"], about["untracked"]) == ("v6.12.7-dirty", ["net/own.c"])
    diff = (source.git("diff", "HEAD") + "\n").encode()
    assert about["diff_sha256"] == hashlib.sha256(diff).hexdigest()
    assert dirty.identity != clean.identity
    source.git("stash", "-uq")
    assert source.build() == clean


def test_a_kernel_of_a_tree_is_not_taken_for_that_of_the_series(source: Tree) -> None:
    (source.recipe / "KERNEL.toml").write_text(
        '[series."6.12"]\npackage = "linux-source-6.12"\nobjects = 2\n'
    )
    made = source.build()
    assert builder.find("6.12") is None
    assert builder.named(made.digest) == made


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("net/codel.c", "bad\n", r"the build failed: net/codel\.c:1:1: error: not good"),
        ("init/main.c", "other\n", r"6\.12/one\.patch does not apply .*init/main\.c: Hunk #1 FAIL"),
        (".config", "", r"has been built in place \(\.config\).*mrproper"),
        ("Makefile", "all:\n", "is not the source of a kernel"),
        ("Makefile", "VERSION = 5\nPATCHLEVEL = 10\n", r"no version for 5\.10 of one\.patch"),
    ],
)
def test_a_bad_tree_is_named_with_its_fault(
    source: Tree, name: str, content: str, message: str
) -> None:
    source.write(name, content)
    with pytest.raises(KernelBuildError, match=message):
        source.build()
    assert builder.kernels() == ()


def test_a_tree_without_the_architecture_is_refused(source: Tree) -> None:
    (source.path / "arch/um/Makefile").unlink()
    with pytest.raises(KernelBuildError, match=r"has no arch/um/Makefile"):
        source.build()


def test_a_checkout_whose_sources_git_ignores_is_refused(source: Tree) -> None:
    """As Debian's has it, which keeps its own folder alone."""
    source.write(".gitignore", "/*\n!/debian/\n")
    source.git("init", "-q")
    with pytest.raises(KernelBuildError, match=r"git ignores arch/um/Makefile.*git add -f"):
        source.build()
    assert not list(source.cache.glob("trees/*/source"))
    source.git("add", "-f", ".")
    source.git("commit", "-qm", "first")
    assert source.build().path.read_text() == "good\npatched\ncodel\n"


def test_warnings_of_what_is_compiled_are_shown(
    source: Tree, caplog: pytest.LogCaptureFixture
) -> None:
    rule = '\t@echo "  CC      $*.o"\n'
    warns = rule + '\t@grep -q odd $< && echo "../$<:7:1: warning: odd" || true\n'
    source.write("Makefile", (source.path / "Makefile").read_text().replace(rule, warns))
    source.write("net/codel.c", "odd\n")
    source.build()
    source.build()
    assert caplog.messages == [f"warning: {source.path}/net/codel.c:7: odd"]


def test_a_new_file_of_a_patch_is_there(source: Tree) -> None:
    (source.recipe / "patches/6.12/one.patch").write_text(
        f"{PATCH}--- /dev/null\n+++ b/net/new.h\n@@ -0,0 +1 @@\n+new\n"
    )
    source.build()
    (copy,) = source.cache.glob("trees/*/source")
    assert (copy / "net/new.h").read_text() == "new\n"


def test_a_tree_has_a_series_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["kernel", "build", "--tree", ".", "--series", "6.12"]
    assert cli.main(words) == ConfigError.exit_status
    assert "--tree: has its own series and source" in capsys.readouterr().err
