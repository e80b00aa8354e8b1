# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Functions that make the root folder of a Debian system, for tests that need another suite or a bare system. They run as
# root.

# host_mirror: prints the mirror of this host's apt, without a slash at the end. Prints nothing if there is none.
host_mirror() {
	# Some of these files do not exist.
	{ cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null || true; } |
		sed -nE 's/^(URIs:|deb (\[[^]]*\] )?)[[:space:]]*([a-z]+:[^ ]*\/debian)\/?([[:space:]].*)?$/\3/p' | head -n 1
}

# make_debian_root SUITE FOLDER [PACKAGE,...]: a minimal system of this suite with these packages. Writes a log to FOLDER.log.
# Does nothing if FOLDER/made exists. Prints the error and returns 1 if it fails.
make_debian_root() {
	local suite=$1 folder=$2 packages=ca-certificates${3:+,$3} mirror
	[ ! -e "$folder/made" ] || return 0
	mirror=$(host_mirror)
	[ -n "$mirror" ] || {
		printf 'no Debian mirror found in /etc/apt\n' >&2
		return 1
	}
	command -v debootstrap >/dev/null || {
		printf 'debootstrap is not installed: apt-get install debootstrap\n' >&2
		return 1
	}
	[ ! -e "$folder" ] || rmdir -- "$folder" || return 1
	rm -rf -- "$folder.unfinished"
	mkdir -p "$folder.unfinished"
	debootstrap --variant=minbase --include="$packages" "$suite" "$folder.unfinished" "$mirror" >"$folder.log" 2>&1 </dev/null || {
		printf 'debootstrap %s: %s\n' "$suite" "$(tail -n 3 "$folder.log")" >&2
		return 1
	}
	printf 'deb %s %s main\n' "$mirror" "$suite" >"$folder.unfinished/etc/apt/sources.list"
	[ "$suite" = sid ] ||
		printf 'deb %s-security %s-security main\n' "$mirror" "$suite" >>"$folder.unfinished/etc/apt/sources.list"
	cp /etc/resolv.conf /etc/hosts "$folder.unfinished/etc/"
	: >"$folder.unfinished/made"
	mv -- "$folder.unfinished" "$folder"
}

# install_in_root FOLDER PACKAGE...: installs packages with apt in such a system. Writes a log to FOLDER.log. Prints the
# error and returns 1 if it fails.
install_in_root() {
	local folder=$1
	shift
	# Some packages need /proc to be installed. The mount ends with the last process of the namespace.
	folder=$folder unshare --mount --propagation private bash -euc '
		mount --rbind /proc "$folder/proc"
		run=(chroot "$folder" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive)
		# A mirror may be a copy of a certain day.
		"${run[@]}" apt-get -o Acquire::Check-Valid-Until=false update
		"${run[@]}" apt-get install -y --no-install-recommends "$@"' -- "$@" >"$folder.log" 2>&1 </dev/null || {
		printf 'apt-get install %s in %s: %s\n' "$*" "$folder" "$(grep -m 3 '^E:' "$folder.log" || tail -n 3 "$folder.log")" >&2
		return 1
	}
}
