# One guest a run, one core a guest. `emulate run` puts a run's files in place whole or not at all, the
# provenance last, which says that there is a run, whatever its data are.

from functools import cache

from emulation.config.job import job_of
from emulation.machine.provenance import digest, guest_code_digest
from emulation.model.run import NONE

RUNS = PLAN.all_runs()


@cache
def made_of(name):
    """The digests of what the guest of a run is told, and of the code that does it."""
    job = job_of(RUNS[name])
    return digest(json.dumps(job, sort_keys=True).encode()), guest_code_digest(job)


def selection(run):
    """The options of `emulate run` that name this run."""
    options = ["--seed", str(run.seed), "--length", str(run.length)]
    for axis, value in (("link", run.link.name), ("qdisc", run.qdisc), ("cc", run.cc)):
        options += [f"--{axis}", value] if value != NONE else []
    for axis, value in run.point.settings:
        options += ["--set", f"{axis}={value}"]
    for probe in PLAN.probes(run.id):
        options += ["--probe", probe]
    return [*options, "--era", run.era, "--kernel", run.kernel]


rule run:
    input:
        kernel=lambda wildcards: SETUP / f"kernel-{RUNS[wildcards.run].kernel}.json",
        rootfs=rules.rootfs.output,
    output:
        PLAN.results / "data/{run}.json",
    log:
        PLAN.results / "logs/run/{run}.log",
    params:
        experiment=lambda wildcards: RUNS[wildcards.run].experiment.ref,
        selection=lambda wildcards: selection(RUNS[wildcards.run]),
        data=PLAN.results / "data",
        failed=PLAN.results / "failed",
        # A run is stale when what it is told to do, or the code that does it, has changed.
        job=lambda wildcards: made_of(wildcards.run)[0],
        guest=lambda wildcards: made_of(wildcards.run)[1],
    threads: 1
    resources:
        mem_mb=400,
    shell:
        "{PYTHON:q} -m workflow.steps run {params.experiment:q} {params.selection:q}"
        " --output {params.data:q} --keep {params.failed:q} >{log:q} 2>&1"
