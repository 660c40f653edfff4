# A notebook, a parameter file and runs make a figure; papermill executes the notebook.


rule figure:
    input:
        code=lambda wildcards: PLAN.code[wildcards.figure],
        runs=lambda wildcards: PLAN.awaited(PLAN.figures[wildcards.figure]),
    output:
        [PLAN.pages / "{figure}" / name for name in PRODUCTS],
    log:
        PLAN.pages / "logs/figure/{figure}.log",
    params:
        file=lambda wildcards: PLAN.figures[wildcards.figure].path,
        length=lambda wildcards: [
            word
            for length in PLAN.lengths(PLAN.figures[wildcards.figure])
            for word in ("--length", length)
        ],
        data=lambda wildcards: PLAN.root_of(PLAN.figures[wildcards.figure]),
        results=PLAN.pages,
        shipped=lambda wildcards: PLAN.shipped(PLAN.figures[wildcards.figure]),
    threads: 1
    resources:
        mem_mb=1000,
    shell:
        "{PYTHON:q} -m workflow.steps figure {params.file:q} {params.length:q}"
        " --data {params.data:q} --results {params.results:q} >{log:q} 2>&1"
