"""How two flows share a queue, the second with a control, way or size of its own: `rfc7928`.

The programs `first` and `second` of a run are netperfs that print their throughput alone, in
Mbit/s, from their first segment to the last one's delivery.
"""

import tarfile
from typing import Final

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures.fairness import jain
from qdisclab.analysis.measures.registry import Measure, Metric
from qdisclab.analysis.runs.dataset import RunFile
from qdisclab.analysis.runs.flentfile import RERUN
from qdisclab.emulation.datafile import OUTPUT

FLOWS: Final = ("first", "second")


METRICS: Final = {
    "goodput_first_mbit_s": Metric("goodput of the first flow", "Mbit/s"),
    "goodput_second_mbit_s": Metric("goodput of the second flow", "Mbit/s"),
}


def measure(run: RunFile) -> dict[str, float]:
    """Return the goodput of both flows in Mbit/s, and Jain's index; raise DataError where one is
    missing."""
    path = run.provenance.with_suffix(OUTPUT)
    try:
        with tarfile.open(path) as archive:
            mbit_s = [_printed(archive, name) for name in FLOWS]
    except (OSError, tarfile.TarError, KeyError, ValueError) as error:
        raise DataError.of(path, f"has no throughput of two netperfs ({error})", RERUN) from error
    first, second = mbit_s
    return {
        "goodput_first_mbit_s": first,
        "goodput_second_mbit_s": second,
        "jain_index": jain(mbit_s),
    }


def _printed(archive: tarfile.TarFile, name: str) -> float:
    file = archive.extractfile(f"{name}/stdout")
    if file is None:
        raise ValueError(f"{name}/stdout is no file")
    return float(file.read(64))


MEASURES: Final = {"shares": Measure(measure, traffic="programs")}
