"""The web of gbw2015, Sec. 5.3: two sites, their server, the server of their names, the getter.

dnsmasq and nginx on the server's node; on the client the name goes to dnsmasq across the rig, since
no file has it. `web_sites` has what nginx serves, `web_getter` what flent starts.
"""

import os

import web_sites as sites
from rig import Failure

FOLDER = "/tmp/web"

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

#: Where flent finds it, in the guest's overlay.
GETTER = "/usr/bin/http-getter"

#: -I: no folder or variable of the caller's.
SCRIPT = f"""#!/bin/sh
exec /usr/bin/python3 -I -B /job/guest/web_getter.py "$@" 2>>{SAID}
"""


def start(rig, traffic):
    """The server of names and that of the sites, both listening, and what the client needs."""
    from traffic import serve

    node, address = traffic["server"], traffic["hosts"][0]["address"]
    names = list(sites.SITES)
    records = "\n".join(f"host-record={name},{address}" for name in names)
    sites.write(f"{FOLDER}/sites")
    files = {
        "/etc/resolv.conf": RESOLV.format(address=address),
        f"{FOLDER}/dnsmasq.conf": DNSMASQ.format(address=address, records=records),
        f"{FOLDER}/nginx.conf": NGINX.format(address=address, folder=FOLDER, names=" ".join(names)),
        GETTER: SCRIPT,
    }
    for path, text in files.items():
        with open(path, "w") as file:
            file.write(text)
    os.chmod(GETTER, 0o755)
    dns = ["dnsmasq", "--keep-in-foreground", "--log-facility=-", "-C", f"{FOLDER}/dnsmasq.conf"]
    http = ["nginx", "-e", "stderr", "-p", FOLDER, "-c", f"{FOLDER}/nginx.conf"]
    return [serve(rig, node, dns, "udp", 53), serve(rig, node, http, "tcp", 80)]


def failures(path=SAID):
    """Why pages failed, a list of lines; as many pages as lines that start with a time.

    A page that fails is a result that no fetch time shows, so it has to be told beside them. Raises
    `Failure` where http-getter itself went wrong.
    """
    with open(path) as file:
        lines = file.read().splitlines()
    if any(not line.startswith(("[", "  ")) for line in lines):
        raise Failure("traffic", "http-getter: " + "; ".join(lines)[-600:])
    return lines
