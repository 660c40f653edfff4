# The page that shows all figures.


rule report:
    input:
        figures=[PLAN.pages / name / product for name in PLAN.figures for product in PRODUCTS],
        code=["analysis/report.py", *sorted(Path("analysis/templates").glob("*"))],
    output:
        PLAN.pages / "index.html",
    log:
        PLAN.pages / "logs/report.log",
    params:
        results=PLAN.pages,
    shell:
        "{PYTHON} -m analysis.report --results {params.results} >{log} 2>&1"
