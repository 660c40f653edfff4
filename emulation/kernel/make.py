"""The steps of a build that run programs: patch, configure, compile."""

import logging
import os
import re
import shutil
import signal
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

from qdisclab.emulation.errors import KernelBuildError, MissingTool, printable
from qdisclab.emulation.host import confine
from qdisclab.emulation.kernel import recipe as recipes
from qdisclab.emulation.kernel.recipe import Recipe

_log = logging.getLogger(__name__)

#: Called with the current step and the fraction of it that is done.
Progress = Callable[[str, float], None]

#: What a build needs on the host: (program or header, Debian package).
TOOLS: tuple[tuple[str, str], ...] = (
    ("make", "make"),
    ("gcc", "gcc"),
    ("ld", "binutils"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("xz", "xz-utils"),
    ("patch", "patch"),
    ("perl", "perl"),
    ("/usr/include/stdio.h", "libc6-dev"),
)

#: Arguments of make. Nothing of the machine, the user or the time gets into the binary.
SETTINGS: tuple[str, ...] = (
    "ARCH=um",
    "LOCALVERSION=",
    "KBUILD_BUILD_TIMESTAMP=Thu Jan  1 00:00:00 UTC 1970",
    "KBUILD_BUILD_USER=qdisc-lab",
    "KBUILD_BUILD_HOST=qdisc-lab",
    "KBUILD_BUILD_VERSION=1",
)

#: How the compiler uses counts of branches. Values of variables were not counted.
PROFILE_FLAGS = (
    *("-fprofile-use", "-fno-profile-values"),
    *("-Wno-missing-profile", "-Wno-coverage-mismatch"),
)
#: Where options that were not there when branches were counted have changed functions.
CORRECTED = "-fprofile-correction"

#: What Kconfig looks for, and would write into the kernel where it is there, does not exist.
_ABSENT = ("RUSTC=none", "BINDGEN=none", "PAHOLE=none")

#: Environment variables that a build gets; the user's CFLAGS or MAKEFLAGS would change it.
_ENVIRONMENT = ("HOME", "PATH")

#: Folders and files of a tree that a module's build reads, merged from the source and the build.
_FOR_MODULES = (
    "Makefile",
    "arch/um/Makefile*",
    "arch/um/include",
    "arch/x86/Makefile.um",
    "arch/x86/include",
    "arch/x86/um/asm",
    "arch/x86/um/shared",
    "include",
    "scripts",
)
#: What makes up most of these folders: results of the build, and headers of hardware.
_NOT_FOR_MODULES = shutil.ignore_patterns(
    *("*.o", ".*.cmd", "dtc", "gdb", "coccinelle", "kconfig", "package"),
    *("dt-bindings", "drm", "media", "mlx*", "platform_data", "rdma", "soc", "sound", "video"),
)

#: Where a confined build finds compilers: the system's folders, and these of other prefixes.
_SYSTEM = tuple(map(Path, ("/bin", "/lib", "/lib32", "/lib64", "/sbin", "/usr")))
_SYSTEM_FILES = (Path("/etc/ld.so.cache"), Path("/etc/alternatives"))
_OF_COMPILERS = ("bin", "include", "lib", "lib64", "libexec", "*-linux-gnu*")

_ERRORS = (
    re.compile(r"(?:\berror:|\bfatal error:|^ERROR: |undefined reference to|syntax error)"),
    re.compile(r"\*\*\* "),
)
_PLACE = r"(\S+?:\d+)(?::\d+)?: "
_WARNING = re.compile(rf"{_PLACE}warning: (?!Missing counts )(.+)|(WARNING): modpost: (.+)")
_EXPANDED = re.compile(rf"{_PLACE}note: in expansion of macro ")

#: Most warnings of a build that are shown.
MOST_WARNINGS = 8


def compiler_version() -> str | None:
    """Return the first line of `gcc --version`; None without a gcc."""
    if shutil.which("gcc") is None:
        return None
    version = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True)
    return version.stdout.splitlines()[0]


def check_tools(tools: tuple[tuple[str, str], ...] = TOOLS) -> None:
    """Raise `MissingTool` with each missing tool and its package."""
    there = (Path(of).exists() if of.startswith("/") else shutil.which(of) for of, _ in tools)
    if absent := [of for of, is_there in zip(tools, there, strict=True) if not is_there]:
        what = "building a kernel needs " + ", ".join(tool for tool, _ in absent)
        todo = "install " + " ".join(package for _, package in absent)
        raise MissingTool(what, "this machine", todo)


