"""Tests of `emulation.kernel`, most of them on a kernel tree of a few lines."""

import json
import os
import tarfile
import threading
import time
from pathlib import Path

import pytest

from qdisclab.emulation.errors import DamagedCache, KernelBuildError, MissingTool
from qdisclab.emulation.host import seal
from qdisclab.emulation.host.cache import cache_dir
from qdisclab.emulation.host.debs import Deb
from qdisclab.emulation.host.digest import sha256
from qdisclab.emulation.kernel import builder as builds, make, recipe as recipes, source as sources
from qdisclab.emulation.model.series import DEFAULT_KERNEL
from tests import write_files
from tests.emulation.kernel.conftest import MAKEFILE, PATCH, needs_make
from workflow import train


@pytest.fixture
def tarball(tmp_path: Path, cache: Path) -> Path:
    """A kernel's source, of two files, and an empty cache."""
    return make_tarball(tmp_path, "good\n")


def make_tarball(folder: Path, main: str, makefile: str = MAKEFILE) -> Path:
    texts = {"Makefile": makefile, "init/main.c": main}
    tree = write_files(folder / "linux-6.12.7", texts)
    path = folder / "linux.tar"
    with tarfile.open(path, "w") as archive:
        archive.add(tree, arcname=tree.name)
    return path


@pytest.mark.parametrize(
    ("releases", "inside"),
    [
        ("6.12..6.12", True),
        ("6.12..", True),
        ("..6.12", True),
        ("..", True),
        ("6.2..6.9", False),
        ("6.13..", False),
        ("..6.11", False),
    ],
)
def test_range_of_releases(releases: str, inside: bool) -> None:
    assert recipes.in_range("6.12", releases) is inside


@pytest.mark.parametrize("text", ["6.12", "6.12-6.15", "6..7", ""])
def test_bad_range(text: str) -> None:
    with pytest.raises(KernelBuildError, match="range"):
        recipes.in_range("6.12", text)


@pytest.mark.parametrize("text", ["6", "6.12.7", "six"])
def test_bad_series(text: str) -> None:
    with pytest.raises(KernelBuildError, match="series"):
        recipes.parse_series(text)


def test_fragment() -> None:
    text = '# why\n\nCONFIG_A=y\nCONFIG_B=n\nCONFIG_C="x y"\nCONFIG_D=1000\t# 6.17..\n'
    values = {o.name: o.value for o in recipes.parse_fragment(text, "f", "6.12")}
    assert values == {"CONFIG_A": "y", "CONFIG_B": "n", "CONFIG_C": '"x y"'}
    assert len(recipes.parse_fragment(text, "f", "6.17")) == 4


@pytest.mark.parametrize(
    "line", ["CONFIG_A", "A=y", "CONFIG_A=m", "CONFIG_A=y # why", "CONFIG_A ="]
)
def test_bad_fragment_names_the_line(line: str) -> None:
    with pytest.raises(KernelBuildError, match=r"^f\.config:2: "):
        recipes.parse_fragment(f"CONFIG_Z=y\n{line}\n", "f.config", "6.12")


def test_fragments_that_disagree() -> None:
    one = recipes.Option("CONFIG_A", "y", "one.config")
    other = recipes.Option("CONFIG_A", "n", "other.config")
    assert recipes.merge([one, one]) == (one,)
    with pytest.raises(KernelBuildError, match=r"one\.config.*other\.config"):
        recipes.merge([one, other])


def test_proof_of_options() -> None:
    wanted = recipes.parse_fragment(
        "CONFIG_A=y\nCONFIG_B=n\nCONFIG_C=n\nCONFIG_D=100\nCONFIG_E=y\n", "f", "6.12"
    )
    config = "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=y\nCONFIG_D=1000\nCONFIG_EE=y\n"
    assert [o.name for o in recipes.missing(wanted, config)] == ["CONFIG_C", "CONFIG_D", "CONFIG_E"]


def series(folder: Path, text: str, release: str) -> list[str]:
    return [
        str(patch.path.relative_to(folder))
        for patch in recipes.parse_patches(text, release, folder)
    ]


