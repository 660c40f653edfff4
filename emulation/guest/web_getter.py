"""`http-getter`: how long a page takes, over libcurl, with the options and output that flent knows.

Fetches a list of URLs, then all that it names over several connections, and begins anew an
interval after the last beginning, or at once where the page took longer. A worker has one
connection at a time and asks for one object at a time; with each page it gets a new connection and
looks the name up again (gbw2015, Sec. 5.3; its authors' getter: github.com/tohojo/http-getter).

A page that lacks an object is no page: it goes to standard error with libcurl's reason and is not
among the times. Exit status 0 if every page was whole, 1 if one was not, 2 for a wrong option.
"""

import argparse
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from itertools import chain

import pycurl

FAMILIES = {4: pycurl.IPRESOLVE_V4, 6: pycurl.IPRESOLVE_V6, None: pycurl.IPRESOLVE_WHATEVER}


class Missed(Exception):
    """An object that did not come; the text is its URL and libcurl's reason."""


class Worker:
    """One connection at a time to the servers of a page, and its own memory of their names."""

    def __init__(self, options):
        self._options = options
        self._curl = None

    def renew(self):
        """Close the connection and forget the names."""
        if self._curl is not None:
            self._curl.close()
        self._curl = curl = pycurl.Curl()
        curl.setopt(pycurl.NOSIGNAL, 1)  # libcurl would time look-ups with signals, of all threads
        curl.setopt(pycurl.FAILONERROR, 1)
        curl.setopt(pycurl.FOLLOWLOCATION, 1)
        curl.setopt(pycurl.TCP_NODELAY, 1)
        curl.setopt(pycurl.USERAGENT, "http-getter")
        curl.setopt(pycurl.TIMEOUT_MS, self._options.timeout)
        curl.setopt(pycurl.IPRESOLVE, FAMILIES[self._options.family])
        if self._options.dns_servers:
            curl.setopt(pycurl.DNS_SERVERS, self._options.dns_servers)

    def get(self, url):
        """The bytes of `url`, headers included, and its body. Raises `Missed`."""
        body = BytesIO()
        try:
            self._curl.setopt(pycurl.URL, url)
            self._curl.setopt(pycurl.WRITEDATA, body)
            self._curl.perform()
        except pycurl.error as error:
            code, reason = error.args
            raise Missed(f"{url}: {reason} (curl {code})") from None
        return self._curl.getinfo(pycurl.HEADER_SIZE) + len(body.getvalue()), body.getvalue()

    def get_all(self, first, urls):
        """Get `first`, then what the iterator `urls` has left, which other workers draw from, too.

        Returns (the bytes of each object that came, why each other did not).
        """
        came, missed = [], []
        for url in chain(first, urls):
            try:
                came.append(self.get(url)[0])
            except Missed as miss:
                missed.append(str(miss))
        return came, missed


class Times:
    """What came of all pages: seconds of the whole ones, requests, number of the others."""

    def __init__(self):
        self.seconds, self.requests, self.failed = [], 0, 0

    def __str__(self):
        times = self.seconds or [0.0]
        figures = (min(times), sum(times) / len(times), max(times))
        return (
            f"Total {len(self.seconds)} successful of {len(self.seconds) + self.failed} cycles."
            f" {self.requests} total requests."
            f" min/avg/max = {'/'.join(f'{figure:.6f}' for figure in figures)} seconds."
        )


