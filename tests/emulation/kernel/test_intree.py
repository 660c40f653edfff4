"""emulation.kernel.intree: modules of Linux itself, and who needs them."""

from pathlib import Path

import pytest

from qdisclab.emulation.config.catalogue import select
from qdisclab.emulation.config.job import job_of, modules_of
from qdisclab.emulation.errors import KernelBuildError
from qdisclab.emulation.kernel import features, intree
from qdisclab.emulation.kernel.builder import Kernel
from qdisclab.emulation.model.qdisc import ModuleSource
from qdisclab.emulation.model.run import Experiment

KERNEL = Kernel(Path("/k/linux"), "k" * 16, "6.12.1", "6.12", {"source": {"sha256": "0" * 64}})


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The source of a kernel, of which two files are there."""
    folder = tmp_path / "net/ipv4"
    folder.mkdir(parents=True)
    (folder / "tcp_yeah.c").write_text('#include <net/tcp.h>\n#include "tcp_vegas.h"\n')
    (folder / "tcp_vegas.h").write_text("")
    monkeypatch.setattr(intree, "_tree", lambda kernel: tmp_path)
    return tmp_path


def test_a_module_has_its_file_and_the_headers_beside_it(source: Path) -> None:
    with intree.folder(KERNEL, "net/ipv4/tcp_yeah.c") as folder:
        assert {path.name for path in folder.iterdir()} == {"Kbuild", "tcp_yeah.c", "tcp_vegas.h"}
        assert (folder / "Kbuild").read_text() == "obj-m := tcp_yeah.o\n"


def test_what_modules_share_lies_in_each(source: Path) -> None:
    folder = source / "net/sched"
    folder.mkdir()
    (folder / "sch_taprio.c").write_text('#include "sch_mqprio_lib.h"\n')
    (folder / "sch_mqprio_lib.h").write_text("")
    (folder / "sch_mqprio_lib.c").write_text('#include "sch_mqprio_lib.h"\nEXPORT_SYMBOL_GPL(f);\n')
    with intree.folder(KERNEL, "net/sched/sch_taprio.c") as made:
        names = {path.name for path in made.iterdir()}
        assert names == {"Kbuild", "sch_taprio.c", "sch_mqprio_lib.h"}
        own, _, shared = (made / "sch_taprio.c").read_text().partition("#undef EXPORT_SYMBOL_GPL\n")
        assert (own.count("\n"), shared.count("EXPORT_SYMBOL_GPL(f)")) == (1, 1)
        assert "-DCONFIG_NET_SCH_TAPRIO_MODULE=1" in (made / "Kbuild").read_text()


def test_a_file_that_is_not_there_or_that_a_patch_changes_is_refused(source: Path) -> None:
    with (
        pytest.raises(KernelBuildError, match=r"Linux 6\.12\.1 has no net/sched/sch_other\.c"),
        intree.folder(KERNEL, "net/sched/sch_other.c"),
    ):
        pass
    with (
        pytest.raises(KernelBuildError, match=r"cannot be a module: 6\.12/\S+ changes it"),
        intree.folder(KERNEL, "net/ipv4/tcp_output.c"),
    ):
        pass


def test_a_congestion_control_that_a_kernel_leaves_out_is_a_module_of_the_run(
    rrul: Experiment,
) -> None:
    chosen = {"link": "10/10", "qdisc": "codel", "seed": 1}
    (plain,) = select(rrul, cc="vegas", **chosen)
    (veno,) = select(rrul, cc="veno", **chosen)
    assert "modules" not in job_of(plain)
    assert modules_of(veno) == (ModuleSource.of_linux("net/ipv4/tcp_veno.c"),)
    assert [module["name"] for module in job_of(veno)["modules"]] == ["tcp_veno"]
    (allowed,) = (text for path, text in job_of(veno)["parameters"].items() if "allowed" in path)
    assert allowed.split()[-1] == "veno"
    (built_in,) = select(rrul, cc="veno", kernel="7.2", **chosen)
    assert "modules" not in job_of(built_in)
    assert features.lacking("6.12", [], ["veno", "reno", "mine"]) == ["mine"]
