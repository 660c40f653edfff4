# The page of the claims, and the page that shows all figures.


rule claims:
    input:
        runs=PLAN.provenances(),
        statements=sorted(Path("data/published").glob("claims-*.csv")),
        code=[
            *sorted(Path("analysis/claims").rglob("*.py")),
            *(Path("analysis") / f"{name}.py" for name in ("dataset", "flentfile", "metrics")),
            *sorted(Path("analysis/templates").glob("*")),
        ],
    output:
        PLAN.pages / "claims.html",
        PLAN.pages / "claims.json",
    log:
        PLAN.pages / "logs/claims.log",
    params:
        data=PLAN.runs_root,
        results=PLAN.pages,
    threads: workflow.cores or 1
    shell:
        "{PYTHON} -m analysis.claims --data {params.data} --results {params.results}"
        " --jobs {threads} >{log} 2>&1"


rule report:
    input:
        figures=[PLAN.pages / name / product for name in PLAN.figures for product in PRODUCTS],
        claims=rules.claims.output,
        code=["analysis/report.py", *sorted(Path("analysis/templates").glob("*"))],
    output:
        PLAN.pages / "index.html",
    log:
        PLAN.pages / "logs/report.log",
    params:
        results=PLAN.pages,
    shell:
        "{PYTHON} -m analysis.report --results {params.results} >{log} 2>&1"
