"""The two sites of the web test, of our making, with the sizes that gbw2015 (Sec. 5.3) gives.

The paper fetched copies of two front pages of its time. What it says of them is kept: the bytes of
a page and the number of its objects. How the bytes spread over the objects is
that of files on the Web, log-normal (P. Barford and M. Crovella, Generating representative Web
workloads, SIGMETRICS 1998, Table 1: location 9.357, scale 1.318, which is a mean of 27.6 kB; the
paper's page has 27.3 kB). The objects are quantiles of it in an order drawn once: the same in every
run, whatever its seed.
"""

import hashlib
import math
import os
import random
from statistics import NormalDist

#: Of the logarithm of an object's size in bytes.
LOCATION, SCALE = 9.357, 1.318

#: Draws the order of the objects; the year of the paper.
ORDER_SEED = 2015

#: Where the list of a site's URLs is; what flent asks for.
LIST = "filelist.txt"

#: When all files were last changed, in seconds since 1970: 1 January 2014.
CHANGED_S = 1_388_534_400


def log_normal(count, total):
    """`count` sizes in bytes that sum up to `total`, in the fixed order."""
    quantiles = [NormalDist().inv_cdf((place + 0.5) / count) for place in range(count)]
    sizes = [math.exp(LOCATION + SCALE * quantile) for quantile in quantiles]
    sizes = [round(size * total / sum(sizes)) for size in sizes]
    sizes[-1] += total - sum(sizes)
    random.Random(ORDER_SEED).shuffle(sizes)
    return sizes


#: Sizes of a site's objects in bytes by the name of its server, the document first.
SITES = {
    "small.example": log_normal(3, 56_000),  # Sec. 5.3: 56 kB in 3 requests
    "large.example": log_normal(110, 3_000_000),  # Sec. 5.3: 3 MB in 110 requests
}


def url_list(name):
    """The text of a site's list of URLs: one a line, in the order of the page."""
    return "".join(f"http://{name}/{number:03d}\n" for number in range(len(SITES[name])))


def write(folder):
    """Write a folder a site below `folder`, named like its server."""
    for name, sizes in SITES.items():
        files = {LIST: url_list(name).encode()}
        for number, size in enumerate(sizes):
            files[f"{number:03d}"] = hashlib.shake_128(f"{name} {number}".encode()).digest(size)
        os.makedirs(f"{folder}/{name}")
        for file, content in files.items():
            path = f"{folder}/{name}/{file}"
            with open(path, "wb") as out:
                out.write(content)
            os.utime(path, (CHANGED_S, CHANGED_S))
