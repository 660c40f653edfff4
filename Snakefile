"""kernel -> rootfs -> run -> figure -> report.

`./reproduce-all` is the way to start this; `snakemake --profile workflow/profiles/local` does the
same without setting anything up. workflow/config.yaml has the choices.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, workflow.basedir)

from workflow.plan import PRODUCTS, make_plan, pages_code


configfile: "workflow/config.yaml"


PLAN = make_plan(config)
PYTHON = sys.executable


include: "workflow/rules/job.smk"
include: "workflow/rules/setup.smk"
include: "workflow/rules/run.smk"
include: "workflow/rules/batch.smk"
include: "workflow/rules/figure.smk"
include: "workflow/rules/report.smk"


# Nothing to send to another machine: the first two are looked up, the page takes a second.
localrules:
    kernel,
    rootfs,
    report,
    all,


rule all:
    default_target: True
    input:
        PLAN.pages / ".report",
        # By name, since of what is missing Snakemake makes only what the report is older than.
        [PLAN.pages / name / product for name in PLAN.figures for product in PRODUCTS],
