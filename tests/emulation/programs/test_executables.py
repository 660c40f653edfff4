"""Tests of what is known of a program before a guest boots: taken, guest_root, executables."""

import os
import subprocess
from pathlib import Path

import pytest

from qdisclab.emulation.errors import ConfigError, MissingTool
from qdisclab.emulation.programs import executables, instructions
from qdisclab.emulation.programs.guest_root import COMMANDS, WORK, GuestRoot
from qdisclab.emulation.programs.taken import TakenFile, taken
from tests import write_executable


@pytest.fixture
def here(tmp_path: Path) -> Path:
    place = tmp_path / "here"
    (place / "sub").mkdir(parents=True)
    for name in ("a.py", "sub/b.txt", "sub/c.txt", "../outside", "..foo"):
        (place / name).write_text(name)
    (place / "a.py").chmod(0o755)
    return place


def test_words_that_name_files_are_taken(here: Path) -> None:
    files = taken(["python3", "./a.py", "sub/b.txt", "sub", "no.txt", "/etc/passwd"], [], here)
    assert [(file.path, file.mode) for file in files] == [("a.py", 0o755), ("sub/b.txt", 0o644)]
    assert [file.path for file in taken([], ["sub"], here)] == ["sub/b.txt", "sub/c.txt"]
    assert [file.path for file in taken(["cat", "..foo"], [], here)] == ["..foo"]


def test_files_elsewhere_are_refused(here: Path) -> None:
    with pytest.raises(ConfigError, match=r"\.\./outside: is outside the current folder"):
        taken(["cat", "../outside"], [], here)
    for name in ("nix", "x" * 400):
        with pytest.raises(ConfigError, match=f"--file {name}: there is no such file"):
            taken([], [name], here)


@pytest.fixture
def guest(tmp_path: Path) -> GuestRoot:
    """A layer over a root with merged folders, as those of guests are."""
    layer, root = tmp_path / "layer", tmp_path / "root"
    for place in (layer, root):
        (place / "usr/bin").mkdir(parents=True)
        (place / "bin").symlink_to("usr/bin")
    for path in (root / "usr/bin/sh", root / "usr/bin/tool", layer / "usr/bin/tool"):
        path.write_bytes(b"")
        path.chmod(0o755)
    (layer / "usr/bin/link").symlink_to("/bin/../bin/sh")
    (layer / "usr/bin/loop").symlink_to("loop")
    script = tmp_path / "script"
    script.write_text("")
    return GuestRoot([layer, root], [TakenFile("dir/script", script, 0o755)])


def test_paths_of_the_guest(guest: GuestRoot, tmp_path: Path) -> None:
    assert guest.find("/bin/sh") == tmp_path / "root/usr/bin/sh"
    assert guest.find("/bin/tool") == tmp_path / "layer/usr/bin/tool"
    assert guest.find("/usr/bin/link") == tmp_path / "root/usr/bin/sh"
    assert guest.find("dir/../dir/script") == tmp_path / "script"
    assert guest.find(f"{WORK}/dir/script") == tmp_path / "script"
    assert guest.find("/usr/bin/loop") is None
    assert guest.find("/usr/bin") is None
    assert guest.program("tool") == "/usr/bin/tool"
    assert guest.program("script") is None
    assert guest.is_of_root(tmp_path / "root/usr/bin/sh")
    assert not guest.is_of_root(tmp_path / "layer/usr/bin/tool")


def test_a_program_of_a_layer_that_no_shell_finds_is_named_by_its_path(
    guest: GuestRoot, tmp_path: Path
) -> None:
    java = tmp_path / "layer/usr/lib/jvm/java-17/bin/java"
    java.parent.mkdir(parents=True)
    java.write_text("")
    with pytest.raises(MissingTool, match=r"nor among the files .* in a study under 'packages'"):
        executables.check(guest, "java")
    java.chmod(0o755)
    with pytest.raises(MissingTool, match=r"looks for it; write /usr/lib/jvm/java-17/bin/java$"):
        executables.check(guest, "java")


def host_with(*files: Path) -> GuestRoot:
    """The host's own root as that of a guest, and files taken along."""
    return GuestRoot([Path("/")], [TakenFile(path.name, path, 0o755) for path in files])


def compiled(folder: Path, text: str, *options: str) -> Path:
    source, program = folder / "x.c", folder / "x"
    source.write_text(text)
    subprocess.run(["gcc", "-O1", "-o", program, source, *options], check=True)
    return program


