#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the commands of README.md, word for word, on a bare Debian 12: debootstrap makes a new root folder that has only
# sudo, curl and the packages that README lists, and a clone of the committed files. The kernel is the host's. This test
# does not build the Debian packages that README mentions; deploy/debian/build.sh does.
#
#   sudo tests/readme/run.sh [--with-tests]
#
# Takes some ten minutes. --with-tests also runs `sudo ./tests/run.sh`, as in README. HEARTH_README_ROOT: the folder of the
# root, which the test then keeps (default: a new folder in /var/tmp, removed at the end).
set -euo pipefail

readonly SUITE=bookworm FIRST_LOOK_LIMIT_S=900 STOP_LIMIT_S=60

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repository=$(cd "$here/../.." && pwd)
with_tests=

say() { printf '[%(%H:%M:%S)T] %s\n' -1 "$*"; }
fail() {
	printf 'FAILED: %s\n' "$*" >&2
	exit 1
}

# ---- inside the root: run.sh inside [--with-tests]

# run_block NAME...: runs the commands of each block, as a user types them. A command that fails ends the block.
run_block() {
	local name
	for name in "$@"; do
		say "README, $name: $(head -n 1 "/readme/$name") ..."
		(cd /src/hearth && bash -euo pipefail "/readme/$name") </dev/null || fail "README's commands of $name end with status $?"
	done
}

# Runs quickstart, and presses Ctrl-C after it has printed the flame graph and the address of the page.
run_quickstart() {
	local log=/tmp/quickstart.log pid deadline=$((SECONDS + FIRST_LOOK_LIMIT_S))
	say "README, Try-1: $(cat /readme/Try-1)"
	# Ctrl-C reaches a process group. In the background the signals may be ignored: env restores them.
	set -m
	(cd /src/hearth && exec env --default-signal=HUP,INT,QUIT bash /readme/Try-1) >"$log" 2>&1 </dev/null &
	pid=$!
	set +m
	until grep -q 'running until Ctrl-C' "$log"; do
		kill -0 $pid 2>/dev/null || fail "quickstart ended: $(tail -n 20 "$log")"
		[ $SECONDS -lt $deadline ] || fail "no flame graph after $FIRST_LOOK_LIMIT_S s: $(tail -n 20 "$log")"
		sleep 1
	done
	kill -INT -- -$pid
	deadline=$((SECONDS + STOP_LIMIT_S))
	while kill -0 $pid 2>/dev/null; do
		[ $SECONDS -lt $deadline ] || fail "quickstart still runs after Ctrl-C: $(tail -n 5 "$log")"
		sleep 1
	done
	grep -E '^100\.0 %.* Total ' "$log" >/dev/null || fail "quickstart printed no flame graph of Total: $(cat "$log")"
	sed -n '/== this host/,$p' "$log" | cut -c1-100 | head -n 12
}

inside() {
	# shellcheck source=tests/readme/blocks.sh
	. /src/hearth/tests/readme/blocks.sh
	write_readme_blocks /src/hearth/README.md /readme
	say "blocks: $(cd /readme && echo *)"
	run_quickstart
	run_block Build-1 Install-1
	say "README, sections Install to Ask: run by the end-to-end test"
	(cd /src/hearth && HEARTH_BUILD=$PWD/build bash tests/e2e/84-the-commands-in-README-profile-a-fleet.sh) ||
		fail "README's walkthrough of a fleet ends with status $?"
	[ -z "$with_tests" ] || run_block Try-3
}

# ---- outside

outside() {
	local root=${HEARTH_README_ROOT:-} keep=1
	[ "$(id -u)" = 0 ] || fail "must be run as root: debootstrap, and the agent loads eBPF programs"
	[ -n "$root" ] || { root=$(mktemp -d /var/tmp/hearth-readme.XXXXXX) && keep=; }
	# shellcheck source=tests/support/debian_root.sh
	. "$repository/tests/support/debian_root.sh"
	make_debian_root $SUITE "$root" curl,sudo || fail "cannot make a bare Debian system"
	rm -rf -- "$root/src/hearth" "$root/readme" "$root/var/lib/hearth-quickstart"
	git clone -q --no-local "$repository" "$root/src/hearth"
	# The kernel removes the mounts when the last process of their namespace ends.
	root=$root unshare --mount --propagation private bash -euc '
		# The root must be a mount point, so that programs in it can create mount namespaces.
		mount --bind "$root" "$root"
		mount --rbind /proc "$root/proc"; mount --rbind /sys "$root/sys"; mount --rbind /dev "$root/dev"
		mount -t tmpfs none "$root/run"
		exec chroot "$root" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb \
			bash /src/hearth/tests/readme/run.sh inside "$@"' -- ${with_tests:+--with-tests}
	[ -n "$keep" ] || rm -rf -- "$root" "$root.log"
	say "README's commands work on a bare Debian 12"
}

role=outside
while [ $# -gt 0 ]; do
	case $1 in
	inside) role=inside ;;
	--with-tests) with_tests=1 ;;
	*)
		sed -n '3,/^set/s/^# \{0,1\}//p' "$0"
		exit 2
		;;
	esac
	shift
done
$role
