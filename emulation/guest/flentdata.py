"""What is kept of a flent data file: all that it measured, to the digits that were measured.

flent writes each value with the 17 digits that floating point has, and most values twice: as the
tool gave them (`raw_values`) and interpolated to common steps (`results`). Kept are the steps of
every series, with three decimals, and what the tool gave where steps do not tell it: each packet of
a VoIP flow and each page of a web test. Of other flows and probes `SERIES_META` says when they
began: STARTED, in seconds since 1970. flent opens and plots the file as before.
"""

import gzip
import json

#: Decimals of steps: microseconds where the unit is ms, kbit/s where it is Mbit/s.
STEPS = 3

#: Series of which every raw value is kept, and the decimals of its keys: `t` in s, delays in ms. A
#: key that is not here is the same in all packets (`size`) or a difference of two (`ipdv`). VoIP's
#: loss is in its sequence numbers.
DECIMALS = {
    "VoIP": {"seq": 0, "t": 3, "val": 2, "owd_up": 2, "lost": 0, "lost_dir": 0},
    "HTTP latency": {"t": 6, "val": 3},
}


def reduce(source, target):
    """Write what is kept of the flent file `source` to `target`; equal input, equal bytes."""
    with gzip.open(source) as file:
        content = json.load(file)
    content["x_values"] = rounded(content["x_values"], 6)
    content["results"] = {k: rounded(v, STEPS) for k, v in content["results"].items()}
    about, raw = content["metadata"]["SERIES_META"], content["raw_values"]
    for name, values in raw.items():
        if name not in DECIMALS and values:
            about[name]["STARTED"] = round(values[0]["t"] - values[0].get("dur", 0), 6)
    content["raw_values"] = {name: kept(name, values) for name, values in raw.items()}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    with open(target, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(text.encode())


def rounded(values, decimals):
    """The numbers of `values`, None among them."""
    return [None if value is None else round(value, decimals) for value in values]


def kept(name, values):
    """The raw values of the series `name` that are kept."""
    decimals = DECIMALS.get(name, {})
    if not decimals:
        return []
    return [{k: _round(v, decimals[k]) for k, v in one.items() if k in decimals} for one in values]


def _round(value, decimals):
    return round(value, decimals) if isinstance(value, float) else value
