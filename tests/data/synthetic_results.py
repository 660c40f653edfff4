"""A small results folder with every kind of page, made of synthetic runs."""

from dataclasses import replace
from pathlib import Path

import nbformat
from IPython.display import SVG

from qdisclab.analysis.claims import check
from qdisclab.analysis.claims.assess import assess
from qdisclab.analysis.claims.check import Quantity
from qdisclab.analysis.claims.summary import as_json
from qdisclab.analysis.measures import metrics
from qdisclab.analysis.measures.table import measure_study
from qdisclab.analysis.plots import rrul
from qdisclab.analysis.plots.alt import describe
from qdisclab.analysis.runs.dataset import find_runs, read_runs
from qdisclab.analysis.runs.published import read_published
from qdisclab.analysis.runs.settings import settings_of
from qdisclab.analysis.runs.statement import read_claims
from qdisclab.analysis.runs.study import study_at
from qdisclab.analysis.site import notebookpage, outputs, report, verdicts
from qdisclab.analysis.site.claims import write_claims
from tests.data import synthetic


def make_figure(results: Path, data_root: Path, figure: str, link: str) -> Path:
    data = read_runs(find_runs(data_root, "gbw2015", "rrul", links=link))
    values = read_published(study_at("gbw2015").folder / "published" / "fig2.csv", figure)
    per_run = metrics.run_metrics(data)
    settings = settings_of(data.runs, data.runs["era"].unique(), data.runs["cc"].unique())
    folder = results / "gbw2015" / f"fig{figure}"
    table = metrics.compare(metrics.cell_metrics(per_run), values)
    outputs.publish(
        lambda palette: rrul.latency_goodput(per_run, values, settings, palette),
        table.assign(**{"Linux of 2014c, CUBIC": table["ours"] + 1}),
        data,
        figure=figure,
        title="Title <of> a figure",
        caption="Caption.",
        alt=describe("Mean induced latency", per_run, ["qdisc"], {metrics.INDUCED: " ms"}),
        output=str(folder),
        runs=per_run,
    )
    return folder


def write_notebook(folder: Path) -> Path:
    """An executed notebook that shows the figure of `folder`, code and room for claims."""
    drawing = (folder / "figure.svg").read_text()
    room = f"{verdicts.BEGIN}{verdicts.LATER}{verdicts.END}"
    result = nbformat.v4.new_output
    cells = [
        nbformat.v4.new_markdown_cell("# A title"),
        nbformat.v4.new_code_cell(
            "answer = 42",
            outputs=[
                result("display_data", {"image/svg+xml": SVG(drawing).data}),
                result("display_data", {"text/html": room}),
            ],
        ),
    ]
    path = folder / "notebook.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def write_data(root: Path) -> Path:
    """Four runs: two of CoDel and one of PIE at 10/10, one of PIE at 10/1."""
    for seed in (1, 2):
        synthetic.write_run(root, "10-10", "codel", seed)
    synthetic.write_run(root, "10-10", "pie", 1)
    synthetic.write_run(root, "10-1", "pie", 4)
    return root


def write_results(results: Path, data: Path) -> Path:
    """Figures 2b and 2c, the latter with a notebook, the claims of gbw2015 and all pages."""
    make_figure(results, data, "2b", "10/10")
    folder = make_figure(results, data, "2c", "10/1")
    page = notebookpage.render(write_notebook(folder), "A title", "What is seen")
    (folder / "notebook.html").write_text(page)
    summary = replace(outputs.read_summary(folder / "summary.json"), claims=["5.1.1", "Fig. 2c"])
    outputs.write_summary(folder / "summary.json", summary)
    latency = Quantity("induced_latency_ms", "rrul", "10/10", "codel")
    rules = {"g038": check.within(latency, high=1000), "g039": check.within(latency, high=1)}
    claims = read_claims(study_at("gbw2015"))
    table = measure_study(study_at("gbw2015"), data, jobs=1)
    write_claims(results, as_json(assess(claims, rules, table)))
    report.write_report(results, data)
    return results
