"""Web sessions drawn from the distributions of PackMime-HTTP.

J. Cao, W. S. Cleveland, Y. Gao, K. Jeffay, F. D. Smith and M. Weigle, "Stochastic Models for
Generating Synthetic HTTP Source Traffic", IEEE INFOCOM 2004. The values of the parameters are those
of its authors' implementation in ns-2.35 (`packmime/packmime_ranvar.cc`), used with
HTTP/1.1. Quantiles of sizes are a few points of theirs, within 3 % in between.

Arrivals and request sizes have long memory: a fractionally integrated Gaussian sequence, smoothed
over two values and mixed with noise, whose values become quantiles of the marginal distribution.
Here every connection draws its pauses from a location and a scale of its own, as the model has it;
ns-2 draws these two once a simulation.
"""

from __future__ import annotations

import cmath
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

PERSISTENT = 0.09  # share of connections with several requests
ONE_PAGE = 0.82  # of these: share with one page; others have 1 + Weibull
MORE_PAGES = (1.0, 0.417)  # shape and scale
ONE_OBJECT = 0.69  # of pages of a connection with several: share with one object
MORE_OBJECTS = (1.0, 1.578)
#: Of log2 of something, per connection: mean and variance of the location, shape of the gamma
#: distribution of the squared scale (its mean is 1), and the variance that it multiplies.
BETWEEN_PAGES = (3.22, 0.73, 1.85, 1.21)  # s
BETWEEN_OBJECTS = (-4.15, 3.12, 2.35, 1.57)  # s
NEXT_RESPONSES = (10.62, 0.94, 3.22, 2.43)  # bytes

SERVER_DELAY = (0.63, 305.0)  # Weibull of its reciprocal, 1/s
LONGEST_SERVER_DELAY_S = 0.1

ARRIVAL_MEMORY, REQUEST_MEMORY = 0.33, 0.31  # order of the fractional integration
VALIDATED_BYTES = 275  # a response of up to this is taken for a validated copy of a cache

#: Points of the quantile functions: (probability, bytes), straight in between.
VALIDATION = (
    (0.0001, 4.645), (0.0203, 40.80), (0.0304, 53.01), (0.0405, 61.47), (0.0708, 69.69),
    (0.1011, 74.81), (0.1314, 93.57), (0.1718, 107.0), (0.2122, 114.3), (0.2728, 121.6),
    (0.4445, 135.6), (0.6465, 155.4), (0.6970, 168.5), (0.7576, 200.6), (0.8081, 214.4),
    (0.9293, 261.5), (1.0, 272.2),
)  # fmt: skip
SMALL_REQUEST = (
    (0.0, 50.98), (0.01013, 93.82), (0.02023, 123.3), (0.04043, 168.8), (0.05053, 184.3),
    (0.06063, 193.9), (0.09094, 210.1), (0.1414, 253.1), (0.1919, 277.2), (0.3233, 315.3),
    (0.4142, 336.1), (1.0, 421.8),
)  # fmt: skip
#: The same as (log2 of the share that is larger, log2 of the bytes); the tails are Pareto's.
DOWNLOAD = (
    (-18.18, 25.88), (-5.694, 15.74), (-5.143, 15.38), (-4.041, 15.00), (-3.674, 14.69),
    (-2.940, 13.92), (-2.205, 13.34), (-1.838, 12.90), (-1.654, 12.60), (-1.287, 11.85),
    (-0.7363, 10.41), (0.0, 8.102),
)  # fmt: skip
LARGE_REQUEST = (
    (-17.78, 19.76), (-3.598, 10.21), (-3.060, 9.935), (-1.983, 9.647), (-0.9058, 8.955),
    (0.0, 8.726),
)  # fmt: skip


@dataclass(frozen=True)
class Exchange:
    """A request and its response."""

    pause_s: float  # after the response before
    request_bytes: int
    response_bytes: int
    server_delay_s: float  # between the whole request and the response


