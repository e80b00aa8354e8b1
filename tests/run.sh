#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs every test of the repository: installs missing packages, builds (release, and sanitizers), and runs lint,
# unit tests (in the release build, and under AddressSanitizer and UndefinedBehaviorSanitizer), every fuzz target for a
# few seconds, the agent in virtual machines, and the end-to-end tests in order. Prints "N passed, N failed, N skipped"
# last. Exits with 1 if a test failed.
#
#   sudo ./tests/run.sh [--filter REGEX] [--only KIND,...] [--sanitize] [--fuzz-seconds N] [--list]
#
# Kinds: lint unit sanitize fuzz kernels e2e (docs/testing.md). Logs, one per test: build/test-logs.
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1
build=$root/build
build_sanitize=$root/build-sanitize
logs=$build/test-logs

filter= kinds=lint,unit,sanitize,fuzz,kernels,e2e e2e_build=$build fuzz_seconds=3 list_only=
passed=0 failed=0 skipped=0
failures=() skips=()

# Seed of tests that use random values, so that a run can be repeated.
export HEARTH_TEST_SEED=${HEARTH_TEST_SEED:-1}

# No test takes this long unless it hangs.
readonly E2E_LIMIT_S=420 UNIT_LIMIT_S=300 KERNEL_LIMIT_S=1800 TAIL_LINES=80

usage() {
	sed -n 's/^# \{0,1\}//; 4,11p' "${BASH_SOURCE[0]}"
	exit "$1"
}

while [ $# -gt 0 ]; do
	case $1 in
	--filter) filter=${2:?--filter needs a regular expression}; shift 2 ;;
	--filter=*) filter=${1#*=}; shift ;;
	--only) kinds=${2:?--only needs kinds}; shift 2 ;;
	--only=*) kinds=${1#*=}; shift ;;
	--sanitize) e2e_build=$build_sanitize; shift ;;
	--fuzz-seconds) fuzz_seconds=${2:?--fuzz-seconds needs a number}; shift 2 ;;
	--fuzz-seconds=*) fuzz_seconds=${1#*=}; shift ;;
	--list) list_only=1; shift ;;
	-h | --help) usage 0 ;;
	*) usage 2 >&2 ;;
	esac
done

# begin_phase NAME: prints the time since the start, so that the output shows which part of a run takes long.
begin_phase() { [ -n "$list_only" ] || printf -- '---- %s: begins after %s s\n' "$1" $SECONDS; }

wants() { [[ ,$kinds, == *",$1,"* ]]; }
is_selected() { [ -z "$filter" ] || [[ $1 =~ $filter ]]; }

# record RESULT NAME SECONDS [REASON]: counts and prints one test.
record() {
	case $1 in
	ok) passed=$((passed + 1)) ;;
	FAILED)
		failed=$((failed + 1))
		failures+=("$2: ${4:-}")
		;;
	skipped)
		skipped=$((skipped + 1))
		skips+=("$2: ${4:-no reason given}")
		;;
	esac
	printf '%-8s %s (%s s)%s\n' "$1" "$2" "$3" "${4:+: $4}"
}

log_of() { printf '%s/%s.log' "$logs" "${1//\//_}"; }

show_tail() {
	printf -- '---- the end of %s\n' "$1"
	tail -n $TAIL_LINES "$1"
	printf -- '----\n'
}

# assertion_in LOG: the failed assertion, as our scripts (FAILED: ...) or cmocka (file:line: error) print it. Fails if
# the log has none.
assertion_in() { grep -m 1 -oE 'FAILED: .*|[^ ]+\.c:[0-9]+: error.*' "$1"; }

# execute NAME LIMIT_S COMMAND...: runs a test. Writes its log, and its exit status and duration to a file beside the log. In a
# separate session, so that the scheduler gives tests that share a CPU equal parts, however many processes each has.
execute() {
	local name=$1 limit=$2 log started=$SECONDS status=0
	shift 2
	log=$(log_of "$name")
	setsid timeout --kill-after=20 "$limit" "$@" >"$log" 2>&1 </dev/null &
	test_pid=$!
	wait "$test_pid" || status=$?
	printf '%d %d\n' $status $((SECONDS - started)) >"$log.end"
}

# in_background COMMAND...: sets $background_pid. When that process receives SIGTERM, it also ends the test that it runs.
in_background() {
	(
		test_pid=
		trap 'trap - EXIT; [ -z "$test_pid" ] || kill "$test_pid"; wait; exit 143' TERM
		trap - EXIT INT
		"$@"
	) &
	background_pid=$!
}

