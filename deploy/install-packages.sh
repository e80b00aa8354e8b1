#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing of the named sections of packages.txt, and does nothing when nothing is missing.
#
#   deploy/install-packages.sh SECTION...         run, build, test, bench
#   deploy/install-packages.sh --missing SECTION...   prints what is missing, installs nothing
#
# HEARTH_INSTALL_LOG names the file that takes what apt says; on failure its end is printed.
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

# Names on standard input that are not installed, on standard output.
only_missing() {
	local installed
	installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null | sed -n 's/^installed //p')
	grep -vxF "$installed" || true
}

# Reads apt's machine-readable progress ("dlstatus:N:PERCENT:text") and shows one updating line, or on something that
# is not a terminal a line at every quarter.
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

# What kept apt from finishing: its own error lines, else the end of the log.
print_failure() {
	grep -E '^(E|W|dpkg: error|Err):?' "$log" | tail -n 20 >&2 || tail -n 20 "$log" >&2
	printf 'full log: %s\n' "$log" >&2
}

install_packages() {
	printf 'installing %d Debian packages\n' "$#"
	# Old package lists may still serve, for instance from a local disk: only the installation decides.
	run_apt update || printf '  package lists could not be refreshed, trying with those at hand\n'

	# --no-install-recommends: a recommended package would be one that the list does not name.
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
	die "this is not a Debian system (no apt-get); Hearth is built and tested on Debian 12. What it needs is listed in $list"

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
