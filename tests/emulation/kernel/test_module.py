"""Modules: built once for a kernel and its sources, and what is said where that fails."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from qdisclab.emulation.errors import DamagedCache, KernelBuildError
from qdisclab.emulation.host import seal
from qdisclab.emulation.kernel import Kernel, all_series, find, make, module
from qdisclab.emulation.model.qdisc import ModuleSource
from tests import write_files

HELLO = """\
#include <linux/module.h>
static int __init hello(void) { pr_info("hello from %s\\n", __FILE__); return 0; }
static void __exit bye(void) { }
module_init(hello);
module_exit(bye);
MODULE_DESCRIPTION("Says hello");
MODULE_LICENSE("GPL");
"""


@pytest.fixture
def hello(tmp_path: Path) -> Path:
    """The sources of a module."""
    return write_files(tmp_path / "hello", {"Kbuild": "obj-m := hello.o\n", "hello.c": HELLO})


def fake(tmp_path: Path, digest: str = "0" * 16) -> Kernel:
    return Kernel(tmp_path / digest / "linux", digest, "6.12.0", "6.12", {})


def test_a_folder_without_kbuild_is_no_module(tmp_path: Path) -> None:
    with pytest.raises(KernelBuildError, match=r"no file Kbuild.*obj-m := NAME\.o"):
        module.build(fake(tmp_path), tmp_path, tmp_path)


def test_a_kbuild_may_have_any_bytes_and_folders_are_no_sources(hello: Path) -> None:
    (hello / "Kbuild").write_bytes(b"# \xff\nobj-m := hello.o\n")
    digest = module.source(hello).digest
    (hello / "x.c").mkdir()
    assert module.source(hello) == ModuleSource("hello", hello, digest)


def test_a_kernel_without_its_build_tree_says_what_to_do(tmp_path: Path, hello: Path) -> None:
    with pytest.raises(KernelBuildError, match="emulate kernel build"):
        module.build(fake(tmp_path), hello, tmp_path)


def test_what_is_in_the_cache_is_not_built_again(tmp_path: Path, hello: Path) -> None:
    one, other = fake(tmp_path), fake(tmp_path, "1" * 16)
    digests = {module._digest(kernel, module._sources(hello)) for kernel in (one, other)}
    assert len(digests) == 2
    place = tmp_path / "cache" / module._digest(one, module._sources(hello))
    place.mkdir(parents=True)
    (place / "hello.ko").write_bytes(b"as if built")
    seal.seal(place)
    found = module.build(one, hello, tmp_path / "cache")
    assert (found.name, found.path.read_bytes()) == ("hello", b"as if built")
    (hello / "hello.h").write_text("")
    with pytest.raises(KernelBuildError, match="no files to build modules against"):
        module.build(one, hello, tmp_path / "cache")


def test_of_two_that_build_at_once_one_installs(
    tmp_path: Path, hello: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both, install, installed = Barrier(2), seal.install, []

    def compiled(tree: Path, sources: Any, place: Path, log: Path) -> list[Path]:
        place.mkdir()
        (place / "hello.ko").write_bytes(b"as if built")
        both.wait(timeout=10)
        return [place / "hello.ko"]

    def slowly(made: Path, place: Path) -> None:
        installed.append(place)
        time.sleep(0.2)
        install(made, place)

    monkeypatch.setattr(module, "_compile", compiled)
    monkeypatch.setattr(module.make, "check_tools", lambda: None)
    monkeypatch.setattr(seal, "install", slowly)
    one, cache = fake(tmp_path), tmp_path / "cache"
    (one.path.parent / "build").mkdir(parents=True)
    cache.mkdir()
    with ThreadPoolExecutor(2) as pool:
        found = set(pool.map(lambda _: module.build(one, hello, cache), range(2)))
    assert [place.parent for place in installed] == [cache]
    assert [one.path.read_bytes() for one in found] == [b"as if built"]


def test_nothing_is_built_against_what_has_changed(tmp_path: Path, hello: Path) -> None:
    one = fake(tmp_path)
    tree = one.path.parent / "build"
    (tree / "include").mkdir(parents=True)
    seal.seal(tree)
    (tree / "include").chmod(0o755)
    (tree / "include/more.h").touch()
    with pytest.raises(DamagedCache, match=r"include: is not as .* run `emulate kernel build`"):
        module.build(one, hello, tmp_path / "cache")


def test_a_module_is_laid_into_the_job(tmp_path: Path) -> None:
    path = tmp_path / "wifi.ko"
    path.write_bytes(b"elf")
    module.put([module.Module("wifi", path, "d")], tmp_path)
    assert (tmp_path / "modules" / "wifi.ko").read_bytes() == b"elf"


@pytest.mark.kernel
def test_the_same_sources_give_the_same_bytes_anywhere(
    built: Kernel, hello: Path, tmp_path: Path
) -> None:
    places = [tmp_path / name for name in ("here", "there/longer")]
    for place in places:
        place.mkdir(parents=True)
    one, other = (module.build(built, hello, place) for place in places)
    assert one.name == "hello"
    assert one.path.read_bytes() == other.path.read_bytes()
    assert str(tmp_path).encode() not in one.path.read_bytes()
    assert sorted(path.name for path in one.path.parent.iterdir()) == ["hello.ko"]


@pytest.mark.kernel
def test_a_fault_is_named_and_leaves_no_module(built: Kernel, hello: Path, tmp_path: Path) -> None:
    (hello / "hello.c").write_text(HELLO.replace("return 0", "return nonsense"))
    cache = tmp_path / "cache"
    cache.mkdir()
    with pytest.raises(KernelBuildError, match="nonsense") as caught:
        module.build(built, hello, cache)
    (log,) = cache.iterdir()
    assert str(caught.value).startswith(f"{hello}: does not build for Linux {built.release}: ")
    assert caught.value.todo == f"see {log}"


@pytest.mark.kernel
@pytest.mark.parametrize("series", all_series())
def test_warnings_are_shown_once_with_the_users_file_and_line(
    series: str, hello: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Also of a plugin, and where a macro of a header is warned of."""
    built = find(series)
    if built is None:
        pytest.skip(f"no kernel {series} is in the cache")
    flaws = 'int unused; char *wrong = min_t(char *, NULL, 1); pr_info("%p", wrong); return 0'
    (hello / "hello.c").write_text(HELLO.replace("return 0", flaws))
    (hello / "q_hello.c").write_text("static int nobody(void)\n{ return 0; }\n")
    cache = tmp_path / "cache"
    cache.mkdir()
    module.build(built, hello, cache)
    shown = [text.partition(" [-W")[0] for text in caplog.messages]
    assert [text for text in shown if "MODULE_" not in text] == [
        f"warning: {hello}/hello.c:2: initialization of 'char *' from 'int' makes pointer from "
        "integer without a cast",
        f"warning: {hello}/hello.c:2: unused variable 'unused'",
        f"warning: {hello}/q_hello.c:1: 'nobody' defined but not used",
    ]
    module.build(built, hello, cache)
    (hello / "hello.c").write_text(HELLO.replace("return 0", "int other; return 0"))
    module.build(built, hello, cache, is_ours=True)
    assert len(caplog.messages) == len(shown)


@pytest.mark.kernel
def test_a_part_of_an_era_for_another_kernel_says_which_one_has_it() -> None:
    built = find("7.2")
    if built is None:
        pytest.skip("no kernel 7.2 is in the cache")
    part = ModuleSource("quickack", module.SOURCES / "quickack", "")
    with pytest.raises(KernelBuildError, match=r"choose another era, or the kernel 6\.12; see "):
        module.needed(built, {}, [part])


def test_of_many_warnings_the_first_are_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = write_files(tmp_path, {"log": "", "net/a.c": ""}) / "log"
    lines = [f"../net/a.c:{line}:1: warning: \033[31mbad" for line in range(9)]
    profile = "../kernel/fork.c:3:1: warning: Missing counts for called function a/3"
    log.write_text("\n".join([profile, *lines, *lines, "WARNING: modpost: no description"]))
    make.show(make.warnings(log, "../", tmp_path), tmp_path)
    assert caplog.messages[0] == rf"warning: {tmp_path}/net/a.c:0: \x1b[31mbad"
    assert caplog.messages[7:] == [
        rf"warning: {tmp_path}/net/a.c:7: \x1b[31mbad",
        f"warning: {tmp_path}: 2 more warnings",
    ]