# When this script exits, for whatever reason, it ends all of its jobs.
end_jobs() {
	local jobs
	jobs=$(jobs -rp)
	[ -z "$jobs" ] || kill $jobs 2>/dev/null
	wait
}
trap end_jobs EXIT
trap 'exit 130' INT TERM

# report NAME LIMIT_S: counts and prints a test that execute has run. Status 77: skipped, with the log's last line as reason.
report() {
	local name=$1 limit=$2 log status seconds
	log=$(log_of "$name")
	read -r status seconds <"$log.end"
	case $status in
	0) record ok "$name" "$seconds" ;;
	77) record skipped "$name" "$seconds" "$(tail -n 1 "$log")" ;;
	124 | 137)
		show_tail "$log"
		record FAILED "$name" "$seconds" "still running after $limit s"
		;;
	*)
		show_tail "$log"
		record FAILED "$name" "$seconds" "$(assertion_in "$log" || echo "exit status $status")"
		;;
	esac
}

# run_test NAME LIMIT_S COMMAND...: runs a test alone.
run_test() {
	is_selected "$1" || return 0
	if [ -n "$list_only" ]; then
		printf '%s\n' "$1"
		return 0
	fi
	execute "$@"
	report "$1" "$2"
}

# Tests that begin_test has started. report_all reports them in this order. Each entry is "PID NAME LIMIT_S".
begun=()

# The number of jobs that may still start: as many run at a time as there are CPUs, and $waiting_jobs more.
waiting_jobs=0
free_cpus() { printf '%d' $(($(nproc) + waiting_jobs - $(jobs -rp | wc -l))); }

wait_for_turn() {
	while [ "$(free_cpus)" -le 0 ]; do
		wait -n
	done
}

# begin_test NAME LIMIT_S COMMAND...: starts a test beside others. The test must not depend on a clock.
begin_test() {
	is_selected "$1" || return 0
	if [ -n "$list_only" ]; then
		printf '%s\n' "$1"
		return 0
	fi
	wait_for_turn
	in_background execute "$@"
	begun+=("$background_pid $1 $2")
}

report_all() {
	local test pid name limit
	for test in "${begun[@]}"; do
		read -r pid name limit <<<"$test"
		# After "wait -n" has returned this process, bash does not know it any more and says so.
		wait "$pid" 2>/dev/null
		report "$name" "$limit"
	done
	begun=()
}