@dataclass(frozen=True)
class Session:
    """A connection; its requests follow each other."""

    start_s: float
    exchanges: tuple[Exchange, ...]


def sessions(per_s: float, length_s: float, seed: str) -> tuple[Session, ...]:
    """The connections that begin within `length_s`, `per_s` a second in the mean.

    Equal arguments give equal sessions. `per_s` is above 0.
    """
    rng = random.Random(seed)
    starts = [0.0]
    count = int(2 * per_s * length_s) + 100
    while starts[-1] < length_s:
        starts = list(accumulate(arrival_gaps(count, per_s, rng)))
        count *= 2
    starts = [start for start in starts if start < length_s]
    requests = request_sizes(len(starts), per_s, rng)
    responses = response_sizes(len(starts), per_s, rng)
    return tuple(
        Session(start, _exchanges(request, response, rng))
        for start, request, response in zip(starts, requests, responses, strict=True)
    )


def arrival_gaps(count: int, per_s: float, rng: random.Random) -> list[float]:
    """Seconds between `count` arrivals: Weibull, with long memory; the more the less regular."""
    rate = math.log2(per_s)
    shape = _logistic(0.352 + 0.388 * rate)
    scale = 1 / (per_s * math.gamma(1 + 1 / shape))
    drawn = _uniform(count, ARRIVAL_MEMORY, _logistic(0.333 + 0.414 * rate), rng)
    return [scale * (-math.log(above)) ** (1 / shape) for _, above in drawn]


def request_sizes(count: int, per_s: float, rng: random.Random) -> list[int]:
    """Bytes of the first requests of `count` connections, with long memory."""
    noise = _logistic(0.123 + 0.494 * math.log2(per_s))
    return [
        int(_interpolate(SMALL_REQUEST, 2 * below))
        if below <= 0.5
        else int(2 ** _interpolate(LARGE_REQUEST, math.log2(2 * above)))
        for below, above in _uniform(count, REQUEST_MEMORY, noise, rng)
    ]


def response_sizes(count: int, per_s: float, rng: random.Random) -> list[int]:
    """Bytes of the first responses of `count` connections: runs of downloads and validations."""
    rate = math.log2(per_s)
    runs = {  # whether a run is of downloads -> shape and scale of its length
        False: (_logistic(0.718 + 0.357 * rate), 0.775),
        True: (_logistic(1.293 + 0.316 * rate), 3.11),
    }
    downloads: list[bool] = []
    state = True
    while len(downloads) < count:
        shape, scale = runs[state]
        downloads += [state] * math.ceil(rng.weibullvariate(scale, shape))
        state = not state
    return [_response(download, 1 - rng.random()) for download in downloads[:count]]


def _response(download: bool, share: float) -> int:
    """The size that `share` of the downloads, or of the validations, exceed."""
    if download:
        return max(1, int(2 ** _interpolate(DOWNLOAD, math.log2(share))))
    return max(1, int(_interpolate(VALIDATION, share)))


def server_delays(count: int, rng: random.Random) -> list[float]:
    """Seconds that a server takes, `count` times: up to 0.1."""
    shape, scale = SERVER_DELAY
    drawn = (rng.weibullvariate(scale, shape) for _ in range(count))
    return [1 / max(each, 1 / LONGEST_SERVER_DELAY_S) for each in drawn]


def _exchanges(request: int, response: int, rng: random.Random) -> tuple[Exchange, ...]:
    pauses = _pauses(rng) if rng.random() < PERSISTENT else [0.0]
    delays = server_delays(len(pauses), rng)
    sizes = [response] * len(pauses)
    if len(pauses) > 1 and response > VALIDATED_BYTES:
        drawn = _of_connection(NEXT_RESPONSES, len(pauses) - 1, rng)
        sizes[1:] = [max(1, int(size)) for size in drawn]
    return tuple(
        Exchange(pause, request, size, delay)
        for pause, size, delay in zip(pauses, sizes, delays, strict=True)
    )


