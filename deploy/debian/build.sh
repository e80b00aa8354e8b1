#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the Debian packages hearth, hearth-agent and hearth-symbolizer of this tree, and checks them with lintian.
#
#   deploy/debian/build.sh [FOLDER]     writes packages and log to FOLDER (default build/debian)
#
# Run by root, it installs missing packages of the sections run, build and package of deploy/packages.txt. It copies the
# sources to FOLDER/source and writes nothing outside FOLDER. HEARTH_MAINTAINER="Name <address>" is the maintainer of the
# packages (default: DEBFULLNAME and DEBEMAIL, or git's user).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out=${1:-$root/build/debian}

die() {
	printf 'build.sh: %s\n' "$*" >&2
	exit 1
}

# Prints the version of the project.
version() { sed -n 's/^project(hearth VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt"; }

maintainer() {
	local name=${DEBFULLNAME:-} address=${DEBEMAIL:-}
	[ -n "$name" ] || name=$(git -C "$root" config user.name 2>/dev/null) || name=
	[ -n "$address" ] || address=$(git -C "$root" config user.email 2>/dev/null) || address=
	printf '%s' "${HEARTH_MAINTAINER:-${name:-Hearth maintainers} <${address:-root@$(hostname -f)}>}"
}

# Prints the packages of the section build in the form of Build-Depends.
build_depends() {
	sed -n '/^\[build\]$/,/^\[/p' "$root/deploy/packages.txt" | sed -n 's/^[a-z0-9].*/ &,/p'
}

# copy_sources FOLDER: copies the files that git tracks or would add. Without git, all files except build folders.
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
	# The environment is used because awk's -v interprets backslashes.
	BUILD_DEPENDS=$(build_depends) MAINTAINER=$who awk '
		/^@build_depends@$/ { print ENVIRON["BUILD_DEPENDS"]; next }
		{ sub(/@maintainer@/, ENVIRON["MAINTAINER"]); print }' \
		"$root/deploy/debian/control.in" >"$source/debian/control"
	printf 'hearth (%s) unstable; urgency=medium\n\n  * Build of the release.\n\n -- %s  %s\n' "$(version)" "$who" \
		"$(date -R -u -d "@$SOURCE_DATE_EPOCH")" >"$source/debian/changelog"
}

# Checks that the scripts of both packages start the daemon at installation, restart it after an upgrade, and stop it at
# removal. The condition in the agent's unit prevents its start until a server is configured.
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

# Under sudo the folders belong to root. Gives them to the user, whose next build would otherwise fail.
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

# Makes builds reproducible: equal sources result in equal packages.
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
