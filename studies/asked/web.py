"""A web server, or with its address and a time a client that fetches its page every two seconds.

The client prints a line of JSON per page: when its fetch began and how long it took.
"""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.request import urlopen

PORT = 8000
PAGE = b"x" * 100_000
PAUSE_S = 2.0


class Page(BaseHTTPRequestHandler):
    """Answers with the page."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)


def fetch(server: str, length_s: float) -> None:
    """Fetch the page until `length_s` seconds have passed."""
    began = time.monotonic()
    while (now := time.monotonic()) < began + length_s:
        with urlopen(f"http://{server}:{PORT}/") as page:
            size = len(page.read())
        took = time.monotonic() - now
        print(json.dumps({"time_s": now - began, "fetch_s": took, "bytes": size}), flush=True)
        time.sleep(max(0, PAUSE_S - took))


if len(sys.argv) > 1:
    fetch(sys.argv[1], float(sys.argv[2]))
else:
    HTTPServer(("", PORT), Page).serve_forever()
