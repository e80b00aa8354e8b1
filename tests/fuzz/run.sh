#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs fuzz targets for some seconds each, starting from the inputs in tests/fuzz/corpus/<parser>/
# if there are any.
#
#   tests/fuzz/run.sh [SECONDS [TARGET...]]     default: 60 s each, all; builds them first
#
# Failing inputs (crash-*, timeout-*, oom-*) are kept in build-sanitize/found and should be added to the
# corpus.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$root/build-sanitize
seconds=${1:-60}
shift $(($# > 0 ? 1 : 0))
# CI sets a fixed seed, so that its runs are equal. Other runs use a random one.
seed=${HEARTH_TEST_SEED:-$RANDOM}

# An input of a few KiB can reach all code. A single input may neither hang nor exhaust the memory.
readonly MAX_INPUT_BYTES=65536 MAX_INPUT_SECONDS=10 MAX_RSS_MIB=2048

# The lock keeps parallel runs of this script from building at the same time.
build_targets() {
	mkdir -p "$build"
	exec 9>"$build/being-built"
	flock 9
	if [ ! -e "$build/CMakeCache.txt" ]; then
		(cd "$root" && cmake --preset sanitize >/dev/null)
	fi
	cmake --build "$build" --parallel "$(nproc)" --target fuzz >"$build/fuzz-build.log" 2>&1 || {
		tail -n 40 "$build/fuzz-build.log"
		printf 'fuzz: the build failed, the full log is %s\n' "$build/fuzz-build.log"
		exit 1
	}
	exec 9>&-
}

# run_target NAME: returns 0 if no input failed.
run_target() {
	local name=$1 seeds=$root/tests/fuzz/corpus/${1#fuzz_} options=() corpus=$build/corpus/$1
	local dictionary=$root/tests/fuzz/${1#fuzz_}.dict
	mkdir -p "$corpus" "$build/found" "$build/logs"
	[ ! -d "$seeds" ] || options+=("$seeds")
	[ ! -f "$dictionary" ] || options+=("-dict=$dictionary")
	if ! "$build/fuzz/$name" "$corpus" "${options[@]}" -max_total_time="$seconds" -max_len=$MAX_INPUT_BYTES \
		-seed="$seed" -timeout=$MAX_INPUT_SECONDS -rss_limit_mb=$MAX_RSS_MIB -artifact_prefix="$build/found/$name-" \
		-print_final_stats=1 -verbosity=1 >"$build/logs/$name.log" 2>&1 </dev/null; then
		tail -n 40 "$build/logs/$name.log"
		printf 'not ok %s: see %s\n' "$name" "$build/logs/$name.log"
		return 1
	fi
	printf 'ok %s: %s inputs\n' "$name" \
		"$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/logs/$name.log")"
}

build_targets
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
	mapfile -t targets < <(cd "$root/tests/fuzz" && printf '%s\n' fuzz_*.c | sed 's/\.c$//')
fi

result=0
for target in "${targets[@]}"; do
	run_target "$target" || result=1
done
exit $result
