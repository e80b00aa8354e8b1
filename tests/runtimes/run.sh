#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the end-to-end tests of languages with many versions of their runtimes, from other Debian suites and from npm.
#
#   sudo tests/runtimes/run.sh --all | --list | NAME...     names: the first column of matrix.txt
#
# Prints one line for each version, and exits with 1 if a test failed. The systems stay in $HEARTH_RUNTIMES_CACHE (default:
# build/runtimes; about 1 GiB), logs in its folder logs. Needs debootstrap, and npm for the versions of Node.js.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
: "${HEARTH_BUILD:=$root/build}"
cache=${HEARTH_RUNTIMES_CACHE:-$HEARTH_BUILD/runtimes}
readonly TEST_LIMIT_S=600
export HEARTH_BUILD
# shellcheck source=tests/support/debian_root.sh
. "$root/tests/support/debian_root.sh"

rows() { grep -vE '^(#|$)' "$here/matrix.txt"; }

usage() {
	sed -n 's/^# \{0,1\}//; 4,9p' "${BASH_SOURCE[0]}"
	exit 2
}

# packages_of SUITE: all packages that rows of this suite need. A system is made once, with all of them.
packages_of() { rows | awk -v suite="$1" '$3 == suite && $4 != "-" { gsub(",", "\n", $4); print $4 }' | sort -u; }

# prepare_suite SUITE: sets $value to the root folder of the suite, with the packages of its rows. Returns 1 and prints the
# error if that fails.
prepare_suite() {
	local folder=$cache/$1 packages
	mapfile -t packages < <(packages_of "$1")
	make_debian_root "$1" "$folder" || return 1
	[ "$(cat "$folder/installed" 2>/dev/null)" = "${packages[*]}" ] || {
		install_in_root "$folder" "${packages[@]}" || return 1
		printf '%s\n' "${packages[*]}" >"$folder/installed"
	}
	value=$folder
}

# prepare_npm PACKAGE: sets $value to the program of an npm package that is named like the program.
prepare_npm() {
	local folder=$cache/npm/$1
	[ -x "$folder/node_modules/.bin/${1%@*}" ] || {
		mkdir -p "$folder"
		npm install --silent --no-audit --no-fund --prefix "$folder" "$1" >"$folder.log" 2>&1 </dev/null || {
			printf 'npm install %s: %s\n' "$1" "$(tail -n 3 "$folder.log")" >&2
			return 1
		}
	}
	value=$(readlink -f "$folder/node_modules/.bin/${1%@*}")
}

# check NAME TEST SOURCE PACKAGES VARIABLES: runs one test. Returns its exit status.
check() {
	local log=$cache/logs/$1.log value= variable environment=() status=0 started=$SECONDS result
	{
		case $3 in
		host) ;;
		npm) prepare_npm "$4" ;;
		*) prepare_suite "$3" ;;
		esac
	} >"$log" 2>&1 || status=1
	for variable in $(tr , " " <<<"${5#-}"); do
		[[ $variable == *=* ]] || variable+="=$value"
		environment+=("$variable")
	done
	[ $status -ne 0 ] ||
		timeout --kill-after=20 $TEST_LIMIT_S env "${environment[@]}" bash "$root/tests/e2e/$2"-*.sh >>"$log" 2>&1 </dev/null ||
		status=$?
	case $status in
	0) result=ok ;;
	77) result=skipped ;;
	*) result=FAILED ;;
	esac
	printf '%-8s %s (%d s)%s\n' $result "$1" $((SECONDS - started)) "$([ $status -eq 0 ] || printf ': %s' "$(reason_in "$log")")"
	return $status
}

# reason_in LOG: the failed assertion, else the last line.
reason_in() { grep -m 1 -oE 'FAILED: .*' "$1" || tail -n 1 "$1"; }

[ $# -gt 0 ] || usage
case $1 in
--list)
	rows | awk '{ print $1 }'
	exit
	;;
--all) mapfile -t names < <(rows | awk '{ print $1 }') ;;
-*) usage ;;
*) names=("$@") ;;
esac
[ "$(id -u)" = 0 ] || {
	printf 'FAILED: must be run as root: debootstrap, and the agent loads eBPF programs\n' >&2
	exit 1
}
mkdir -p "$cache/logs"

n_failed=0 n_skipped=0
for name in "${names[@]}"; do
	row=$(rows | awk -v name="$name" '$1 == name')
	[ -n "$row" ] || {
		printf 'FAILED: no row %s in %s\n' "$name" "$here/matrix.txt" >&2
		exit 2
	}
	# shellcheck disable=SC2086 # a row is several words
	check $row
	case $? in
	0) ;;
	77) n_skipped=$((n_skipped + 1)) ;;
	*) n_failed=$((n_failed + 1)) ;;
	esac
done
printf '%d versions, %d failed, %d skipped; logs: %s\n' ${#names[@]} $n_failed $n_skipped "$cache/logs"
[ $n_failed -eq 0 ]