finish() {
	local line
	[ -z "$list_only" ] || exit 0
	if [ ${#skips[@]} -gt 0 ]; then
		printf '\nskipped:\n'
		printf '  %s\n' "${skips[@]}"
	fi
	if [ ${#failures[@]} -gt 0 ]; then
		printf '\nfailed:\n'
		for line in "${failures[@]}"; do
			printf '  %s   (%s)\n' "$line" "$(log_of "${line%%: *}")"
		done
	fi
	printf '\n%d s\n%d passed, %d failed, %d skipped\n' $SECONDS $passed $failed $skipped
	[ $failed -eq 0 ] && [ $((passed + skipped)) -gt 0 ]
	exit
}

# build_tree NAME FOLDER TARGETS CMAKE_ARGUMENTS...
build_tree() {
	local name=$1 folder=$2 targets=$3 log jobs started=$SECONDS generator=()
	shift 3
	[ -z "$list_only" ] || return 0
	log=$(log_of "build/$name")
	wait_for_turn
	jobs=$(free_cpus)
	[ -e "$folder/CMakeCache.txt" ] || generator=(-G Ninja)
	# shellcheck disable=SC2086 # TARGETS are several words
	if cmake -S "$root" -B "$folder" "${generator[@]}" "$@" >"$log" 2>&1 &&
		cmake --build "$folder" --parallel $jobs --target $targets >>"$log" 2>&1; then
		printf 'built    %s (%s s)\n' "$name" $((SECONDS - started))
		return 0
	fi
	grep -nE 'FAILED:|error:|CMake Error|undefined reference' "$log" | head -n 20
	show_tail "$log"
	record FAILED "build/$name" $((SECONDS - started))
	return 1
}

# One cmocka program is one test. ctest lists the programs; each runs separately, with its own log and its own result line.
run_unit_tests() {
	local kind=$1 folder=$2 name program tests
	tests=$(ctest --test-dir "$folder" --show-only=json-v1 | jq -r '.tests[] | [.name, .command[0]] | @tsv')
	if [ -z "$tests" ] && [ -z "$list_only" ]; then
		record FAILED "$kind" 0 "ctest lists no test in $folder"
		return
	fi
	while IFS=$'\t' read -r name program; do
		begin_test "$kind/$name" $UNIT_LIMIT_S env -C "$(dirname "$program")" "$program"
	done <<<"$tests"
	report_all
}

run_lint() {
	run_test lint/check-tree-finds-planted-faults 120 python3 -B tests/lint/test_check_tree.py
	run_test lint/the-tree-follows-its-rules 300 python3 -B tests/lint/check_tree.py --build "$build" --sizes
	[ -n "$list_only" ] || wait_for_turn
	run_test lint/c-files-are-formatted 120 tests/lint/check_format.sh
	run_test lint/clang-tidy 900 tests/lint/clang_tidy.sh "$build" "$(free_cpus)"
	run_test lint/gcc-analyzer 600 tests/lint/gcc_analyzer.sh "$build" "$(free_cpus)"
	run_test lint/generated-documentation-is-up-to-date 60 tests/lint/check_generated.sh "$build/bin"
	# Debian's python3 finds the package python3-yaml.
	run_test lint/check-kubernetes-finds-planted-faults 60 /usr/bin/python3 -B tests/lint/test_check_kubernetes.py
	run_test lint/kubernetes-manifests-are-valid 60 /usr/bin/python3 -B tests/lint/check_kubernetes.py --bin "$build/bin"
	run_test lint/shell-scripts-parse 60 bash -c 'for f in "$@"; do bash -n "$f" || exit 1; done' _ \
		.ci/run deploy/*.sh deploy/*/*.sh tests/*.sh tests/*/*.sh
}

begin_fuzz() {
	local source
	for source in tests/fuzz/fuzz_*.c; do
		[ -e "$source" ] || continue
		source=${source##*/}
		begin_test "fuzz/${source%.c}" $((fuzz_seconds + 300)) tests/fuzz/run.sh "$fuzz_seconds" "${source%.c}"
	done
}

# End-to-end tests with a line "This test runs beside others" start no agent and do not depend on a clock. They run side by
# side, each with its own range of ports, before all others. Some wait most of the time.
readonly BESIDE='^# This test runs beside others' PORTS=1000

begin_e2e_beside_others() {
	local script name first_port=20000 waiting_jobs=2
	for script in $(grep -lE "$BESIDE" tests/e2e/[0-9][0-9]-*.sh); do
		name=${script##*/}
		begin_test "e2e/${name%.sh}" $E2E_LIMIT_S env HEARTH_BUILD="$e2e_build" HEARTH_E2E_PORTS="$first_port $PORTS" \
			bash "$script"
		first_port=$((first_port + PORTS))
	done
}

# End-to-end tests with a line "This test needs one CPU" have an agent, but do not compare figures with a clock or with the
# host's CPUs. As many run at a time as there are CPUs, each pinned to a CPU, so that they do not share CPU time. With two on a
# CPU some fail: tests of helpers use all of it for half a minute.
readonly ONE_CPU='^# This test needs one CPU'

# run_e2e_on CPU FIRST_PORT: runs tests one after another, each that has not been taken yet.
run_e2e_on() {
	local cpu=$1 first_port=$2 script name
	for script in $(grep -lE "$ONE_CPU" tests/e2e/[0-9][0-9]-*.sh); do
		name=${script##*/}
		name=e2e/${name%.sh}
		is_selected "$name" && mkdir "$logs/e2e-taken/${name#e2e/}" 2>/dev/null || continue
		execute "$name" $E2E_LIMIT_S env HEARTH_BUILD="$e2e_build" HEARTH_E2E_PORTS="$first_port $PORTS" \
			taskset -c "$cpu" bash "$script"
	done
}

run_e2e_by_cpu() {
	local cpu script name pids=() first_port=20000
	if [ -z "$list_only" ]; then
		rm -rf -- "$logs/e2e-taken"
		mkdir "$logs/e2e-taken"
		for cpu in $(usable_cpus); do
			in_background run_e2e_on "$cpu" $first_port
			pids+=("$background_pid")
			first_port=$((first_port + PORTS))
		done
		wait "${pids[@]}"
	fi
	for script in $(grep -lE "$ONE_CPU" tests/e2e/[0-9][0-9]-*.sh); do
		name=${script##*/}
		name=e2e/${name%.sh}
		is_selected "$name" || continue
		if [ -n "$list_only" ]; then printf '%s\n' "$name"; else report "$name" $E2E_LIMIT_S; fi
	done
}

# The first twelve CPUs that this script may use: more tests would use ports that the kernel gives to clients.
usable_cpus() {
	awk '/^Cpus_allowed_list:/ { n = split($2, ranges, ","); for (i = 1; i <= n; i++) { m = split(ranges[i], r, "-")
		for (c = r[1]; c <= r[m]; c++) print c } }' /proc/self/status | head -n 12
}

run_e2e_alone() {
	local script name
	for script in $(grep -LE "$BESIDE|$ONE_CPU" tests/e2e/[0-9][0-9]-*.sh); do
		name=${script##*/}
		run_test "e2e/${name%.sh}" $E2E_LIMIT_S env HEARTH_BUILD="$e2e_build" bash "$script"
	done
}

# Debian's kernels in virtual machines: the list of checks of each kernel that CI runs. The first list starts right after
# the release build and takes one CPU, beside tests that do not depend on a clock. After those, two lists run at a time.
# All lists end before the first test that depends on a clock: such a test fails beside an emulator.
kernel_lists=()
kernels_pid=

# run_kernel_lists: runs lists one after another, each that has not been taken yet.
run_kernel_lists() {
	local kernel
	for kernel in "${kernel_lists[@]}"; do
		mkdir "$logs/kernels-taken/$kernel" 2>/dev/null || continue
		execute "kernels/$kernel" $KERNEL_LIMIT_S env HEARTH_BUILD="$build" CMAKE_BUILD_PARALLEL_LEVEL=1 \
			tests/kernels/run.sh --ci "$kernel"
	done
}

begin_kernels() {
	local kernel
	while read -r kernel; do
		is_selected "kernels/$kernel" || continue
		kernel_lists+=("$kernel")
		[ -z "$list_only" ] || printf 'kernels/%s\n' "$kernel"
	done < <(tests/kernels/run.sh --list | sed -n 's/^  \([^ ]*\) .*(CI)$/\1/p')
	[ -z "$list_only" ] && [ ${#kernel_lists[@]} -gt 0 ] || return 0
	rm -rf -- "$logs/kernels-taken"
	mkdir "$logs/kernels-taken"
	in_background run_kernel_lists
	kernels_pid=$background_pid
}

finish_kernels() {
	local kernel
	[ -n "$kernels_pid" ] || return 0
	[ "$(nproc)" -lt 2 ] || run_kernel_lists
	wait "$kernels_pid" 2>/dev/null
	for kernel in "${kernel_lists[@]}"; do
		report "kernels/$kernel" $KERNEL_LIMIT_S
	done
}

# Tests tests/kernels/run.sh itself, after the lists have fetched a kernel.
run_kernels_test() {
	run_test kernels/an-aborted-list-leaves-no-process-and-no-mount 300 env HEARTH_BUILD="$build" tests/kernels/test_run.sh
}

if [ -z "$list_only" ]; then
	mkdir -p "$logs"
	sections=(run build test)
	! wants kernels || sections+=(arm64)
	HEARTH_INSTALL_LOG=$logs/packages.log ./deploy/install-packages.sh "${sections[@]}" || {
		record FAILED packages $SECONDS "cannot install the packages that the tests need"
		finish
	}
fi

# All tests use the release build. It includes the workloads, and the generated headers that lint needs.
begin_phase build
build_tree release "$build" all -DHEARTH_TESTS=ON || finish
if wants kernels; then begin_kernels; fi
if wants lint; then begin_phase lint && run_lint; fi
if wants unit; then begin_phase unit && run_unit_tests unit "$build"; fi
if wants sanitize || wants fuzz || [ "$e2e_build" = "$build_sanitize" ]; then
	begin_phase "sanitize and fuzz"
	targets=
	# An end-to-end test runs this server. BPF programs and workloads are the same with sanitizers.
	! wants sanitize || targets+=" unit_tests hearth-symbolizer"
	! wants fuzz || targets+=" fuzz"
	[ "$e2e_build" != "$build_sanitize" ] || targets+=" all"
	if build_tree sanitize "$build_sanitize" "$targets" --preset sanitize; then
		if wants sanitize; then run_unit_tests sanitize "$build_sanitize"; fi
		if wants fuzz; then begin_fuzz; fi
	elif [ "$e2e_build" = "$build_sanitize" ]; then
		finish
	fi
fi
export HEARTH_BUILD_SANITIZE=$build_sanitize
if wants e2e; then begin_phase "end-to-end tests beside others" && begin_e2e_beside_others; fi
report_all
if wants kernels; then begin_phase kernels && finish_kernels && run_kernels_test; fi
if wants e2e; then
	begin_phase "end-to-end tests on one CPU each"
	run_e2e_by_cpu
	begin_phase "end-to-end tests alone"
	run_e2e_alone
fi
finish
