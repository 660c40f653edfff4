# shellcheck shell=bash
# What ./reproduce-all and ./run-tests have in common: have everything ready that they need, and do
# nothing that is done. Sourced, with the repository as the working directory.

VENV=.venv
CONSTRAINTS=workflow/constraints.txt
SETUP_LOG=results/logs/setup.log
GUEST_LOG=results/logs/guest.log

# What the kernel's build runs, as in emulation/kernel/make.py: program or header, Debian package.
KERNEL_TOOLS=(
    make:make gcc:gcc ld:binutils flex:flex bison:bison bc:bc xz:xz-utils patch:patch perl:perl
    /usr/include/stdio.h:libc6-dev
)

# With the bundle's wheel in wheels/ no kernel is built; the archive for machines without a network
# also has all that is downloaded elsewhere.
BUNDLE=()
! compgen -G "wheels/qdisc_lab_guest-*.whl" >/dev/null || BUNDLE=(wheels/qdisc_lab_guest-*.whl)
if [[ -d packages ]]; then
    export PIP_NO_INDEX=1 PIP_FIND_LINKS=wheels QDISC_LAB_PACKAGES=$PWD/packages
fi

say() { printf '%s\n' "==> $*"; }

die() {
    printf '%s: error: %s\n' "${0##*/}" "$1" >&2
    exit "${2:-1}"
}

# A Python that makes virtual environments: version 3.11 or newer, with venv and ensurepip.
usable_python() {
    local candidate
    for candidate in python3 /usr/bin/python3 python3.13 python3.12 python3.11; do
        if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
            >/dev/null 2>&1; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

# Whether there is a virtual environment that packages can be installed into.
usable_venv() {
    "$VENV/bin/python" -c 'import pip' 2>/dev/null
}

# Whether the cache has today's kernel, so that no compiler is needed.
have_kernel() {
    "$VENV/bin/python" -c 'import sys
from qdisclab.emulation import kernel
sys.exit(not kernel.find())' 2>/dev/null
}

# The Debian packages that are not there, one a line.
missing_packages() {
    local entry tool
    usable_venv || usable_python >/dev/null || printf '%s\n' python3 python3-venv
    ((${#BUNDLE[@]})) || have_kernel && return
    for entry in "${KERNEL_TOOLS[@]}"; do
        tool=${entry%:*}
        case $tool in
            /*) [[ -e $tool ]] || printf '%s\n' "${entry##*:}" ;;
            *) command -v "$tool" >/dev/null || printf '%s\n' "${entry##*:}" ;;
        esac
    done
}

# Run a command with its output in the log; where it fails, show the end of it. $1: what to do then.
logged() {
    local advice=$1
    shift
    mkdir -p "${SETUP_LOG%/*}"
    printf '$ %s\n' "$*" >>"$SETUP_LOG"
    if ! "$@" >>"$SETUP_LOG" 2>&1 </dev/null; then
        tail -n 20 "$SETUP_LOG" >&2
        die "'$*' failed; all of its output is in $SETUP_LOG; $advice"
    fi
}

setup_packages() {
    local -a packages prefix=()
    mapfile -t packages < <(missing_packages)
    ((${#packages[@]})) || return 0
    local install="apt-get install --no-install-recommends ${packages[*]}"
    command -v apt-get >/dev/null ||
        die "these packages are missing and there is no apt-get to install them: ${packages[*]}" 3
    if ((EUID != 0)); then
        if command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; then
            prefix=(sudo)
            sudo -v || die "sudo refused; as root: $install" 3
        else
            die "packages are missing, and installing them takes root or sudo. As root: $install" 3
        fi
    fi
    say "installing ${packages[*]}"
    local advice="check that this machine reaches its Debian mirror, then run it again"
    logged "$advice" "${prefix[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q update
    logged "$advice" "${prefix[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get -q install --yes --no-install-recommends "${packages[@]}"
}

# What some tests need and the others do without where it cannot be had: the program $1 of the
# packages after $2, which says what is not tested without it.
setup_optional() {
    local program=$1 without=$2 prefix=()
    shift 2
    ! command -v "$program" >/dev/null || return 0
    if command -v apt-get >/dev/null && { ((EUID == 0)) || sudo -n true 2>/dev/null; }; then
        ((EUID == 0)) || prefix=(sudo -n)
        say "installing $*"
        mkdir -p "${SETUP_LOG%/*}"
        { "${prefix[@]}" apt-get -q update && "${prefix[@]}" env DEBIAN_FRONTEND=noninteractive \
            apt-get -q install --yes --no-install-recommends "$@"; } >>"$SETUP_LOG" 2>&1 \
            </dev/null || true
    fi
    command -v "$program" >/dev/null ||
        say "no $program: $without (as root: apt-get install $*)"
}

# The virtual environment, with notebooks and workflow. $1: '' or other extras of pyproject.toml, as
# '[dev]'. The stamp, written last, has the digest of all that the environment depends on.
setup_venv() {
    local extras=${1:-]} python stamp wanted
    stamp=$VENV/installed${1//[^a-z]/-}
    extras="[notebooks,workflow${extras/#[/,}"
    wanted=$(cat pyproject.toml "$CONSTRAINTS" "${BUNDLE[@]}" | sha256sum | cut -d' ' -f1)
    if usable_venv; then
        [[ $(cat "$stamp" 2>/dev/null) != "$wanted" ]] || return 0
    else
        python=$(usable_python) || die "no Python 3.11 or newer with venv and ensurepip" 3
        say "making $VENV with $python"
        logged "see whether $python can make one elsewhere" "$python" -m venv --clear "$VENV"
    fi
    say "installing the Python packages of pyproject.toml$extras (a minute or two)"
    logged "check that this machine reaches pypi.org, then run it again" \
        "$VENV/bin/python" -m pip install --disable-pip-version-check --quiet \
        --constraint "$CONSTRAINTS" --editable ".$extras" "${BUNDLE[@]}"
    printf '%s\n' "$wanted" >"$stamp"
}

# Whether the cache has today's kernel and root file system.
have_guest() {
    "$VENV/bin/python" -c 'import sys
from qdisclab.emulation import kernel
from qdisclab.emulation.machine import rootfs
sys.exit(not (kernel.find() and rootfs.find()))' 2>/dev/null
}

# The guest's kernel and root file system, in the user's cache. $1: how many processes may compile.
setup_guest() {
    ((${#BUNDLE[@]})) || have_kernel ||
        say "building the kernel: about 8 min of one core, and 160 MB to download"
    "$VENV/bin/emulate" kernel build --jobs "$1" >/dev/null
    ((${#BUNDLE[@]})) || have_guest ||
        say "unpacking the guest's tools: about a minute, and 70 MB to download"
    mkdir -p results/setup
    "$VENV/bin/python" -m workflow.ready rootfs results/setup/rootfs.json
}
