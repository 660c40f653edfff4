"""Debian packages for an ordinary user: apt with a state of its own.

The system's package lists and installed packages are neither read nor changed. Only the sources of
`/etc/apt` are copied, with the components and suites that we need added.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from qdisclab.emulation.errors import MissingTool
from qdisclab.emulation.host.debs import Deb

_CONF = """\
Dir "/";
Dir::Etc::SourceList "{dir}/sources.list";
Dir::Etc::SourceParts "{dir}/parts";
Dir::Etc::Preferences "{dir}/preferences";
Dir::State "{dir}";
Dir::State::lists "{dir}/lists";
Dir::State::status "{dir}/status";
Dir::Cache "{dir}/cache";
APT::Sandbox::User "";
APT::Install-Recommends "0";
APT::Install-Suggests "0";
Acquire::Languages "none";
Acquire::Retries "3";
Debug::NoLocking "1";
"""

#: A version that apt prefers.
_PIN = "Package: {}\nPin: version {}\nPin-Priority: 1001\n"

#: The name of a package; one that ends in `-` tells apt-get to remove it.
NAME = re.compile(r"[a-z0-9][a-z0-9+.-]*[a-z0-9+]")

#: What apt-get says of a package that no source has.
_ABSENT = re.compile(
    r"^E: (?:Package '(\S+)' has no installation candidate|Unable to locate package (\S+))", re.M
)

#: Environment variables that apt gets.
_PROXIES = ("http_proxy", "https_proxy", "no_proxy")
_ETC = Path("/etc/apt")


class PrivateApt:
    """apt-get with its state in `folder`.

    `components` and `suites` are added to those of each Debian source of the system. Raises
    `MissingTool` if there is no apt-get or no Debian source.
    """

    def __init__(
        self,
        folder: Path,
        components: tuple[str, ...] = ("main",),
        suites: tuple[str, ...] = (),
        etc: Path = _ETC,
    ) -> None:
        if shutil.which("apt-get") is None:
            todo = "run on Debian or in the container image: the Dockerfile makes one"
            raise MissingTool("apt-get is not installed (package apt)", "this machine", todo)
        for name in ("lists/partial", "cache/archives/partial", "parts"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "status").touch()
        (folder / "sources.list").touch()
        (folder / "apt.conf").write_text(_CONF.format(dir=folder))
        self.folder = folder
        if not (sources := _sources(etc, components, suites)):
            todo = "add one for this release of Debian, with the component non-free"
            raise MissingTool("no Debian package source is set up", str(etc), todo)

        for name, text in sources.items():
            (folder / "parts" / name).write_text(text)

    def prefer(self, debs: Iterable[Deb]) -> None:
        """Have apt take these versions where its sources have them, and its own choice elsewhere.

        What a source has under such a version may have another digest.
        """
        pins = (_PIN.format(deb.package, deb.version) for deb in debs)
        (self.folder / "preferences").write_text("\n".join(pins))

    def update(self) -> None:
        """Read the lists of packages; raise `MissingTool` if one cannot be read."""
        self._run("update", "--option=APT::Update::Error-Mode=any")  # it only warns otherwise

    def resolve(self, packages: tuple[str, ...]) -> list[Deb]:
        """Return `packages` with their dependencies, sorted by name, after `update`."""
        planned = self._run("install", "--simulate", "--reinstall", "--", *packages)
        chosen = re.findall(r"^Inst (\S+) \((\S+) ", planned, re.MULTILINE)
        return self.look_up(f"{name}={version}" for name, version in sorted(chosen))

    def look_up(self, names: Iterable[str]) -> list[Deb]:
        """Return what the lists say of packages, `name` or `name=version`, newest first each."""
        keys = ("Package", "Version", "SHA256", "Filename")
        listed = (fields for _, fields in self._stanzas(names) if "Filename" in fields)
        return [Deb(*(fields[key] for key in keys)) for fields in listed]

    def _stanzas(self, names: Iterable[str]) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield text and fields of the entries of packages in the lists."""
        for stanza in self._call("apt-cache", "show", *names).stdout.strip().split("\n\n"):
            yield stanza, dict(re.findall(r"^([A-Z][\w-]*): (.*)$", stanza, re.MULTILINE))

    def fetch_first(self, names: Iterable[str], folder: Path) -> Path:
        """Download the first of the packages, `name` or `name=version`, that there is.

        A list that cannot be read is passed over: another suite may have the package. Raises
        `MissingTool` with the first error if there is none.
        """
        errors: list[MissingTool] = []
        for arguments in (("update",), *(("download", name) for name in names)):
            try:
                self._run(*arguments, folder=folder)
            except MissingTool as error:
                errors.append(error)
            for deb in folder.glob("*.deb"):
                return deb
        raise errors[0]

    def download(
        self, packages: tuple[str, ...], installed: Mapping[str, str] = MappingProxyType({})
    ) -> tuple[Path, ...]:
        """Download `packages` and their dependencies; return the .deb files, sorted.

        Dependencies that are `installed` (version by name) already are left out. Raises
        `MissingTool` if a package cannot be downloaded, or apt took its name for a pattern.
        """
        self.update()
        (self.folder / "status").write_text(self._status(installed))
        self._run("install", "--yes", "--download-only", "--reinstall", "--", *packages)
        debs = tuple(sorted((self.folder / "cache/archives").glob("*.deb")))
        if missing := sorted(set(packages) - {path.name.partition("_")[0] for path in debs}):
            raise _absent(missing)
        return debs

    def _status(self, installed: Mapping[str, str]) -> str:
        """Return the text of dpkg's status file for the packages `installed`."""
        if not installed:
            return ""
        stanzas: dict[str, str] = {}
        for stanza, fields in self._stanzas(installed):
            name = fields.get("Package", "")
            # The registry may have gone on to another version, whose dependencies are close to it.
            if fields.get("Version") == installed.get(name) or name not in stanzas:
                text = re.sub("^Version: .*$", f"Version: {installed[name]}", stanza, flags=re.M)
                stanzas[name] = f"Status: install ok installed\n{text}\n"
        return "\n".join(stanzas[name] for name in installed if name in stanzas)

    def _call(self, *command: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=folder,
            env={
                **{name: os.environ[name] for name in _PROXIES if name in os.environ},
                "APT_CONFIG": str(self.folder / "apt.conf"),
                "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
                "LC_ALL": "C.UTF-8",
            },
            capture_output=True,
            text=True,
        )

    def _run(self, *arguments: str, folder: Path | None = None) -> str:
        result = self._call("apt-get", "-qq", *arguments, folder=folder)
        errors = [line for line in result.stderr.splitlines() if line.startswith("E: ")]
        if result.returncode or errors:
            if names := _ABSENT.findall(result.stderr):
                raise _absent(name or other for name, other in names)
            what = f"apt-get {arguments[0]}: " + "; ".join(errors or [result.stderr.strip()])
            todo = "check that this machine reaches its Debian mirror, then run it again"
            raise MissingTool(what, "the package sources of /etc/apt", todo)
        return result.stdout