def test_a_program_and_its_libraries(tmp_path: Path) -> None:
    program = compiled(tmp_path, "#include <math.h>\nint main(int n, char **w)"
                                 "{ return (int)cos(n); }", "-lm")  # fmt: skip
    names = [path.name for path in executables.check(host_with(program), "./x")]
    assert names[0] == "x"
    assert {"libc.so.6", "libm.so.6"} <= {name.split("-")[0] for name in names}
    lacking = GuestRoot([tmp_path], [TakenFile("x", program, 0o755)])
    with pytest.raises(MissingTool, match=r"its dynamic loader /lib64/ld-linux.* is not in"):
        executables.check(lacking, "./x")


def test_libraries_lie_beside_a_program_that_a_link_leads_to(tmp_path: Path) -> None:
    place, links = tmp_path / "opt/tool", tmp_path / "usr/bin"
    for folder in (place / "bin", place / "lib", links):
        folder.mkdir(parents=True)
    library = compiled(tmp_path, "int f(void) { return 0; }", "-shared", "-fPIC")
    library.rename(place / "lib/libf.so")
    options = ("-L", str(place / "lib"), "-lf", "-Wl,-rpath,$ORIGIN/../lib")
    program = compiled(tmp_path, "int f(void); int main(void) { return f(); }", *options)
    program.rename(place / "bin/tool")
    (links / "tool").symlink_to("/opt/tool/bin/tool")
    files = executables.check(GuestRoot([tmp_path, Path("/")]), "tool")
    assert files[:2] == (place / "bin/tool", place / "lib/libf.so")


def test_a_library_that_lacks_a_version(tmp_path: Path) -> None:
    program = compiled(tmp_path, "int main(void) { return 0; }")
    content = program.read_bytes()
    assert b"GLIBC_2.34\0" in content
    elf = executables.read_elf(program)
    assert elf is not None and "GLIBC_2.34" in elf.wants["libc.so.6"]
    program.write_bytes(content.replace(b"GLIBC_2.34\0", b"GLIBC_9.99\0"))
    with pytest.raises(MissingTool, match=r"x: needs GLIBC_9\.99 of libc\.so\.6"):
        executables.check(host_with(program), "./x")


def test_a_script_that_is_its_own_interpreter(tmp_path: Path) -> None:
    scripts = [tmp_path / name for name in ("one", "two", "self")]
    for script, interpreter in zip(scripts, ("two", "one", "self"), strict=True):
        write_executable(script, f"#!./{interpreter}\n")
    for name in ("./one", "./self"):
        with pytest.raises(MissingTool, match=f"^{name}: is its own interpreter; name a program"):
            executables.check(host_with(*scripts), name)


def test_a_word_that_is_too_long_for_a_name_is_no_program(guest: GuestRoot) -> None:
    for name in ("x" * 400, f"./{'x' * 400}", f"/bin/{'x' * 400}/y"):
        with pytest.raises(MissingTool, match="is neither in the guest nor among the files"):
            executables.check(guest, name)


@pytest.mark.parametrize(
    ("offset", "value"),
    [(32, 2**63), (32, 2**40), (40, 2**63), (40, 2**40), (58, 1), (60, 2**16 - 1), (62, 2**16 - 1)],
)
def test_offsets_out_of_a_file_are_told(tmp_path: Path, offset: int, value: int) -> None:
    program = compiled(tmp_path, "int main(void) { return 0; }")
    content = bytearray(program.read_bytes())
    size = 8 if offset < 48 else 2  # e_phoff, e_shoff; e_shentsize, e_shnum, e_shstrndx
    content[offset : offset + size] = value.to_bytes(size, "little")
    program.write_bytes(content)
    for look in (executables.read_elf, instructions.scan):
        try:
            look(program)
        except MissingTool as error:
            assert error.what.startswith("is a broken ELF file: ")


def test_a_broken_section_is_told(tmp_path: Path) -> None:
    program = compiled(tmp_path, "int main(void) { return 0; }")
    content = bytearray(program.read_bytes())
    start, size, count = (int.from_bytes(content[at : at + n], "little")
                          for at, n in ((40, 8), (58, 2), (60, 2)))  # fmt: skip
    for number in range(count):
        content[start + number * size + 9] |= 8  # SHF_COMPRESSED, which none of them is
    program.write_bytes(content)
    with pytest.raises(MissingTool, match=r"x: is a broken ELF file: "):
        instructions.scan(program)