def first_error(log: str) -> str:
    """Return the line of a build's log with the first error, or ""."""
    lines = log.splitlines()
    return next((line.strip() for pattern in _ERRORS for line in lines if pattern.search(line)), "")


def warnings(log: Path, place: str, folder: Path) -> list[str]:
    """Return the warnings in a build's `log`, each once, as `FILE:LINE: TEXT`.

    Files of `folder`, which the log calls by their names or those below `place`, have it before
    them; of a warning about a macro, FILE is where the user's file uses it.
    """
    texts: list[list[str]] = []

    def named(at: str) -> str:
        name = at.removeprefix(place)
        is_own = not name.startswith("/") and (folder / name.rpartition(":")[0]).is_file()
        return f"{folder}/{name}" if is_own else at

    for line in log.read_text(errors="replace").splitlines() if log.exists() else ():
        if match := _WARNING.match(line):
            at, text, modpost, problem = match.groups()
            texts.append([str(folder), problem] if modpost else [named(at), text])
        elif texts and (match := _EXPANDED.match(line)) and str(folder) not in texts[-1][0]:
            texts[-1][0] = named(match[1])
    return list(dict.fromkeys(f"{at}: {text}" for at, text in texts))


def show(warnings: list[str], folder: Path) -> None:
    """Log the first `warnings` of a build of `folder`, and how many there are besides."""
    for text in warnings[:MOST_WARNINGS]:
        _log.warning("warning: %s", printable(text))
    if (more := len(warnings) - MOST_WARNINGS) > 0:
        _log.warning("warning: %s: %s more warnings", folder, more)


def apply_patches(recipe: Recipe, tree: Path, log: Path) -> None:
    """Apply the patches to `tree`; refuse a hunk whose context differs."""
    for patch in recipe.patches:
        command = ["patch", "-p1", "--batch", "--forward", "--fuzz=0", "-i", str(patch.path)]
        printed: list[str] = []
        if run(command, tree, log, printed.append):
            name = f"{patch.path.parent.name}/{patch.name}"
            what = f"{name} does not apply to {recipe.series}: {_failed_hunk(printed)}"
            raise KernelBuildError(what, todo="make a version of the patch for this source")


def _failed_hunk(output: list[str]) -> str:
    """Return the file and hunk that `patch` could not apply, of the lines that it printed."""
    file = ""
    for line in map(str.strip, output):
        if line.startswith("patching file "):
            file = line.removeprefix("patching file ")
        elif line.startswith("|+++ "):  # of a file that is not there
            file = line.split()[1].partition("/")[2]
        elif "FAILED" in line or line == "No file to patch.  Skipping patch.":
            return f"{file}: {line.partition(' -- ')[0]}"
    return output[-1].strip() if output else "patch failed"


def configure(recipe: Recipe, tree: Path, log: Path) -> None:
    """Make `build/.config` in `tree` from the options, and check that all have their values."""
    out = tree / "build"
    out.mkdir(exist_ok=True)
    wanted = out / "wanted.config"
    wanted.write_text("".join(f"{option.name}={option.value}\n" for option in recipe.options))
    for target in (f"KCONFIG_ALLCONFIG={wanted}", "allnoconfig"), ("olddefconfig",):
        if run(make_command(*target), tree, log):
            raise KernelBuildError(what=f"make {target[-1]} failed: {first_error(log.read_text())}")
    if missing := recipes.missing(recipe.options, (out / ".config").read_text()):
        listed = ", ".join(f"{each.name}={each.value} ({each.fragment})" for each in missing)
        todo = "look up what each depends on (its Kconfig) and ask for that as well, or drop it"
        raise KernelBuildError(f"{len(missing)} options are not as asked for: {listed}", todo=todo)


def use_profile(profile: Path, tree: Path, *flags: str) -> list[str]:
    """Put the counts of `profile` beside where the objects of `tree` will be; return arguments of
    make that have the compiler read them, with `flags`.

    The kernel's own code alone is compiled with them: not modules, nor what speaks to the host.
    Where a patch changed a function, the compiler leaves out its counts.
    """
    safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Python 3.11.4 on
    with tarfile.open(profile) as counts:
        counts.extractall(tree / "build", **safe)  # type: ignore[arg-type]
    return [f"KBUILD_CFLAGS_KERNEL={' '.join((*PROFILE_FLAGS, *flags))}"]


