#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Cross-builds our programs and the workloads for arm64. run.sh calls this script for arm64 guests.
#
#   tests/kernels/arm64_build.sh       builds in the folder $HEARTH_BUILD_ARM64 (default build-arm64)
#
# apt downloads headers, libraries and the guest's tools as Debian packages for arm64 from this host's mirror, and the
# script unpacks them into $HEARTH_KERNELS_CACHE/sysroot-arm64: the section `arm64-root` of deploy/packages.txt, and the
# libraries of the section `build`. Nothing is installed, and the host's dpkg keeps its list of architectures. Exit status
# 77: a tool of the section `arm64` is missing, or the mirror does not answer.
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

# Make the absolute links of the packages relative, so that they stay inside the sysroot.
make_links_relative() {
	local link
	while IFS= read -r -d '' link; do
		ln -sfnr "$1$(readlink "$link")" "$link"
	done < <(find "$1" -type l -lname '/*' -print0)
}

# The sysroot is kept while it has all wanted packages; remove it to get newer ones.
make_sysroot() {
	local wanted folder
	wanted=$(wanted_packages | sort -u)
	[ "$(cat "$sysroot/packages" 2>/dev/null)" != "$wanted" ] || return 0
	update_suite $SUITE arm64 || kernels_skip "the mirror $(kernel_mirror) does not provide the list of packages of $SUITE for arm64"
	# shellcheck disable=SC2086 # a list of packages
	apt_in $SUITE arm64 apt-get -qq --yes --no-install-recommends --download-only install $wanted >&2 ||
		kernels_skip "the mirror $(kernel_mirror) does not provide the packages for arm64"
	folder=$(unfinished_folder)
	# As on a Debian host, libraries and programs are in /usr, and /lib and /bin are links.
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
