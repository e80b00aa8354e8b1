#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs the missing packages of the given sections of packages.txt.
#
#   deploy/install-packages.sh SECTION...             run, build, test, bench, ...
#   deploy/install-packages.sh --missing SECTION...   prints the missing packages, installs nothing
#
# Writes the output of apt to the file HEARTH_INSTALL_LOG (default: a temporary file). On failure it prints apt's errors.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
list=$here/packages.txt

die() {
	printf 'install-packages: %s\n' "$*" >&2
	exit 1
}

usage() {
	printf 'usage: %s [--missing] SECTION...\nsections: %s\n' "$0" "$(sections | tr '\n' ' ')" >&2
	exit 2
}

sections() {
	sed -n 's/^\[\(.*\)\]$/\1/p' "$list"
}

# packages_of SECTION
packages_of() {
	awk -v section="[$1]" '
		/^\[/ { inside = ($0 == section) }
		inside && /^[a-z0-9]/ { print $1 }' "$list"
}

# Reads names of packages on standard input and prints those that are not installed.
only_missing() {
	local installed
	installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null | sed -n 's/^installed //p')
	grep -vxF "$installed" || true
}

# Reads apt's machine-readable progress ("dlstatus:N:PERCENT:text"). On a terminal it updates one line; otherwise it prints
# a line at every quarter.
show_progress() {
	local kind percent text shown=-1
	while IFS=: read -r kind _ percent text; do
		percent=${percent%%.*}
		case $kind in
		dlstatus) text="downloading" ;;
		pmstatus) text="installing" ;;
		*) continue ;;
		esac
		if [ -t 1 ]; then
			printf '\r  %s packages %3d %%\033[K' "$text" "$percent"
		elif [ "$text$((percent / 25))" != "$shown" ]; then
			shown=$text$((percent / 25))
			printf '  %s packages %3d %%\n' "$text" "$percent"
		fi
	done
	[ ! -t 1 ] || printf '\r\033[K'
}

run_apt() {
	DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q -y -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 \
		-o Acquire::Retries=3 "$@" >>"$log" 2>&1 </dev/null
}

# Prints apt's error lines, or else the end of the log.
print_failure() {
	grep -E '^(E|W|dpkg: error|Err):?' "$log" | tail -n 20 >&2 || tail -n 20 "$log" >&2
	printf 'full log: %s\n' "$log" >&2
}

install_packages() {
	printf 'installing %d Debian packages\n' "$#"
	# The installation may succeed with old package lists, so this failure is not fatal.
	run_apt update || printf '  cannot update the package lists, using the existing ones\n'

	# --no-install-recommends: install only packages of the list and their dependencies.
	local result=0
	{ run_apt install --no-install-recommends -o APT::Status-Fd=3 "$@" 3>&1 1>>"$log" || touch "$log.failed"; } |
		show_progress
	if [ -e "$log.failed" ]; then
		rm -f "$log.failed"
		result=1
		print_failure
	fi
	return $result
}

[ -r "$list" ] || die "cannot read '$list'"
only_list=
if [ "${1:-}" = --missing ]; then
	only_list=1
	shift
fi
[ $# -gt 0 ] || usage
for section in "$@"; do
	sections | grep -qxF -- "$section" || usage
done

command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
	die "this is not a Debian system (no apt-get); Hearth is built and tested on Debian 12. $list lists the packages that it needs"

mapfile -t missing < <(for section in "$@"; do packages_of "$section"; done | sort -u | only_missing)
if [ -n "$only_list" ]; then
	[ ${#missing[@]} -eq 0 ] || printf '%s\n' "${missing[@]}"
	exit 0
fi
[ ${#missing[@]} -gt 0 ] || exit 0

[ "$(id -u)" = 0 ] || die "needs root to install: ${missing[*]}"
log=${HEARTH_INSTALL_LOG:-}
if [ -z "$log" ]; then
	log=$(mktemp /tmp/hearth-install.XXXXXX)
	trap 'status=$?; [ $status -ne 0 ] || rm -f "$log"' EXIT
fi
install_packages "${missing[@]}"
