#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Benchmarks: each prints its figures as `NAME.figure value unit`, the figures of other tools for
# comparison, and the ratios, in under ten minutes. "(aim N)" after a unit is a goal; no test checks it.
#
#   tests/bench/run.sh --list
#   tests/bench/run.sh NAME...      benchmarks of a running agent need root
#   tests/bench/run.sh agent --case build [--case perf]...      only these cases
#
# The first line of the header of tests/bench/NAME.sh describes the benchmark.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
here=$root/tests/bench
export HEARTH_BUILD=${HEARTH_BUILD:-$root/build}

names() { find "$here" -maxdepth 1 -name '*.sh' ! -name run.sh ! -name figures.sh -printf '%f\n' | sed 's/\.sh$//' | sort; }

list() {
	local name
	for name in $(names); do
		printf '%-8s %s\n' "$name" "$(sed -n '4s/^# //p' "$here/$name.sh")"
	done
}

build() {
	local log=$HEARTH_BUILD/bench-build.log generator=()
	mkdir -p "$HEARTH_BUILD"
	if [ "$(id -u)" = 0 ]; then
		HEARTH_INSTALL_LOG=$log "$root/deploy/install-packages.sh" run build test bench
	fi
	[ -e "$HEARTH_BUILD/CMakeCache.txt" ] || generator=(-G Ninja)
	{ cmake -S "$root" -B "$HEARTH_BUILD" "${generator[@]}" -DHEARTH_TESTS=ON &&
		cmake --build "$HEARTH_BUILD" --parallel "$(nproc)"; } >"$log" 2>&1 || {
		tail -n 30 "$log" >&2
		printf 'bench: the build failed, the full log is %s\n' "$log" >&2
		exit 1
	}
}

[ $# -gt 0 ] || set -- --help
case $1 in
--list)
	list
	exit 0
	;;
-h | --help)
	sed -n '4,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
	exit 2
	;;
esac

chosen=()
while [ $# -gt 0 ]; do
	if [ "$1" = --case ] && [ $# -gt 1 ]; then
		export HEARTH_BENCH_CASES="${HEARTH_BENCH_CASES:+$HEARTH_BENCH_CASES }$2"
		shift
	else
		chosen+=("$1")
	fi
	shift
done
set -- "${chosen[@]}"
for name in "$@"; do
	names | grep -xF -- "$name" >/dev/null || {
		printf "bench: there is no '%s'; there are: %s\n" "$name" "$(names | tr '\n' ' ')" >&2
		exit 2
	}
done
build
result=0
for name in "$@"; do
	bash "$here/$name.sh" || result=1
done
exit $result