def _pauses(rng: random.Random) -> list[float]:
    """Before each request of a persistent connection: page by page, object by object."""
    pages = 1
    if rng.random() >= ONE_PAGE:
        pages = max(2, math.ceil(1 + rng.weibullvariate(MORE_PAGES[1], MORE_PAGES[0])))
    objects = []
    for _ in range(pages):
        several = pages == 1 or rng.random() >= ONE_OBJECT
        drawn = math.ceil(1 + rng.weibullvariate(MORE_OBJECTS[1], MORE_OBJECTS[0]))
        objects.append(max(2, drawn) if several else 1)
    between_pages = _of_connection(BETWEEN_PAGES, pages, rng)
    between_objects = _of_connection(BETWEEN_OBJECTS, sum(objects), rng)
    pauses = []
    for count in objects:
        pauses += [between_pages.pop(), *(between_objects.pop() for _ in range(count - 1))]
    return [0.0, *pauses[1:]]


def _of_connection(
    about: tuple[float, float, float, float], count: int, rng: random.Random
) -> list[float]:
    """`count` values of a connection with a location and a scale of its own."""
    mean, variance, shape, within = about
    location = rng.gauss(mean, math.sqrt(variance))
    deviation = math.sqrt(rng.gammavariate(shape, 1 / shape) * within)
    return [2 ** rng.gauss(location, deviation) for _ in range(count)]


def _uniform(
    count: int, memory: float, noise: float, rng: random.Random
) -> list[tuple[float, float]]:
    """Probabilities below and above `count` values of a standard normal sequence.

    A sequence of the order `memory`, each value plus the one before, has 1 - `noise` of the
    variance, independent noise the rest.
    """
    sequence = _integrated(count + 1, memory, rng)
    share = math.sqrt((1 - noise) / (2 + 2 * memory / (1 - memory)))
    mixed = [share * (a + b) + rng.gauss(0, math.sqrt(noise)) for a, b in pairwise(sequence)]
    root = math.sqrt(2)
    return [
        (math.erfc(-value / root) / 2, max(math.erfc(value / root) / 2, 1e-12)) for value in mixed
    ]


def _integrated(count: int, memory: float, rng: random.Random) -> list[float]:
    """`count` values of FARIMA(0, `memory`, 0) with variance 1.

    Exact, by circulant embedding (Davies and Harte, Biometrika 74, 1987). Autocorrelations by
    Hosking, Biometrika 68, 1981: r(k) = r(k - 1) (k - 1 + d) / (k - d).
    """
    most = 1 << (count - 1).bit_length()
    correlation = [1.0]
    for lag in range(1, most + 1):
        correlation.append(correlation[-1] * (lag - 1 + memory) / (lag - memory))
    size = 2 * most
    power = [max(value.real, 0.0) for value in _fourier(correlation + correlation[-2:0:-1])]
    noise = [math.sqrt(each / size) * complex(rng.gauss(), rng.gauss()) for each in power]
    return [value.real for value in _fourier(noise)[:count]]


def _fourier(values: Sequence[complex]) -> list[complex]:
    """The discrete Fourier transform of a power of two of `values`."""
    size = len(values)
    if size == 1:
        return [values[0]]
    even, odd = _fourier(values[::2]), _fourier(values[1::2])
    turned = [cmath.exp(-2j * cmath.pi * k / size) * value for k, value in enumerate(odd)]
    return [a + b for a, b in zip(even, turned, strict=True)] + [
        a - b for a, b in zip(even, turned, strict=True)
    ]


def _interpolate(points: Sequence[tuple[float, float]], at: float) -> float:
    """Straight between `points`, on beyond the first, and level beyond the last."""
    if at >= points[-1][0]:
        return points[-1][1]
    (x0, y0), (x1, y1) = next(pair for pair in pairwise(points) if at < pair[1][0])
    return y0 + (y1 - y0) / (x1 - x0) * (at - x0)


def _logistic(value: float) -> float:
    return math.exp(value) / (1 + math.exp(value))
