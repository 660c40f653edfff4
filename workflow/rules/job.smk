# On a cluster each job has Snakemakes of its own. What cancels a job sends SIGTERM to all of it, at
# which Snakemake may wait for its own lock for ever; where Slurm tells its processes by their
# parents, it does not find that one again when the job's script has ended. So it ends with that.

import os

from qdisclab.emulation.host.pool import follow

if workflow.remote_exec:
    follow(os.getppid())
else:
    from workflow import cluster

    cluster.ask_squeue_alone()