def test_versions_of_a_patch(tmp_path: Path) -> None:
    write_files(tmp_path, dict.fromkeys(("6.12/a.patch", "7.2/a.patch", "6.12/b.patch"), "a"))
    text = "6.12..6.15 6.12/a.patch\n7.2.. 7.2/a.patch # why\n6.12..6.15 6.12/b.patch\n"
    text += "7.2.. none b.patch\n"
    assert series(tmp_path, text, "6.12") == ["6.12/a.patch", "6.12/b.patch"]
    assert series(tmp_path, text, "7.3") == ["7.2/a.patch"]
    with pytest.raises(KernelBuildError, match=r"no version for 6\.16 of a\.patch, b\.patch"):
        series(tmp_path, text, "6.16")
    with pytest.raises(KernelBuildError, match="second version"):
        series(tmp_path, text + "6.12.. 7.2/a.patch\n", "6.12")
    with pytest.raises(KernelBuildError, match=r"series:1: there is no"):
        series(tmp_path, "6.12.. 6.12/c.patch", "6.12")
    with pytest.raises(KernelBuildError, match=r"series:1: not a line"):
        series(tmp_path, "6.12/a.patch", "6.12")


@pytest.mark.parametrize("name", recipes.all_series())
def test_recipe_of_the_project(name: str) -> None:
    recipe = recipes.load(name)
    assert {"um-seed.patch", "um-simulated-tsc.patch"} <= {patch.name for patch in recipe.patches}
    assert recipes.Option("CONFIG_HZ", "1000", "um.config") in recipe.options
    assert recipe.origin is not None
    assert all(len(deb.sha256) == 64 for deb in recipe.origin.locked)


def test_digest_changes_with_each_input(recipe_dir: Path) -> None:
    def digest(source: str = "s", compiler: str = "gcc 12", settings: str = "ARCH=um") -> str:
        recipe = recipes.load("6.12")
        return recipes.digest(source, recipes.inputs(recipe, compiler, [settings]))

    before = digest()
    seen = {before, digest(source="t"), digest(compiler="gcc 13"), digest(settings="X=1")}
    assert len(seen) == 4
    (recipe_dir / "config/a.config").write_text("# another reason\n\nCONFIG_A=y\n")
    assert digest() == before
    (recipe_dir / "config/a.config").write_text("CONFIG_A=n\n")
    seen.add(digest())
    (recipe_dir / "patches/6.12/one.patch").write_text(PATCH + "\n")
    seen.add(digest())
    assert len(seen) == 6


def test_a_patch_for_the_host_alone_is_another_build_of_the_same_identity(recipe_dir: Path) -> None:
    def names() -> tuple[str, str]:
        made = recipes.inputs(recipes.load("6.12"), "gcc 12", ["ARCH=um"])
        return recipes.digest("s", made), recipes.identity("s", made)

    build, identity = names()
    assert build == identity
    series = recipe_dir / "patches/series"
    (recipe_dir / "patches/6.12/two.patch").write_text(PATCH)
    text = series.read_text()
    series.write_text(f"{text}6.12..6.12 host 6.12/two.patch\n")
    assert names()[0] != build
    assert names()[1] == identity
    series.write_text(f"{text}6.12..6.12 6.12/two.patch\n")
    assert identity not in names()


def counts(folder: Path, compiler: str) -> Path:
    """A profile of one file in a recipe's folder."""
    (folder.parent / "counts/init").mkdir(parents=True, exist_ok=True)
    (folder.parent / "counts/init/main.gcda").write_text("counted\n")
    (folder / "profile").mkdir(exist_ok=True)
    archive = folder / f"profile/6.12-gcc-{compiler}.tar.xz"
    assert train.pack(folder.parent / "counts", archive) == 1
    return archive


def test_a_profile_is_another_build_of_the_same_identity(recipe_dir: Path) -> None:
    def names(compiler: str) -> tuple[str, str]:
        made = recipes.inputs(recipes.load("6.12"), compiler, ["ARCH=um"])
        return recipes.digest("s", made), recipes.identity("s", made)

    twelve, other = "gcc (Debian 12.2.0-14+deb12u1) 12.2.0", "gcc (Debian 14.2.0-19) 14.2.0"
    without = names(twelve), names(other)
    content = counts(recipe_dir, "12").read_bytes()
    assert names(twelve)[0] != without[0][0]
    assert names(twelve)[1] == without[0][1]
    assert names(other) == without[1]
    assert counts(recipe_dir, "12").read_bytes() == content


