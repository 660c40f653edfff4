"""From flent data files to tidy tables, metrics, figures and the results page."""

import sys

# Notebooks are checked with jsonschema, which builds the grammars of a format that none of them
# has, a tenth of a figure's time, wherever this package is there (JupyterLab brings it).
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
