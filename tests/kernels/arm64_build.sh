#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Cross-builds our programs and the workloads for arm64, for the guests of run.sh, which calls this by itself.
#
#   tests/kernels/arm64_build.sh       into $HEARTH_BUILD_ARM64 (default build-arm64)
#
# Headers, libraries and the guest's tools are Debian's packages for arm64, from the mirror that this host's apt uses,
# unpacked into $HEARTH_KERNELS_CACHE/sysroot-arm64: the section `arm64-root` of deploy/packages.txt, and what the section
# `build` has of libraries. Nothing is installed, and the host's dpkg does not hear of another architecture. Exit status
# 77: a tool of the section `arm64` is not here, or the mirror does not answer.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly SUITE=bookworm
sysroot=$(sysroot_of arm64)
build=$(build_of arm64)

packages_of() {
	sed -n "/^\[$1\]\$/,/^\[/p" "$kernels_root/deploy/packages.txt" | grep -E '^[a-z0-9]'
}

wanted_packages() {
	packages_of arm64-root
	packages_of build | grep -E -- '-dev$'
}

# Absolute links of the packages would lead out of the sysroot.
make_links_relative() {
	local link
	while IFS= read -r -d '' link; do
		ln -sfnr "$1$(readlink "$link")" "$link"
	done < <(find "$1" -type l -lname '/*' -print0)
}

# Left alone while it has all that is wanted; remove it to get newer packages.
make_sysroot() {
	local wanted folder
	wanted=$(wanted_packages | sort -u)
	[ "$(cat "$sysroot/packages" 2>/dev/null)" != "$wanted" ] || return 0
	update_suite $SUITE arm64 || kernels_skip "the mirror $(host_mirror) does not give the list of packages of $SUITE for arm64"
	# shellcheck disable=SC2086 # many packages
	apt_in $SUITE arm64 apt-get -qq --yes --no-install-recommends --download-only install $wanted >&2 ||
		kernels_skip "the mirror $(host_mirror) does not give the packages for arm64"
	folder=$(unfinished_folder)
	# Libraries and programs have their places in /usr here as they have on a Debian host, where /lib and /bin are links.
	mkdir -p "$folder"/usr/{bin,sbin,lib}
	ln -s usr/bin usr/sbin usr/lib "$folder/"
	find "$HEARTH_KERNELS_CACHE/apt/$SUITE-arm64/cache/archives" -name '*.deb' -print0 |
		xargs -0 -n 1 -P "$(nproc)" bash -c 'dpkg-deb --fsys-tarfile "$1" | tar --extract --directory "$0" \
			--keep-directory-symlink --exclude "./usr/share/doc/*" --exclude "./usr/share/man/*"' "$folder" ||
		kernels_fail "cannot unpack the packages for arm64"
	make_links_relative "$folder"
	printf '%s\n' "$wanted" >"$folder/packages"
	rm -rf -- "$sysroot"
	mv "$folder" "$sysroot"
}

for tool in aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ cmake ninja apt-get dpkg-deb; do
	command -v $tool >/dev/null || { echo "needs $tool"; exit 77; }
done
lock_cache
mkdir -p "$build"
make_sysroot
{
	cmake -S "$kernels_root" -B "$build" -G Ninja -DHEARTH_TESTS=ON \
		-DCMAKE_TOOLCHAIN_FILE="$kernels_dir/arm64.cmake" -DHEARTH_SYSROOT="$sysroot" &&
		cmake --build "$build" --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" --target \
			hearth-agent hearth-symbolizer hearth workloads cpu_cycles
} >"$build/build.log" 2>&1 || {
	grep -nE 'FAILED:|error:|CMake Error' "$build/build.log" | head -n 20
	kernels_fail "cannot build for arm64: see $build/build.log"
}
