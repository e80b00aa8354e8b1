#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Stacks of a JVM without options have the Java methods, by name and line, also those that the compiler has inlined: of
# known shares, compiled and interpreted, in recursion, and above code of the JVM.
#
# To check another version: HEARTH_JAVA_ROOT=/path/to/chroot, the root folder of a system, and HEARTH_JAVA=/path/to/java in it.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/function_nodes.sh"
need_root
need_tools curl jq javac python3

root=${HEARTH_JAVA_ROOT:-}
[ "$(uname -m)" = x86_64 ] || skip "this test was not tried on this machine"
java=$(in_root readlink -f "${HEARTH_JAVA:-/usr/bin/java}")
[ -e "$root$java" ] || skip "needs ${HEARTH_JAVA:-java}"
# The launcher finds the files of its version by /proc/self/exe.
if [ -n "$root" ]; then
	at_exit+=("umount '$root/proc' && rm -rf -- '$root$work'")
	mount -t proc proc "$root/proc"
fi
version=$(in_root "$java" -version 2>&1)
[[ $version = *\"@(1.8.0|11.|17.|21.|25.|26.)* ]] || skip "needs Java 8, 11, 17, 21, 25 or 26 as java"
source=$e2e_root/tests/workloads/JavaStacks.java
classes=$work/classes
mkdir -p "$root$classes"
javac --release 8 -Xlint:-options -g -d "$root$classes" "$source"

# start_java NAME MODE [OPTION...]: a process has the name of the file that it executes, also if that is a symbolic link.
start_java() {
	local name=$1 mode=$2
	ln -s "$java" "$root$classes/$name"
	local command=("$classes/$name" "${@:3}" -cp "$classes" JavaStacks "$mode")
	[ -z "$root" ] || command=(chroot "$root" "${command[@]}")
	start_background "$name" "${command[@]}"
	pids[$name]=$background_pid
}

readonly FREQUENCY=499 LEAST_CPU_US=3000000

method_total() { function_total "$1" "JavaStacks.$2"; }

# expect_share_of_main FILE METHOD PERCENT: of main().
expect_share_of_main() { expect_share "$1" "JavaStacks.$2" "$3" 2 "$(method_total "$1" 'main(String[])')"; }

# line_of TEXT: number of the line of the program with this text.
line_of() { grep -nF "$1" "$source" | cut -d: -f1; }

start_server
start_agent --on_cpu.frequency $FREQUENCY
declare -A pids cpu_before
# Without DebugNonSafepoints the JVM does not record to which inlined method each instruction belongs.
not_inlined=()
for method in sixty thirty ten; do
	not_inlined+=("-XX:CompileCommand=dontinline,JavaStacks.$method")
done
start_java jv_compiled shares "${not_inlined[@]}"
start_java jv_c1 lambda -XX:TieredStopAtLevel=1 "${not_inlined[@]}"
start_java jv_inlined shares -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints
start_java jv_interpreted shares -Xint
start_java jv_recursion recursion
start_java jv_copy copy

for program in "${!pids[@]}"; do
	is_named() { labels_of <(query_profile "$@") | grep -F 'JavaStacks.main(String[]) (JavaStacks.java:' >/dev/null; }
	expect_within 60s is_named "$program" "$(($(now_s) - 1))" "$(($(now_s) + 60))"
done
next_second
from=$second
for program in "${!pids[@]}"; do
	cpu_before[$program]=$(cpu_time_us "${pids[$program]}")
done
expect_within 90s have_run
next_second
wait_for_coverage "$second"
for program in "${!pids[@]}"; do
	end_process "${pids[$program]}"
done
for program in "${!pids[@]}"; do
	profile=$work/$program.json
	fetch_profile "$profile" "$program" "$from" $((second - 1))
	expect_exact_sums "$profile"
	expect_complete "$profile"
done

for program in jv_compiled jv_c1 jv_inlined jv_interpreted; do
	profile=$work/$program.json
	expect_share_of_main "$profile" 'sixty()' 60
	expect_share_of_main "$profile" 'thirty()' 30
	expect_share_of_main "$profile" 'ten()' 10
	expect_label "$profile" "JavaStacks.sixty() (JavaStacks.java:$(line_of 'sink = spin(60000)'))"
	if [ $program = jv_c1 ]; then
		line=$(line_of 'runnable.run()')
		expect_label "$profile" "JavaStacks.run(Runnable[]) (JavaStacks.java:$line)"
		callers='JavaStacks\.lambda\$main\$[0-2]\(\)<JavaStacks\$\$Lambda\.run\(\)<JavaStacks\.run\(Runnable\[\]\)'
	else
		expect_label "$profile" "JavaStacks.shares() (JavaStacks.java:$(line_of '		thirty();'))"
		callers='JavaStacks\.shares\(\)'
	fi
	wrong=$(callers_of "$profile" 'JavaStacks.spin(int)' |
		grep -vE "^JavaStacks\.(sixty|thirty|ten)\(\)<$callers<JavaStacks\.main\(String\[\]\)<" || true)
	[ -z "$wrong" ] || fail "callers of spin(): $wrong"
done

profile=$work/jv_recursion.json
deepest=$(callers_of "$profile" 'JavaStacks.work()' |
	awk -F'<' '{ n = 0; for (i = 1; i <= NF; i++) n += $i == "JavaStacks.descend(int)"; print n }' | sort -n | tail -n 1)
expect_equal "levels of descend() below work()" "$deepest" 51
expect_share_of_main "$profile" 'work()' 100

# System.arraycopy() is code that the JVM has generated for itself.
profile=$work/jv_copy.json
expect_share_of_main "$profile" 'copy(byte[], byte[])' 100
expect_at_least "percent of stubs below copy()" "$(awk -v a="$(value_of "$profile" StubRoutines)" \
	-v t="$(method_total "$profile" 'copy(byte[], byte[])')" 'BEGIN { printf "%.2f\n", 100 * a / t }')" 95