def _absent(names: Iterable[str]) -> MissingTool:
    """Return the error that the package sources, which answer, do not have packages."""
    what = f"the Debian release of this machine has no package {', '.join(names)}"
    todo = "look for its name with 'apt-cache search'"
    return MissingTool(what, "the package sources of /etc/apt", todo)


def mirrors() -> tuple[str, ...]:
    """Return the addresses of the Debian mirrors that apt is set up with, each once."""
    addresses: dict[str, None] = {}
    for name, text in _sources(_ETC).items():
        for line in text.splitlines():
            if name.endswith(".list") or line.lower().startswith("uris:"):
                addresses |= dict.fromkeys(re.findall(r"(?:https?|file):/\S+", line))
    return tuple(addresses)


def _sources(
    etc: Path, components: tuple[str, ...] = (), suites: tuple[str, ...] = ()
) -> dict[str, str]:
    """Return name -> text of apt's sources in `etc`, the Debian parts of them alone."""
    texts: dict[str, str] = {}
    for path in [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*"))]:
        convert = {".list": one_line, ".sources": deb822}.get(path.suffix)
        if convert is not None and path.is_file():
            texts[path.name] = convert(path.read_text(), components, suites)
    return {name: text for name, text in texts.items() if text}


def deb822(text: str, components: tuple[str, ...], suites: tuple[str, ...]) -> str:
    """Return the Debian stanzas of a .sources file with `components` and `suites` added."""
    stanzas = []
    for stanza in text.split("\n\n"):
        lines = [line for line in stanza.splitlines() if line.strip() and line[0] != "#"]
        fields = {line.split(":", 1)[0].lower(): line for line in lines if ":" in line}
        if "main" not in fields.get("components", "").split() or "debian" not in stanza:
            continue
        lines = [_extend(line, "components", components) for line in lines]
        more = _beside(fields.get("suites", ""), suites)
        lines = [_extend(line, "suites", more) for line in lines]
        stanzas.append("\n".join(lines))
    return "\n\n".join(stanzas) + ("\n" if stanzas else "")


def _beside(present: str, suites: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of `suites` that are in the archive of the `present` ones; security has its
    own."""
    return tuple(name for name in suites if ("security" in name) == ("security" in present))


def _extend(line: str, field: str, words: tuple[str, ...]) -> str:
    name, _, value = line.partition(":")
    if name.lower() != field:
        return line
    return f"{name}: {' '.join(dict.fromkeys([*value.split(), *words]))}"


def one_line(text: str, components: tuple[str, ...], suites: tuple[str, ...]) -> str:
    """Return the Debian lines of a sources.list with `components` and `suites` added."""
    lines = []
    for line in text.splitlines():
        head, _, options_and_rest = line.partition("deb ")
        if head.strip() or "debian" not in line or " main" not in line:
            continue
        options, bracket, rest = options_and_rest.rpartition("] ")
        prefix = f"deb {options}{bracket}"
        uri, suite, *present = rest.split()
        wanted = " ".join(dict.fromkeys([*present, *components]))
        names = dict.fromkeys([suite, *_beside(suite, suites)])
        lines += [f"{prefix}{uri} {name} {wanted}" for name in names]
    return "\n".join(lines) + ("\n" if lines else "")
