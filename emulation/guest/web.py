"""The web of gbw2015, Sec. 5.3: two sites, their server, the server of their names, the getter.

dnsmasq and nginx on the server's node; on the client the name goes to dnsmasq across the rig, since
no file has it. `sites` has what nginx serves, `http_getter` what flent starts.
"""

import os
import subprocess

import sites
from rig import Failure

FOLDER = "/tmp/web"

#: Where the servers listen: protocol, port.
DNS, HTTP = ("udp", 53), ("tcp", 80)

#: What each http-getter said; flent takes numbers only.
SAID = "/job/out/http-getter.log"

#: A lost question is repeated after 5 s, 3 times: what libcurl did in 2015 (c-ares 1.10).
RESOLV = "nameserver {address}\noptions timeout:5 attempts:4\n"

#: Nothing is forwarded, an answer may not be kept, and the domain has no other names.
DNSMASQ = """
listen-address={address}
bind-interfaces
no-hosts
no-resolv
user=root
local=/example/
{records}
"""

#: Debian's settings but for logs and accounts; one process.
NGINX = """
daemon off;
master_process off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    scgi_temp_path {folder}/scgi;
    uwsgi_temp_path {folder}/uwsgi;
    sendfile on;
    tcp_nopush on;
    default_type application/octet-stream;
    server {{
        listen {address}:80;
        server_name {names};
        root {folder}/sites/$host;
    }}
}}
"""

#: -I: no folder or variable of the caller; its words go to the log and to flent.
GETTER = """#!/bin/sh
exec /usr/bin/python3 -I -B /job/guest/http_getter.py "$@" 2>>{said}
"""


def prepare(address, tools):
    """Write the sites, the client's resolv.conf and `http-getter` into the folder `tools`.

    `address`: of the server of names.
    """
    sites.write(f"{FOLDER}/sites")
    with open("/etc/resolv.conf", "w") as file:
        file.write(RESOLV.format(address=address))
    os.makedirs(tools, exist_ok=True)
    with open(f"{tools}/http-getter", "w") as script:
        script.write(GETTER.format(said=SAID))
    os.chmod(f"{tools}/http-getter", 0o755)


def start_dns(rig, node, address):
    """dnsmasq on `node`; `address` is its own and that of the sites."""
    records = "\n".join(f"host-record={name},{address}" for name in sites.SITES)
    path = _write("dnsmasq.conf", DNSMASQ.format(address=address, records=records))
    return _start(rig, node, "dnsmasq", "--keep-in-foreground", "--log-facility=-", "-C", path)


def start_web(rig, node, address):
    """nginx on `node`, serving the sites that `prepare` wrote."""
    names = " ".join(sites.SITES)
    path = _write("nginx.conf", NGINX.format(address=address, folder=FOLDER, names=names))
    return _start(rig, node, "nginx", "-e", "stderr", "-p", FOLDER, "-c", path)


def list_url(site):
    """What flent's `--http-getter-urllist` takes for the site of that name."""
    return f"http://{site}/{sites.LIST}"


def failures(path=SAID):
    """Why pages failed, a list of lines; the number of pages is that of the lines with a time.

    A page that fails is a result that no fetch time shows, so it has to be told beside them. Raises
    `Failure` where http-getter itself went wrong.
    """
    with open(path) as file:
        lines = file.read().splitlines()
    if any(not line.startswith(("[", "  ")) for line in lines):
        raise Failure("traffic", "http-getter: " + "; ".join(lines)[-600:])
    return lines


def _write(name, text):
    path = f"{FOLDER}/{name}"
    with open(path, "w") as file:
        file.write(text)
    return path


def _start(rig, node, program, *arguments):
    with open(f"/job/out/{program}.log", "w") as log:
        return subprocess.Popen(
            rig.inside(node, program, *arguments),
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip
