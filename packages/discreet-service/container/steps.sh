#!/bin/sh
# Sets the service up and runs it, step by step: sh steps.sh STEP [STEP...]
#
#   machine   Debian packages and the user `discreet`            as root
#   database  PostgreSQL, with a database and a role `discreet`  as root; the compose file has a container for it
#   parts     a virtual environment with all parts, by digest    as root
#   wheels    Discreet itself, from wheels                       as root
#   begin     the service file, the secret, the first account    as discreet
#   serve     the pages and the API                              as discreet
#   work      the worker, which opens private tables             as discreet
#
# The container file and the how-to for a bare Debian machine run these same steps.
set -eu
umask 077

here=${DISCREET_SOURCES:-$(pwd)}                # the repository: constraints.txt, constraints.py, dist/*.whl
prefix=${DISCREET_PREFIX:-/opt/discreet}        # the virtual environment
home=${DISCREET_HOME:-/srv/discreet}            # the service's own files, and the private tables
url=${DISCREET_DATABASE:-postgresql://discreet@/discreet?host=/var/run/postgresql}
python=${DISCREET_PYTHON:-python3}
host=${DISCREET_HOST:-127.0.0.1}
port=${DISCREET_PORT:-8000}

machine() {
    apt-get update
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends python3 python3-venv
    id discreet >/dev/null 2>&1 || useradd --system --no-create-home discreet
    install -d -m 0700 -o discreet -g discreet "$home"
}

database() {
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends postgresql
    service postgresql start
    su postgres -c "createuser discreet"
    su postgres -c "createdb --owner=discreet discreet"
}

parts() {
    (
        umask 022
        "$python" -m venv "$prefix"
        "$python" "$here/constraints.py" discreet discreet-service postgres > "$prefix/requirements.txt"
        "$prefix/bin/python" -m pip install --no-deps --require-hashes -r "$prefix/requirements.txt"
    )
}

wheels() {
    (
        umask 022
        "$prefix/bin/python" -m pip install --no-deps --no-index --find-links "$here/dist" discreet discreet-service
    )
}

discreet() {
    # Its user has no other folder, and compiled code is kept.
    HOME="$home" NUMBA_CACHE_DIR="$home/cache" exec "$prefix/bin/python" -m discreet "$@"
}

begin() {
    if [ ! -e "$home/office/service.yaml" ]; then
        (discreet serve --init "$home/office" --database "$url")
    fi
}

serve() {
    discreet serve --config "$home/office/service.yaml" --host "$host" --port "$port"
}

work() {
    discreet worker --config "$home/office/service.yaml"
}

[ $# -gt 0 ] || { echo "Error: a step is needed: machine, database, parts, wheels, begin, serve or work." >&2; exit 2; }
for step in "$@"; do
    case $step in
        machine | database | parts | wheels | begin | serve | work) "$step" ;;
        *) echo "Error: $step is no step. Give machine, database, parts, wheels, begin, serve or work." >&2; exit 2 ;;
    esac
done
