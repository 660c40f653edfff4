# Where `batch` is set, a step does several runs of one cell: fewer and longer jobs for a scheduler.
# The data are no output of Snakemake's here, since it removes those of a step that failed or is
# repeated; what is done stays, and `emulate run` does the rest. One run that fails does not keep the
# others from being done.

from qdisclab.emulation.runs.speed import wall_seconds

BATCHES = PLAN.batches()


def batch_minutes(batch, attempt):
    """A limit of time: three times what the runs should take, and time to start; more each time."""
    runs = BATCHES[batch]
    whole = wall_seconds(runs[0].experiment, [runs[0].point])
    share = runs[0].length.seconds / runs[0].traffic.length.seconds
    return attempt * (2 + round(3 * len(runs) * max(5, whole * share) / 60))


rule batch:
    input:
        kernel=lambda wildcards: SETUP / f"kernel-{BATCHES[wildcards.batch][0].kernel}.json",
        rootfs=rules.rootfs.output,
    output:
        touch(PLAN.results / "batches/{batch}"),
    log:
        PLAN.results / "logs/batch/{batch}.log",
    params:
        request=lambda wildcards: request(BATCHES[wildcards.batch]),
        file=lambda wildcards: PLAN.results / f"requests/batch/{wildcards.batch}.json",
        probes=lambda wildcards: probes(BATCHES[wildcards.batch][0]),
        data=PLAN.results / "data",
        failed=PLAN.results / "failed",
        jobs=lambda wildcards: [made_of(run.id)[0] for run in BATCHES[wildcards.batch]],
        guest=lambda wildcards: guest_code_digest(job_of(BATCHES[wildcards.batch][0])),
    threads: 1
    resources:
        # Snakemake twice, as sbatch and srun start it, 171 MiB each; the guest's memory
        mem_mb=lambda wildcards: 600 + BATCHES[wildcards.batch][0].memory_mib,
        runtime=lambda wildcards, attempt: batch_minutes(wildcards.batch, attempt),
    shell:
        "mkdir -p \"$(dirname {params.file:q})\" && printf %s {params.request:q} >{params.file:q}"
        " && {PYTHON:q} -m workflow.steps run --run-file {params.file:q} {params.probes:q} --stale"
        " --keep-going --output {params.data:q} --keep {params.failed:q} >{log:q} 2>&1"