def make_command(*words: str) -> list[str]:
    """Return the command that makes a kernel in the folder `build` of its tree, with `words`."""
    return ["make", "O=build", *SETTINGS, *_ABSENT, *words]


def compile_tree(
    recipe: Recipe, tree: Path, log: Path, jobs: int | None, progress: Progress
) -> None:
    """Compile `tree`, with the recipe's profile where it has one for this compiler."""
    objects = recipe.origin.objects if recipe.origin else 0
    profile = recipe.profile(compiler_version() or "")
    flags = (CORRECTED,) if recipe.own else ()
    maps = " ".join(f"-ffile-prefix-map={path}=." for path in (tree / "build", tree))
    words = make_command(
        f"-j{jobs or len(os.sched_getaffinity(0))}",
        f"KCFLAGS={maps}",
        f"KAFLAGS={maps}",
        *(use_profile(profile, tree, *flags) if profile else ()),
        "linux",
    )
    compiled = 0

    def count(line: str) -> None:
        nonlocal compiled
        if line.startswith("  CC "):
            compiled += 1
            progress("compile", min(compiled / objects, 0.99) if objects else 0)

    progress("compile", 0)
    if run(words, tree, log, count):
        what = f"the build failed: {first_error(log.read_text())}"
        raise KernelBuildError(what, todo="read the log from that line on")
    progress("compile", 1)


def keep_for_modules(tree: Path, place: Path, log: Path) -> None:
    """Copy what `make -C place ARCH=um M=… modules` needs into the new folder `place`.

    `tree` is compiled with CONFIG_MODULES=y.
    """
    if run(make_command("modules_prepare"), tree, log):
        raise KernelBuildError(what=f"make modules_prepare: {first_error(log.read_text())}")
    out = tree / "build"
    for top in (tree, out):
        for path in (path for pattern in _FOR_MODULES for path in top.glob(pattern)):
            target = place / path.relative_to(top)
            if path.is_dir():
                shutil.copytree(
                    path, target, symlinks=True, ignore=_NOT_FOR_MODULES, dirs_exist_ok=True
                )
            elif top == tree:  # the source's Makefile, not the build's
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
    shutil.copy(out / ".config", place / ".config")
    shutil.copy(out / "vmlinux.symvers", place / "Module.symvers")


def reach(folder: Path, *runs: Path) -> confine.Reach:
    """Return what a build of untrusted sources in `folder` may use: compiler, and `runs`."""
    tools = [Path(path).resolve() for tool, _ in TOOLS if (path := shutil.which(tool))]
    prefixes = {path.parent.parent for path in tools if path.parents[-2] not in _SYSTEM}
    own = (path for prefix in prefixes for part in _OF_COMPILERS for path in prefix.glob(part))
    return confine.Reach(
        folder,
        runs=(*_SYSTEM, *own, *runs),
        reads=_SYSTEM_FILES,
        writes=(folder, Path("/dev/null")),
        builds=True,
    )


def run(
    command: list[str],
    folder: Path,
    log: Path,
    line: Callable[[str], None] | None = None,
    reach: confine.Reach | None = None,
) -> int:
    """Run `command` in `folder`, append its output to `log`, and return its exit status.

    `line` is called with each line of the output; with `reach` the command can use nothing else of
    the host. It gets only a few environment variables.
    """
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    environment["TMPDIR"] = str(folder)  # so that what a killed compiler leaves goes with it
    if reach is not None:
        environment["HOME"] = str(folder)
    with (
        confine.refusals(),
        log.open("a", errors="replace") as file,
        subprocess.Popen(
            command,
            cwd=folder,
            env={**environment, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=None if reach is None else confine.confined(reach),
        ) as process,
    ):
        file.write(f"$ {' '.join(command)}\n")
        assert process.stdout is not None
        try:
            for text in process.stdout:
                file.write(text)
                if line:
                    line(text)
            return process.wait()
        except BaseException:  # ^C does not reach make and its children, a group of their own
            os.killpg(process.pid, signal.SIGKILL)
            raise
