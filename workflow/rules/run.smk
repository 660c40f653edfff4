# One guest a run, one core a guest. `emulate run` puts a run's files in place whole or not at all, the
# provenance last, which says that there is a run, whatever its data are.

from emulation.config.job import job_of
from emulation.machine.provenance import digest, guest_code_digest
from emulation.model.run import NONE

RUNS = PLAN.all_runs()


def job_digest(run):
    return digest(json.dumps(job_of(run), sort_keys=True).encode())


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
        job=lambda wildcards: job_digest(RUNS[wildcards.run]),
        guest=lambda wildcards: guest_code_digest(job_of(RUNS[wildcards.run])),
    threads: 1
    resources:
        mem_mb=400,
    shell:
        "{PYTHON} -m emulate.cli run {params.experiment} {params.selection:q}"
        " --output {params.data} --keep {params.failed} >{log} 2>&1"
