# Builds a CPython from source and keeps it in the cache folder. Read by scripts/free-threaded and scripts/musl-python, which set
#
#   caller                    their own name, for messages
#   version, source           3.13; a folder with its source, or nothing: then it is Debian's package of it
#   name, suites              of the build, such as python3.13t; the suites of Debian that are asked when $DEBIAN_SUITES says none
#
# and call `cached_python EXECUTABLE OPTION...`, with configure's options. The path of bin/EXECUTABLE is printed. Debian's source
# comes with apt-get, from the lists that are set up and from those suites of the mirror $DEBIAN_MIRROR. It is built without
# link-time optimisation and kept where the tests find it: ${XDG_CACHE_HOME:-~/.cache}/dualdbg-pythons/NAME.

mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
suites=${DEBIAN_SUITES:-$suites}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/dualdbg-pythons

# Ends the script with a message, and what to type.
fail() {
    echo "$caller: $1" >&2
    exit 1
}
from_mirror() {
    program=$1
    shift
    "$program" -q -q -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$work/sources" \
        -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o Acquire::Check-Valid-Until=false "$@"
}
# unpack_from_mirror PACKAGE SUITES FOLDER: the package's source into the folder.
unpack_from_mirror() {
    rm -rf "$work/lists" "$work/source"
    mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/sources" "$work/source" "$3"
    cat >"$work/sources/source.sources" <<END
Types: deb-src
URIs: $mirror
Suites: $2
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
    from_mirror apt-get update || return 1
    versions=$(from_mirror apt-cache showsrc "$1" | sed -n 's/^Version: //p' | sort -Vr)
    # A mirror may lag behind its own lists: the newest that can be had.
    for each in $versions; do
        (cd "$work/source" && from_mirror apt-get source --download-only "$1=$each") && break
    done
    set -- "$1" "$2" "$3" "$work/source/"*.orig.tar.*z
    if [ ! -e "$4" ]; then
        echo "$caller: $mirror has no source of $1 in $2; name a folder that has that of CPython, or another mirror: DEBIAN_MIRROR=URL" >&2
        return 1
    fi
    tar -xf "$4" -C "$3" --strip-components=1
}
# What has to be built before; a caller may have its own.
build_libraries() { :; }
build() {
    build_libraries &&
        if [ -n "$source" ]; then cp -a "$source/." "$work/build"; else unpack_from_mirror "python$version" "$suites" "$work/build"; fi &&
        cd "$work/build" &&
        ./configure --prefix="$cache/$name" --disable-test-modules --without-ensurepip OPT="-g -O2 -Wall" "$@" &&
        nice -n 19 make -j"$(nproc)" &&
        make install
}
cached_python() {
    python=$cache/$name/bin/$1
    shift
    if [ -x "$python" ]; then
        echo "$python"
        return
    fi
    if [ -n "$source" ] && ! grep -qs "^#define PY_VERSION  *\"$version[.]" "$source/Include/patchlevel.h"; then
        fail "$source is no source of CPython $version: its Include/patchlevel.h does not say so"
    fi
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    mkdir -p "$work/build" "$cache"
    (build "$@") >"$cache/$name.log" 2>&1 || {
        tail -n 5 "$cache/$name.log" >&2
        fail "it could not be built; all of it is in $cache/$name.log"
    }
    echo "$python"
}