@needs_make
@pytest.mark.parametrize("fits", [True, False])
def test_the_compiler_gets_the_counts_of_its_own_release(
    recipe_dir: Path, cache: Path, tmp_path: Path, fits: bool
) -> None:
    release = (make.compiler_version() or "").split()[-1].partition(".")[0]
    counts(recipe_dir, release if fits else f"{release}0")
    shown = "".join(
        f"\t@{command} >> $(O)/linux\n"
        for command in ("echo '$(KBUILD_CFLAGS_KERNEL)'", "cat /dev/null $(wildcard $(O)/init/*)")
    )
    makefile = MAKEFILE.replace("\t@echo 0x1", f"{shown}\t@echo 0x1")
    tarball = make_tarball(tmp_path, "good\n", makefile)
    built = builds.build("6.12", source=tarball)
    content = built.path.read_text()
    assert ("-fprofile-use" in content, "counted" in content) == (fits, fits)
    assert (recipes.PROFILE in built.provenance["inputs"]) == fits
    assert make.CORRECTED not in content
    config = tmp_path / "own.config"
    config.write_text("CONFIG_NET=y\n")  # another option may change what was counted
    changed = builds.build("6.12", source=tarball, config=config).path.read_text()
    assert (make.CORRECTED in changed) == fits


def test_a_profile_is_unpacked_by_a_python_without_filters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Debian 12's 3.11.2 is."""
    (profile,) = recipes.load("6.12").profiles.values()
    unpack = tarfile.TarFile.extractall
    monkeypatch.setattr(tarfile.TarFile, "extractall", lambda self, path: unpack(self, path))
    monkeypatch.delattr(tarfile, "data_filter", raising=False)
    make.use_profile(profile, tmp_path)
    assert any((tmp_path / "build").rglob("*.gcda"))


def test_the_projects_profiles_hold_counts_and_nothing_else() -> None:
    found = [one for name in recipes.all_series() for one in recipes.load(name).profiles.items()]
    assert "12" in recipes.load(DEFAULT_KERNEL).profiles
    for compiler, profile in found:
        assert compiler.isdigit()
        with tarfile.open(profile) as archive:
            members = archive.getmembers()
        names = [one.name for one in members]
        assert {"net/sched/sch_fq_codel.gcda", "net/ipv4/tcp_input.gcda"} <= set(names)
        assert names == sorted(names, key=Path)
        assert all(one.isfile() and one.name.endswith(".gcda") for one in members)


def test_first_error_is_the_compilers_not_makes() -> None:
    log = (
        "  CC      a.o\nmake[3]: *** [a.o] Error 1\n"
        "b.c:3:1: warning: x\nb.c:4:1: error: no such thing\n"
    )
    assert make.first_error(log) == "b.c:4:1: error: no such thing"
    assert make.first_error("  CC a.o\nmake: *** No rule\n") == "make: *** No rule"
    assert make.first_error("  CC a.o\n") == ""


def test_missing_tools_are_named_with_their_packages() -> None:
    with pytest.raises(MissingTool, match=r"no-such-tool.*install some-package other"):
        make.check_tools((("no-such-tool", "some-package"), ("/no/such.h", "other")))


def test_known_digest_is_checked(tmp_path: Path) -> None:
    name = "linux-source-6.12"
    (tmp_path / "linux-source-6.12_6.12.7-1_all.deb").write_text("other bytes")
    content = sha256(tmp_path / "linux-source-6.12_6.12.7-1_all.deb")
    known = (Deb(name, "6.12.7-1", content), Deb(name, "6.12.7-1", "0" * 64))
    origin = recipes.Origin(name, (), known, 1)
    assert sources.fetch(origin, tmp_path).known


