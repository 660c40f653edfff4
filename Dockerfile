# Everything in an image: kernel, the guest's tools, Python, data and notebooks. docs/container.md.
#
#     docker build -t reproduce-all .
#     docker run -v results:/qdisc-lab/results reproduce-all
#     docker run -p 8888:8888 reproduce-all lab
#
# Kernel and tools have stages of their own, made of the few files that they depend on: a change of
# anything else leaves them in the build's cache, and their compilers and downloads stay behind. With
# the bundle's wheel in wheels/ they are unpacked from there, and nothing is compiled.

ARG BASE=debian:12.15-slim

# --- what all stages have: Debian's package sources and Python
FROM ${BASE} AS base
ARG MIRROR=http://deb.debian.org
ENV LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
RUN sed -i "s#http://deb.debian.org#$MIRROR#" /etc/apt/sources.list.d/debian.sources \
 && apt-get -qq update \
 && DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends \
        python3 tini >/dev/null \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log \
 && sed -i "s#$MIRROR#http://deb.debian.org#" /etc/apt/sources.list.d/debian.sources

# --- the same with the mirror still set, for the stages that download
FROM base AS builder
ARG MIRROR=http://deb.debian.org
ENV XDG_CACHE_HOME=/cache PYTHONPATH=/bundle
WORKDIR /qdisc-lab
RUN sed -i "s#http://deb.debian.org#$MIRROR#" /etc/apt/sources.list.d/debian.sources \
 && apt-get -qq update
COPY LICENSE wheel[s] /bundle/
RUN for wheel in /bundle/*.whl; do \
        [ ! -f "$wheel" ] || python3 -m zipfile -e "$wheel" /bundle && rm -f "$wheel" || exit 1; \
    done

# --- the guest's kernels: of all the series that the studies run
FROM builder AS kernel
ARG SERIES="6.12 7.2"
RUN [ -d /bundle/qdisc_lab_guest ] || \
    DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends \
        make gcc binutils flex bison bc xz-utils patch perl libc6-dev >/dev/null
COPY qdisc qdisc
COPY qdisclab qdisclab
COPY workflow/__init__.py workflow/ready.py workflow/
COPY emulation/__init__.py emulation/datafile.py emulation/errors.py emulation/project.py emulation/
COPY emulation/host emulation/host
COPY emulation/machine/__init__.py emulation/machine/layer.py emulation/machine/rootfs.py \
     emulation/machine/rootfs.toml emulation/machine/
COPY emulation/kernel emulation/kernel
COPY emulation/model/__init__.py emulation/model/series.py emulation/model/
COPY emulation/guest/init.sh emulation/guest/
RUN for series in $SERIES; do \
        python3 -m workflow.ready kernel /cache/kernel.json --series $series || exit 1; \
    done \
 && rm -rf /cache/kernel.json /cache/qdisc-lab/kernel/sources /cache/qdisc-lab/kernel/lock \
 && chmod -R a+rX /cache && chmod 1777 /cache/qdisc-lab/kernel

# --- the modules of WiFi links, eras and qdiscs: what is shipped has no compiler
FROM kernel AS modules
ARG SERIES="6.12 7.2"
COPY emulation/model emulation/model
COPY emulation/kinds/__init__.py emulation/kinds/netlink.py emulation/kinds/registry.py emulation/kinds/
COPY emulation/kinds/qdiscs emulation/kinds/qdiscs
RUN for series in $SERIES; do \
        python3 -m workflow.ready modules /cache/modules.json --series $series || exit 1; \
    done \
 && chmod -R a+rX /cache && chmod 1777 /cache/qdisc-lab/module

# --- the guest's root file system
FROM builder AS guest
COPY qdisclab qdisclab
COPY workflow/__init__.py workflow/ready.py workflow/
COPY emulation/__init__.py emulation/datafile.py emulation/errors.py emulation/project.py emulation/
COPY emulation/host emulation/host
COPY emulation/machine/__init__.py emulation/machine/layer.py emulation/machine/rootfs.py \
     emulation/machine/rootfs.toml emulation/machine/
COPY emulation/kernel emulation/kernel
COPY emulation/model/__init__.py emulation/model/series.py emulation/model/
COPY emulation/guest/init.sh emulation/guest/
COPY qdisc/LOCK.toml qdisc/
RUN python3 -m workflow.ready rootfs /cache/rootfs.json \
 && mkdir -p /cache/qdisc-lab/layer \
 && rm -rf /cache/rootfs.json /cache/qdisc-lab/*/lock \
 && chmod -R a+rX /cache && chmod 1777 /cache/qdisc-lab/rootfs /cache/qdisc-lab/layer

# --- Python packages, in the versions of pyproject.toml and workflow/constraints.txt
FROM builder AS packages
RUN DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends python3-venv \
        >/dev/null
COPY pyproject.toml ./
COPY workflow/constraints.txt workflow/
RUN python3 -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
                more = project["optional-dependencies"]; \
                print(*project["dependencies"], *more["notebooks"], *more["workflow"], sep="\n")' >requirements.txt \
 && python3 -m venv .venv \
 && .venv/bin/pip --quiet --no-cache-dir --disable-pip-version-check install \
        --constraint workflow/constraints.txt --requirement requirements.txt \
 && cd .venv/lib/python3*/site-packages && rm -rf pandas/tests matplotlib/tests scipy/*/tests

# --- the project itself: small, and the last to be put into the image
FROM packages AS project
COPY . .
RUN rm -rf wheels && bash -euc "source workflow/setup.sh; setup_venv ''" \
 && mkdir /project \
 && cp -a [!.]* /project/ \
 && cp -a --parents .venv/installed .venv/bin/emulate \
        .venv/lib/python3*/site-packages/*qdisc_lab* /project/ \
 && rm -rf /project/results /project/requirements.txt \
 && mkdir -m 1777 /project/results \
 && ln -s results/.snakemake /project/.snakemake \
 && chmod -R a+rX /project && chmod -R a+w /project/notebooks

# --- what is shipped
FROM base
RUN useradd --create-home --shell /bin/bash lab \
 && mkdir -p /qdisc-lab/cache/qdisc-lab \
 && cd /qdisc-lab/cache/qdisc-lab \
 && mkdir kernel layer module rootfs cpu speed failed \
 && chmod 1777 /qdisc-lab/cache . *
COPY --from=packages /qdisc-lab/.venv /qdisc-lab/.venv
COPY --from=guest /cache/qdisc-lab/rootfs /qdisc-lab/cache/qdisc-lab/rootfs
COPY --from=guest /cache/qdisc-lab/layer /qdisc-lab/cache/qdisc-lab/layer
COPY --from=kernel /cache/qdisc-lab/kernel /qdisc-lab/cache/qdisc-lab/kernel
COPY --from=modules /cache/qdisc-lab/module /qdisc-lab/cache/qdisc-lab/module
COPY --from=project /project /qdisc-lab
WORKDIR /qdisc-lab
ENV XDG_CACHE_HOME=/qdisc-lab/cache USER=lab
USER lab
VOLUME /qdisc-lab/results
EXPOSE 8888
ENTRYPOINT ["tini", "-g", "--", "workflow/container.sh"]
