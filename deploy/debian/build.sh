#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the Debian packages hearth, hearth-agent and hearth-symbolizer of this tree, and checks them with lintian.
#
#   deploy/debian/build.sh [FOLDER]     packages and log are left in FOLDER (default build/debian)
#
# Installs what is missing of the sections run, build and package of deploy/packages.txt, if it is run by root. The
# sources are copied to FOLDER/source and nothing is written elsewhere. HEARTH_MAINTAINER="Name <address>" names who
# builds the packages (default: DEBFULLNAME and DEBEMAIL, or git's user).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out=${1:-$root/build/debian}

die() {
	printf 'build.sh: %s\n' "$*" >&2
	exit 1
}

# The version is that of the build.
version() { sed -n 's/^project(hearth VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt"; }

maintainer() {
	local name=${DEBFULLNAME:-} address=${DEBEMAIL:-}
	[ -n "$name" ] || name=$(git -C "$root" config user.name 2>/dev/null) || name=
	[ -n "$address" ] || address=$(git -C "$root" config user.email 2>/dev/null) || address=
	printf '%s' "${HEARTH_MAINTAINER:-${name:-Hearth maintainers} <${address:-root@$(hostname -f)}>}"
}

# As dpkg wants them, one a line.
build_depends() {
	sed -n '/^\[build\]$/,/^\[/p' "$root/deploy/packages.txt" | sed -n 's/^[a-z0-9].*/ &,/p'
}

# What git knows or would add; without git, everything but build folders.
copy_sources() {
	if git -C "$root" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
		git -C "$root" ls-files -z --cached --others --exclude-standard | tar -C "$root" --null --ignore-failed-read -T - -c
	else
		tar -C "$root" --exclude='./build*' --exclude=./.git -c .
	fi | tar -C "$1" -x
}

write_debian_folder() {
	local source=$1 who=$2
	cp -R "$source/deploy/debian" "$source/debian"
	rm "$source/debian/build.sh" "$source/debian/control.in"
	# awk's -v would take a backslash for more than it is.
	BUILD_DEPENDS=$(build_depends) MAINTAINER=$who awk '
		/^@build_depends@$/ { print ENVIRON["BUILD_DEPENDS"]; next }
		{ sub(/@maintainer@/, ENVIRON["MAINTAINER"]); print }' \
		"$root/deploy/debian/control.in" >"$source/debian/control"
	printf 'hearth (%s) unstable; urgency=medium\n\n  * Build of the release.\n\n -- %s  %s\n' "$(version)" "$who" \
		"$(date -R -u -d "@$SOURCE_DATE_EPOCH")" >"$source/debian/changelog"
}

# The scripts of both daemons start them at installation, start them again after an upgrade, and stop them at removal. The
# condition in the agent's unit holds it back until a server is configured.
check_scripts() {
	local program scripts=$out/source/scripts
	for program in hearth-agent hearth-symbolizer; do
		rm -rf -- "$scripts"
		dpkg-deb -e "$out/${program}_"*.deb "$scripts"
		grep -q '_dh_action=restart' "$scripts/postinst" || die "$program is not restarted by an upgrade: its postinst"
		grep -q '_dh_action=start' "$scripts/postinst" || die "$program is not started by an installation: its postinst"
		grep -q "deb-systemd-invoke stop '$program.service'" "$scripts/prerm" || die "$program is not stopped by a removal: its prerm"
		grep -q "deb-systemd-helper purge '$program.service'" "$scripts/postrm" || die "$program stays enabled when purged: its postrm"
	done
}

# Under sudo the folders would otherwise belong to root, and the user's own next build would fail.
give_to_owner() {
	[ ! -d "$root/build/debian" ] || chown -R --reference="$root" "$root/build/debian"
	[ ! -d "$root/build" ] || chown --reference="$root" "$root/build"
}

[ $# -le 1 ] || die "usage: $0 [FOLDER]"
"$root/deploy/install-packages.sh" run build package
[ "$(id -u)" != 0 ] || trap give_to_owner EXIT
mkdir -p "$out"
out=$(cd "$out" && pwd)
rm -rf -- "$out/source" "$out"/*.deb "$out"/*.changes "$out"/*.buildinfo
mkdir "$out/source"

# The same sources give the same packages.
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
	SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct 2>/dev/null) || SOURCE_DATE_EPOCH=$(date +%s)
fi
export SOURCE_DATE_EPOCH

copy_sources "$out/source"
write_debian_folder "$out/source" "$(maintainer)"
printf 'building in %s, log in %s\n' "$out/source" "$out/build.log"
(cd "$out/source" && dpkg-buildpackage -b -us -uc) >"$out/build.log" 2>&1 || {
	grep -nE 'error:|Error|FAILED' "$out/build.log" | head -n 20 >&2
	die "the build failed: $out/build.log"
}
check_scripts
lintian --fail-on error,warning "$out"/*.changes || die "lintian found something"
rm -rf -- "$out/source"
printf '%s\n' "$out"/*.deb
