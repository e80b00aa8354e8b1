#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Boots Debian's kernels in virtual machines and runs the agent in them. Each kernel runs the same list of checks
# (checks/NN-<sentence>.sh). Prints a table, kernel x check. Exit status 0: no check failed.
#
#   tests/kernels/run.sh [--list] [--checks REGEX] [--ci] [--cache FOLDER] [--command TEXT] [KERNEL...]
#
# --ci: runs only the checks that CI runs on the kernel (docs/testing.md).
# --command: runs TEXT in a shell of the guest instead of the checks, and prints the console.
#
# KERNEL is a name in kernels.txt, or "all"; by default the kernels that CI runs. Downloads kernels from the mirror of this
# host's apt into $HEARTH_KERNELS_CACHE (default build/kernels). Does not need root. Writes the guests' consoles to logs/ in
# that folder. Exit status 77: this machine has no QEMU, or the mirror does not answer.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
	sed -n 's/^# \{0,1\}//; 4,14p' "${BASH_SOURCE[0]}"
	exit "$1"
}

pattern=. kernels=() command= ci=
while [ $# -gt 0 ]; do
	case $1 in
	--list)
		printf 'kernels:\n'
		kernel_rows | awk '{ printf "  %-10s %-6s %-18s%s\n", $1, $2, $3, $6 == "yes" ? " (CI)" : "" }'
		printf 'checks:\n'
		all_checks | sed 's/^/  /'
		exit 0
		;;
	--checks) pattern=${2:?--checks needs a regular expression}; shift 2 ;;
	--ci) ci=1; shift ;;
	--cache) HEARTH_KERNELS_CACHE=${2:?--cache needs a folder}; shift 2 ;;
	--command) command=${2:?--command needs the text of a command}; shift 2 ;;
	-h | --help) usage 0 ;;
	-*) usage 2 >&2 ;;
	*) kernels+=("$1"); shift ;;
	esac
done
[ ${#kernels[@]} -gt 0 ] || mapfile -t kernels < <(ci_kernel_names)
[ "${kernels[*]}" != all ] || mapfile -t kernels < <(kernel_names)
mapfile -t checks < <(all_checks | grep -E -- "$pattern")
[ ${#checks[@]} -gt 0 ] || kernels_fail "no check is named '$pattern'"
for program in cpio dpkg-deb apt-get readelf; do
	command -v "$program" >/dev/null || { echo "needs $program"; exit 77; }
done

trap end_machine EXIT
trap 'exit 130' INT TERM
declare -A results
status=0

# run_machine KERNEL MACHINE CHECK...: runs the checks in one boot.
run_machine() {
	local kernel=$1 machine=$2 cpus memory line log result check started=$SECONDS
	shift 2
	IFS='|' read -r cpus memory line <<<"$machine"
	log=$HEARTH_KERNELS_CACHE/logs/$kernel${line:+-$(tr -c 'A-Za-z0-9_\n' - <<<"$line")}.log
	boot "$kernel" "$HEARTH_KERNELS_CACHE/initramfs-$(kernel_field "$kernel" 2)" "$log" "$cpus" "$memory" "$line" "$@"
	printf '%s: %s%s: %d s\n' "$kernel" "$(tr -d '\r' <"$log" | sed -n 's/^@@kernel //p')" "${line:+ [$line]}" $((SECONDS - started))
	for check in "$@"; do
		result=$(result_of "$log" "$check")
		results[$kernel/$check]=$result
		printf '  %-50s %s\n' "$check" "$result"
		figures_of "$log" "$check" | sed 's/^/      /'
		if [ "${result%% *}" = FAILED ]; then
			status=1
			tail -n 60 "$log" | sed 's/^/    | /'
		fi
	done
}

# is_wanted CHECK KERNEL: without --ci, or CI runs the check on this kernel
is_wanted() {
	local wish
	[ -n "$ci" ] || return 0
	wish=$(check_header "$1" ci)
	[ -z "$wish" ] || [[ " $wish " == *" $2 "* ]]
}

# run_kernel NAME: runs all checks, with one boot for each kind of machine that they request.
run_kernel() {
	local kernel=$1 machine check selected
	while read -r machine; do
		selected=()
		for check in "${checks[@]}"; do
			[ "$(machine_of "$check")" != "$machine" ] || ! is_wanted "$check" "$kernel" || selected+=("$check")
		done
		[ ${#selected[@]} -eq 0 ] || run_machine "$kernel" "$machine" "${selected[@]}"
	done < <(for check in "${checks[@]}"; do machine_of "$check"; done | awk '!seen[$0]++')
}

print_table() {
	local check kernel result
	printf '\n%-52s' check
	printf '%-12s' "${kernels[@]}"
	printf '\n'
	for check in "${checks[@]}"; do
		printf '%-52s' "$check"
		for kernel in "${kernels[@]}"; do
			result=${results[$kernel/$check]:--}
			printf '%-12s' "${result%% *}"
		done
		printf '\n'
	done
}

# run_command KERNEL: runs the text of --command as the only check.
run_command() {
	local kernel=$1 log=$HEARTH_KERNELS_CACHE/logs/$1-command.log
	boot "$kernel" "$HEARTH_KERNELS_CACHE/initramfs-$(kernel_field "$kernel" 2)" "$log" "${HEARTH_KERNELS_CPUS:-1}" 1024 "" 00-command
	tr -d '\r' <"$log" | sed -n '/^@@kernel/,/^@@result/p'
}

# Fetch and build everything first, so that a machine that cannot do this reports it at once.
lock_cache
for kernel in "${kernels[@]}"; do
	fetch_kernel "$kernel"
done
for arch in $(for kernel in "${kernels[@]}"; do kernel_field "$kernel" 2; done | sort -u); do
	case $arch in
	amd64) emulator=qemu-system-x86_64 ;;
	*) emulator=qemu-system-aarch64 ;;
	esac
	command -v $emulator >/dev/null || { echo "needs $emulator"; exit 77; }
	if [ "$arch" != "$(dpkg --print-architecture)" ]; then
		"$kernels_dir/${arch}_build.sh" || exit
	fi
	# shellcheck disable=SC2046 # a list of tools
	build_initramfs "$arch" "$HEARTH_KERNELS_CACHE/initramfs-$arch" \
		$(for check in "${checks[@]}"; do check_header "$check" tools; done | tr ' ' '\n' | sort -u)
done
unlock_cache
if [ -n "$command" ]; then
	for kernel in "${kernels[@]}"; do
		run_command "$kernel"
	done
	exit 0
fi
for kernel in "${kernels[@]}"; do
	run_kernel "$kernel"
done
print_table
exit $status