def test_release(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text(MAKEFILE)
    assert sources.release(tmp_path) == "6.12.7"
    (tmp_path / "Makefile").write_text("VERSION = 7\nPATCHLEVEL = 3\nEXTRAVERSION = -rc7\n")
    assert sources.release(tmp_path) == "7.3.0-rc7"
    (tmp_path / "Makefile").write_text("all:\n")
    with pytest.raises(KernelBuildError, match="not the source"):
        sources.release(tmp_path)


@needs_make
def test_build_and_find(tarball: Path) -> None:
    steps: list[str] = []
    made = builds.build(
        "6.12",
        tarball,
        progress=lambda step, done: steps.append(step),
    )
    assert made.path.read_text() == "good\npatched\nCONFIG_A=y\n"
    assert (made.release, made.series) == ("6.12.7", "6.12")
    assert steps[-1] == "compile"
    provenance = json.loads((made.path.parent / "kernel.json").read_text())
    assert provenance == made.provenance
    assert provenance["source"]["sha256"] == sha256(tarball)
    assert [patch["name"] for patch in provenance["inputs"]["patches"]] == ["one.patch"]

    steps.clear()
    again = builds.build("6.12", tarball, progress=lambda s, d: steps.append(s))
    assert (again, steps) == (made, [])
    assert builds.find("6.12") == made
    assert not (made.path.parent / "source").exists()

    builds.check(made.path)
    assert not any(path.stat().st_mode & 0o222 for path in made.path.parent.iterdir())
    made.path.chmod(0o755)
    made.path.write_text("damaged")
    with pytest.raises(DamagedCache, match="linux: is not as it was built"):
        builds.check(made.path)
    assert builds.find("6.12") is None
    repaired = builds.build("6.12", tarball)
    assert (repaired.digest, repaired.path) == (made.digest, made.path)
    assert builds.find("6.12") == repaired


@needs_make
def test_a_changed_option_is_another_kernel(recipe_dir: Path, tarball: Path) -> None:
    before = builds.build("6.12", tarball)
    (recipe_dir / "config/a.config").write_text("CONFIG_A=y\nCONFIG_B=y\n")
    assert builds.find("6.12") is None
    after = builds.build("6.12", tarball, keep_source=True)
    assert after.digest != before.digest
    assert (after.path.parent / "source/init/main.c").is_file()
    assert len(builds.kernels()) == 2


@needs_make
def test_options_of_the_users_own_are_another_kernel(tarball: Path, tmp_path: Path) -> None:
    plain = builds.build("6.12", tarball)
    config = tmp_path / "my.config"
    config.write_text("# why\nCONFIG_B=y\nCONFIG_C=y # 7.2..\n")
    own = builds.build("6.12", tarball, config=config)
    assert own.path.read_text() == "good\npatched\nCONFIG_A=y\nCONFIG_B=y\n"
    assert own.provenance["inputs"][recipes.OWN] == ["CONFIG_B=y"]
    assert own.identity != plain.identity
    assert builds.find("6.12") == plain
    for text, message in (
        ("CONFIG_A=n\n", r"CONFIG_A is y in a\.config and n in .*my\.config"),
        ("B=y\n", r"my\.config:1: not an option: 'B=y'"),
    ):
        config.write_text(text)
        with pytest.raises(KernelBuildError, match=message):
            builds.build("6.12", tarball, config=config)
    with pytest.raises(KernelBuildError, match=r"--config \S+/gone: cannot be read"):
        recipes.load("6.12", tmp_path / "gone")


@needs_make
def test_kernel_with_modules_keeps_what_they_are_made_against(
    recipe_dir: Path, tmp_path: Path, cache: Path
) -> None:
    names = ("include/net/a.h", "include/drm/b.h", "scripts/mod.sh", "arch/um/Makefile")
    write_files(tmp_path / "linux-6.12.7", dict.fromkeys(names, "source\n"))
    tarball = make_tarball(tmp_path, "good\n")
    without = builds.build("6.12", tarball)
    assert not (without.path.parent / "build").exists()

    (recipe_dir / "config/b.config").write_text("CONFIG_MODULES=y\n")
    kept = builds.build("6.12", tarball).path.parent / "build"
    files = {str(path.relative_to(kept)) for path in kept.rglob("*") if path.is_file()}
    assert files == {
        *(".config", "Makefile", "Module.symvers", "arch/um/Makefile"),
        *("include/net/a.h", "include/generated/autoconf.h", "scripts/mod.sh", "scripts/modpost"),
    }
    assert seal.is_intact(kept)
    assert not any(path.stat().st_mode & 0o222 for path in kept.rglob("*"))
    assert (kept / "Makefile").read_text() == MAKEFILE
    assert "CONFIG_MODULES=y" in (kept / ".config").read_text()


@needs_make
def test_failed_build_names_its_log_and_leaves_no_kernel(
    recipe_dir: Path, tmp_path: Path, cache: Path
) -> None:
    (recipe_dir / "patches/series").write_text("")
    tarball = make_tarball(tmp_path, "bad\n")
    with pytest.raises(KernelBuildError, match=r"init/main\.c:1:1: error: not good") as caught:
        builds.build("6.12", tarball)
    assert "not good" in Path(caught.value.where).read_text()
    assert builds.kernels() == ()
    assert not list(cache.glob(".build-*"))


@needs_make
def test_patch_with_fuzz_is_refused(tmp_path: Path, cache: Path) -> None:
    tarball = make_tarball(tmp_path, "good, but other\n")
    with pytest.raises(KernelBuildError, match=r"6\.12/one\.patch does not apply"):
        builds.build("6.12", tarball)


@needs_make
def test_option_that_does_not_take(
    recipe_dir: Path, tarball: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (recipe_dir / "config/b.config").write_text("CONFIG_B=y\n")
    proof = recipes.missing
    monkeypatch.setattr(recipes, "missing", lambda options, config: proof(options, ""))
    with pytest.raises(KernelBuildError, match=r"CONFIG_A=y \(a\.config\), CONFIG_B=y \(b\.conf"):
        builds.build("6.12", tarball)


@needs_make
def test_interrupted_build_leaves_no_kernel(tarball: Path, cache: Path) -> None:
    def interrupt(step: str, done: float) -> None:
        if step == "compile":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        builds.build("6.12", tarball, progress=interrupt)
    assert builds.kernels() == ()
    assert not list(cache.glob(".build-*"))


@needs_make
def test_what_a_killed_build_left_is_removed(tarball: Path, cache: Path) -> None:
    stale = cache / ".build-killed/result"
    stale.mkdir(parents=True)
    (stale / "linux").write_text("half")
    builds.build("6.12", tarball)
    assert not stale.exists()


@needs_make
def test_cache_in_a_folder_that_make_refuses(
    tarball: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache / "with a space"))
    spaced = cache_dir("kernel")
    made = builds.build("6.12", tarball)
    assert made.path.parent.parent == spaced
    assert [path.name for path in spaced.iterdir() if path.is_dir()] == [made.digest]


@needs_make
def test_second_build_waits_for_the_first(tarball: Path) -> None:
    inside = threading.Event()
    steps: list[str] = []
    made: list[builds.Kernel] = []

    def first(step: str, done: float) -> None:
        if step == "compile" and not inside.is_set():
            inside.set()
            while "wait for another build" not in steps:
                time.sleep(0.01)

    def run(progress: make.Progress) -> None:
        made.append(builds.build("6.12", tarball, None, progress))

    thread = threading.Thread(target=run, args=(first,), daemon=True)
    thread.start()
    assert inside.wait(10)
    run(lambda step, done: steps.append(step))
    thread.join(10)
    assert made[0] == made[1]
    assert steps == ["wait for another build"]


@needs_make
def test_source_of_another_series(recipe_dir: Path, tarball: Path) -> None:
    (recipe_dir / "patches/series").write_text("")
    with pytest.raises(KernelBuildError, match=r"source of 6\.12\.7, not of 6\.13"):
        builds.build("6.13", tarball)


def test_no_source(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(KernelBuildError, match="no source is known"):
        builds.build("6.12")
    with pytest.raises(KernelBuildError, match="no such file"):
        builds.build("6.12", tmp_path / "none.tar")


def test_environment_of_the_user_does_not_reach_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "KCFLAGS", "-O0")
    log = tmp_path / "log"
    assert make.run(["sh", "-c", "echo flags=$KCFLAGS"], tmp_path, log) == 0
    assert log.read_text().splitlines()[-1] == "flags="


@pytest.mark.kernel
def test_kernel_of_the_project_builds() -> None:
    made = builds.build()
    assert made.release.startswith(f"{made.series}.")
    assert builds.find() == made


def test_a_kernel_of_the_cache_by_its_digest() -> None:
    with pytest.raises(KernelBuildError, match="no kernel '0123456789abcdef' is in the cache"):
        builds.named("0123456789abcdef")


def test_a_symbol_that_there_is_not_is_the_error_not_what_make_says_of_it() -> None:
    undefined = 'ERROR: modpost: "my_queue" [sch_mine.ko] undefined!'
    log = f"  MODPOST Module.symvers\n{undefined}\nmake[2]: *** [Makefile:145] Error 1\n"
    assert make.first_error(log) == undefined