def urls_of(text):
    """The URLs of a list: one a line, without empty lines and those that start with `#`."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def fetch(workers, pool, source):
    """Fetch one page: the list at the URL `source`, or the list of URLs itself.

    Returns (the bytes of each object that came, why each other did not).
    """
    for worker in workers:
        worker.renew()
    came = []
    if isinstance(source, str):
        try:
            # Not in the first thread: libcurl would keep signals from it until it returns.
            size, body = pool.submit(workers[0].get, source).result()
        except Missed as miss:
            return came, [str(miss)]
        came.append(size)
        source = urls_of(body.decode())
        if not source:
            return came, ["the list has no URLs"]
    urls = iter(source[len(workers) :])
    missed = []
    # The first worker has a connection already and gets the first object.
    shares = [source[number : number + 1] for number in range(len(workers))]
    for got, lost in pool.map(lambda worker, share: worker.get_all(share, urls), workers, shares):
        came += got
        missed += lost
    return came, missed


def loop(options, times, output):
    """Fetch pages until the count or the run length is reached, the last page to its end."""
    workers = [Worker(options) for _ in range(options.workers)]
    began = due = time.time()
    pages = 0
    with ThreadPoolExecutor(options.workers) as pool:
        while True:
            time.sleep(max(0.0, due - time.time()))
            start = time.time()
            due = start + options.interval / 1000
            came, missed = fetch(workers, pool, options.source)
            end = time.time()
            pages += 1
            said = f"{len(came)} request(s) received {sum(came)} bytes"
            if missed:
                times.failed += 1
                why = "".join(f"\n  {reason}" for reason in missed)
                print(f"[{end:.6f}] {said}, page failed:{why}", file=sys.stderr, flush=True)
            else:
                times.seconds.append(end - start)
                times.requests += len(came)
                print(f"[{end:.6f}] {said} in {end - start:.6f} seconds.", file=output, flush=True)
            if options.count and pages >= options.count:
                return
            if options.run_length and end >= began + options.run_length:
                return


def positive(text):
    """A whole number above 0."""
    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number above 0")
    return int(text)


def parse(arguments):
    """The options; `source` is the URL of a list or the list itself. Exits with 2 where wrong."""
    parser = argparse.ArgumentParser(prog="http-getter", allow_abbrev=False)
    family = parser.add_mutually_exclusive_group()
    family.add_argument("-4", dest="family", action="store_const", const=4)
    family.add_argument("-6", dest="family", action="store_const", const=6)
    parser.add_argument("-c", dest="count", type=positive, help="pages")
    parser.add_argument("-d", dest="dns_servers", metavar="ADDRESS[,ADDRESS]")
    parser.add_argument("-i", dest="interval", type=positive, default=1000, help="ms")
    parser.add_argument("-l", dest="run_length", type=positive, help="s")
    parser.add_argument("-n", dest="workers", type=positive, default=4)
    parser.add_argument("-o", dest="output", metavar="FILE", help="in place of standard output")
    parser.add_argument("-t", dest="timeout", type=positive, default=0, help="ms, a request")
    parser.add_argument("source", metavar="LIST", nargs="?", default="-", help="URL, file or -")
    options = parser.parse_args(arguments)
    if options.dns_servers and not has_own_resolver():
        parser.error("-d: this libcurl asks the servers of /etc/resolv.conf only; set them there")
    if not options.source.startswith(("http://", "https://")):
        options.source = urls_of(read(parser, options.source))
        if not options.source:
            parser.error("the list has no URLs")
    return options


def has_own_resolver():
    """Whether libcurl was built with c-ares, which can be told whom to ask."""
    return "c-ares" in pycurl.version


def read(parser, path):
    try:
        return sys.stdin.read() if path == "-" else open(path, encoding="utf-8").read()
    except (OSError, UnicodeDecodeError) as error:
        parser.error(f"{path}: {error}")


def main(arguments):
    options = parse(arguments)
    output = open(options.output, "w") if options.output not in (None, "-") else sys.stdout
    times = Times()

    def stop(number, frame):
        """Say what there is and go, in the midst of a page: it counts as failed."""
        times.failed += 1
        print(f"[{time.time():.6f}] stopped by signal {number}, page failed", file=sys.stderr)
        print(f"\n{times}", file=output)
        output.flush()
        sys.stderr.flush()
        os._exit(1)

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    loop(options, times, output)
    print(f"\n{times}", file=output, flush=True)
    return 1 if times.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
