# The page of the claims, and the pages that show all figures and what ran.


CODE = pages_code()


# A function, since Snakemake would hash a list of thousands once for each file in it.
def provenances(wildcards):
    return PLAN.provenances()


rule claims:
    input:
        runs=provenances,
        code=CODE,
    output:
        PLAN.pages / "claims.html",
        PLAN.pages / "verdicts.json",
    log:
        PLAN.pages / "logs/claims.log",
    params:
        data=PLAN.runs_root,
        results=PLAN.pages,
        shipped=PLAN.all_shipped(),
    threads: workflow.cores or 1
    shell:
        "{PYTHON:q} -m workflow.steps claims --data {params.data:q} --results {params.results:q}"
        " --jobs {threads} >{log:q} 2>&1"


rule report:
    input:
        figures=[PLAN.pages / name / product for name in PLAN.figures for product in PRODUCTS],
        claims=rules.claims.output if PLAN.settles else [],
        runs=provenances,
        code=CODE,
    output:
        touch(PLAN.pages / ".report"),  # index.html grows while figures are drawn
    log:
        PLAN.pages / "logs/report.log",
    params:
        data=PLAN.runs_root,
        results=PLAN.pages,
        claims="" if PLAN.settles else "--earlier-claims",
        failed=sorted(PLAN.without),
        shipped=PLAN.all_shipped(),
    shell:
        "{PYTHON:q} -m workflow.steps report --data {params.data:q} --results {params.results:q}"
        " {params.claims} --failed {params.failed:q} >{log:q} 2>&1"
