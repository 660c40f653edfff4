"""Tests of emulation.machine.layer: packages beside those of the root file system."""

from pathlib import Path

import pytest

from qdisclab.emulation.errors import ConfigError, MissingTool
from qdisclab.emulation.machine import layer, rootfs

NETCAT = """\
#!/bin/sh
set -e
if [ "$1" = "configure" ]; then
    update-alternatives \\
        --install /bin/nc nc /bin/nc.openbsd 50 \\
        --slave /bin/netcat netcat /bin/nc.openbsd
    update-alternatives --install "$LINK" x "$TARGET" 1
fi
"""


def test_alternatives_of_a_maintainer_script() -> None:
    assert layer.alternatives(NETCAT) == {
        "/bin/nc": "/bin/nc.openbsd",
        "/bin/netcat": "/bin/nc.openbsd",
    }
    assert layer.alternatives("exit 0\n") == {}


JAVA = """\
#!/bin/sh
basedir=/usr/lib/jvm/java-17
mandir=$basedir/man
PATH="$PATH:/x"
tools='java keytool'
for i in $tools; do
    unset slave1
    if [ -e $mandir/man1/$i.1.gz ]; then
        slave1="--slave \
            /usr/share/man/man1/$i.1.gz $i.1.gz $mandir/man1/$i.1.gz"
    fi
    update-alternatives \
        --install \
        /usr/bin/$i \
        $i \
        ${basedir}/bin/$i \
        $priority $slave1
done
update-alternatives --install /usr/bin/$PATH x $unset/bin/x 1
"""


def test_alternatives_of_a_loop() -> None:
    folder = "/usr/lib/jvm/java-17/bin"
    assert layer.alternatives(JAVA) == {
        "/usr/bin/java": f"{folder}/java",
        "/usr/bin/keytool": f"{folder}/keytool",
    }


@pytest.mark.parametrize(
    "name", ["jq-", "jq.", "--reinstall", "-oX=y", "./a.deb", "jq=1", "a b", ""]
)
def test_what_is_no_name_of_a_package_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=r"is not the name of a Debian package; write e\.g\. jq"):
        layer.build(rootfs.RootFs(tmp_path, "0", {}), ["jq", name])


@pytest.mark.kernel  # needs the packages of the guest and a registry
def test_a_layer_has_what_the_root_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = rootfs.build()
    monkeypatch.setattr(layer, "cache_dir", lambda kind: tmp_path)
    made = layer.build(root, ["netcat-openbsd", "mininet"])
    assert {"mininet", "netcat-openbsd"} <= set(made.packages)
    assert not {"libc6", "libbsd0"} & set(made.packages)  # the root has them
    assert (made.path / "usr/bin/nc").readlink() == Path("/bin/nc.openbsd")
    assert (made.path / "usr/share/doc/mininet/examples/multiping.py").exists()
    assert layer.build(root, ["mininet", "netcat-openbsd", "mininet"]) == made
    with pytest.raises(MissingTool, match="has no package no-such-package"):
        layer.build(root, ["no-such-package"])
    assert sorted(path.suffix for path in tmp_path.iterdir()) == ["", "", ".json", ".seal"]
