# One guest a run, one core a guest. `emulate run` puts a run's files in place whole or not at all, the
# provenance last, which says that there is a run, whatever its data are.

from functools import cache

from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.config.request import write as request
from qdisclab.emulation.machine.provenance import digest, guest_code_digest

RUNS = PLAN.all_runs()


@cache
def made_of(name):
    """The digests of what the guest of a run is told, and of the code that does it."""
    job = job_of(RUNS[name])
    return digest(json.dumps(job, sort_keys=True).encode()), guest_code_digest(job)


def probes(run):
    """The options that say what is recorded beside the data of this run."""
    return [word for probe in PLAN.probes.get(run.id, ()) for word in ("--probe", probe)]


rule run:
    input:
        kernel=lambda wildcards: SETUP / f"kernel-{RUNS[wildcards.run].kernel}.json",
        rootfs=rules.rootfs.output,
    output:
        PLAN.results / "data/{run}.json",
    log:
        PLAN.results / "logs/run/{run}.log",
    params:
        request=lambda wildcards: request([RUNS[wildcards.run]]),
        file=lambda wildcards: PLAN.results / f"requests/run/{wildcards.run}.json",
        probes=lambda wildcards: probes(RUNS[wildcards.run]),
        data=PLAN.results / "data",
        failed=PLAN.results / "failed",
        # A run is stale when what it is told to do, or the code that does it, has changed.
        job=lambda wildcards: made_of(wildcards.run)[0],
        guest=lambda wildcards: made_of(wildcards.run)[1],
    threads: 1
    resources:
        mem_mb=400,
    shell:
        "mkdir -p \"$(dirname {params.file:q})\" && printf %s {params.request:q} >{params.file:q}"
        " && {PYTHON:q} -m workflow.steps run --run-file {params.file:q} {params.probes:q}"
        " --output {params.data:q} --keep {params.failed:q} >{log:q} 2>&1"
