# The guest's kernel and root file system, kept in the user's cache; the file says which they are.

SETUP = PLAN.results / "setup"


rule kernel:
    input:
        Path("qdisc/KERNEL.toml"),
        Path("qdisc/LOCK.toml"),
        Path("qdisc/patches/series"),
        sorted(Path("qdisc").glob("config/*.config")),
        sorted(Path("qdisc").glob("patches/*/*.patch")),
    output:
        SETUP / "kernel-{series}.json",
    log:
        PLAN.results / "logs/kernel-{series}.log",
    threads: workflow.cores or 1
    shell:
        "{PYTHON:q} -m workflow.ready kernel {output:q} --series {wildcards.series:q} >{log:q} 2>&1"


rule rootfs:
    input:
        "emulation/machine/rootfs.py",
        "emulation/machine/rootfs.toml",
        "emulation/host/apt.py",
        "emulation/host/debs.py",
        "qdisc/LOCK.toml",
        "emulation/guest/init.sh",
    output:
        SETUP / "rootfs.json",
    log:
        PLAN.results / "logs/rootfs.log",
    shell:
        "{PYTHON:q} -m workflow.ready rootfs {output:q} >{log:q} 2>&1"