def test_another_processor_and_a_broken_file(tmp_path: Path) -> None:
    program = compiled(tmp_path, "int main(void) { return 0; }")
    content = bytearray(program.read_bytes())
    content[18:20] = (183).to_bytes(2, "little")  # e_machine: AArch64
    program.write_bytes(content)
    with pytest.raises(MissingTool, match=r"is for another processor \(EM_AARCH64\)"):
        executables.check(host_with(program), "./x")
    program.write_bytes(b"\x7fELF" + b"\xff" * 60)
    with pytest.raises(MissingTool, match="is a broken ELF file"):
        executables.check(host_with(program), "./x")


def test_scripts_need_their_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "x"
    for first in ("#!/bin/sh", "#!/usr/bin/env -S python3 -B", "#! /usr/bin/env python3"):
        write_executable(script, first + "\n")
        assert script in executables.check(host_with(script), "./x")
    script.write_text("#!/usr/bin/env pythonnnn\n")
    with pytest.raises(MissingTool, match="its first line asks for pythonnnn, which the guest"):
        executables.check(host_with(script), "./x")
    script.write_text("#!/usr/bin/python2\n")
    with pytest.raises(MissingTool, match=r"asks for /usr/bin/python2, .*; run python2 \./x"):
        executables.check(host_with(script), "./x")
    script.write_bytes(b"#!/bin/sh\r\n")
    with pytest.raises(MissingTool, match="its lines end as on Windows"):
        executables.check(host_with(script), "./x")
    script.write_text("echo\n")
    with pytest.raises(MissingTool, match="is neither an ELF file nor a script"):
        executables.check(host_with(script), "./x")
    script.chmod(0o644)
    with pytest.raises(MissingTool, match=r"\./x: is not executable; chmod \+x \./x"):
        executables.check(host_with(script), "./x")
    with pytest.raises(MissingTool, match=r"to run the file of this folder, write \./x"):
        executables.check(host_with(script), "x")


def test_instructions_are_found_and_their_bytes_elsewhere_are_not(tmp_path: Path) -> None:
    text = (
        "int main(void) {\n"
        '  asm volatile ("cpuid" ::: "eax", "ebx", "ecx", "edx");\n'
        '  asm volatile ("rdrand %%rax; rdseed %%r9; rdtsc" ::: "rax", "rdx", "r9");\n'
        '  asm volatile ("mov $0x00f0c70f, %%ecx" ::: "ecx");\n'  # bytes of RDRAND
        '  asm volatile ("mov $0x0000a20f, %%ecx" ::: "ecx");\n'  # bytes of CPUID
        "  return 0;\n"
        "}\n"
    )
    program = compiled(tmp_path, text)
    found = {one.mnemonic: one.count for one in instructions.scan(program)}
    assert found == {"cpuid": 1, "rdrand": 1, "rdseed": 1}
    subprocess.run(["strip", program], check=True)  # no functions any more
    assert {one.mnemonic: one.count for one in instructions.scan(program)} == found
    said = list(instructions.warnings("x", instructions.scan(program)))
    assert [text.split(" (")[0] for text in said] == ["x has RDRAND", "x has CPUID"]


def test_a_program_without_them(tmp_path: Path) -> None:
    assert instructions.scan(compiled(tmp_path, "int main(void) { return 0; }")) == ()


def test_commands_of_the_guest_are_known(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(root / "emulation" / "guest"))
    import commands
    import surroundings

    assert set(COMMANDS) - surroundings.COMMANDS.keys() == {"on", *commands.ALTERNATIVES}


@pytest.mark.parametrize("target", ["/etc/passwd", "nowhere", "../other", "../../outside", "link"])
def test_a_link_in_a_folder_leads_to_a_file_of_the_current_one(here: Path, target: str) -> None:
    (here / "other").mkdir()
    (here / "sub/link").symlink_to(target)
    with pytest.raises(ConfigError, match=f"sub/link: is a link to {target}, which is not a file"):
        taken([], ["sub"], here)
    (here / "sub/link").unlink()
    (here / "sub/link").symlink_to("b.txt")
    assert "sub/link" in [file.path for file in taken([], ["sub"], here)]


def test_what_is_named_is_a_file_and_leads_to_one_of_the_current_folder(here: Path) -> None:
    (here / "inside").symlink_to("sub/b.txt")
    assert [file.path for file in taken(["inside"], [], here)] == ["inside"]
    (here / "outside").symlink_to("/etc/passwd")
    (here / "folder").symlink_to("/etc")
    for command, files in ((["outside"], []), (["folder/passwd"], []), ([], ["outside"])):
        with pytest.raises(ConfigError, match="is outside the current folder"):
            taken(command, files, here)
    os.mkfifo(here / "pipe")
    with pytest.raises(ConfigError, match="--file pipe: there is no such file or folder"):
        taken([], ["pipe"], here)
