#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
#   collect-root.sh FOLDER PROGRAM...
#
# Creates the root file system of an image in FOLDER: the programs in /usr/bin, their libraries with licences, the
# certificates of the authorities that are trusted for https, and the users root, hearth and nobody. It has no shell.
set -euo pipefail

[ $# -ge 2 ] || {
	printf 'usage: %s FOLDER PROGRAM...\n' "$0" >&2
	exit 2
}
root=$1
shift

# copy FILE: copies it to the same path below $root. Copies the target of a symbolic link.
copy() { install -D -m "$(stat -L -c %a "$1")" "$(readlink -f "$1")" "$root$1"; }

# licence_of FILE: copies the licence of its package. /lib is a link to /usr/lib, and packages list libraries by either
# path.
licence_of() {
	local package
	package=$({ dpkg-query -S "$1" || dpkg-query -S "/usr$1"; } 2>/dev/null | head -n 1 | cut -d: -f1)
	[ -n "$package" ] || {
		printf 'collect-root: no package has %s\n' "$1" >&2
		return 1
	}
	copy "/usr/share/doc/$package/copyright"
}

for program in "$@"; do
	install -D -m 755 "$program" "$root/usr/bin/${program##*/}"
	strip --strip-debug "$root/usr/bin/${program##*/}"
	ldd "$program" >"$root/libraries"
	! grep 'not found' "$root/libraries" >&2
	# Lines are "libz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x...)"; that of the loader has no arrow.
	for library in $(grep -o '/[^ ]*' "$root/libraries"); do
		[ ! -e "$root$library" ] || continue
		copy "$library"
		licence_of "$library"
	done
	rm "$root/libraries"
done

copy /etc/ssl/certs/ca-certificates.crt
mkdir -p "$root/proc" "$root/sys" "$root/etc/hearth"
install -d -m 1777 "$root/tmp"
install -d -m 700 "$root/var/lib/hearth-agent"
printf 'root:x:0:0:root:/:/\nhearth:x:10001:10001:hearth:/:/\nnobody:x:65534:65534:nobody:/:/\n' >"$root/etc/passwd"
printf 'root:x:0:\nhearth:x:10001:\nnogroup:x:65534:\n' >"$root/etc/group"
printf 'hosts: files dns\n' >"$root/etc/nsswitch.conf"
