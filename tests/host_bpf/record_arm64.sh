#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Records the images of arm64 in tests/host_bpf/images/ again: QEMU runs code of a cross compiler, and gdb finds the
# frames. Needs a build, and the packages gcc-aarch64-linux-gnu, libc6-dev-arm64-cross, qemu-user and gdb-multiarch,
# which only this script uses. See record.sh.
#
#   tests/host_bpf/record_arm64.sh [BUILD_FOLDER]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${1:-$here/../../build}
images=$here/images
folder=$(mktemp -d)
qemu=
trap '[ -z "$qemu" ] || kill "$qemu" 2>/dev/null || true; rm -rf "$folder"' EXIT

# The program's environment and path are on its stack, so they are part of the image.
readonly compile=(aarch64-linux-gnu-gcc -O2 -static -no-pie "$here/programs/recorded_program.c")
"${compile[@]}" -fomit-frame-pointer -o "$folder/program"
"${compile[@]}" -fno-omit-frame-pointer -fno-shrink-wrap -mbranch-protection=pac-ret -o "$folder/signed"

mkdir -p "$images/modules"
rm -f "$images"/arm64-*.zst "$images"/modules/arm64-*.zst

# image NAME ABOUT PROGRAM ARGUMENT...; the environment has the other settings of record_arm64.py.
image() {
	local name=$1 about=$2 program=$folder/$3
	shift 3
	rm -f "$folder/socket"
	# Vectors are switched off, because gdb would not know of them and could not read signal frames.
	env -i qemu-aarch64 -cpu max,sve=off,sme=off -g "$folder/socket" "$program" "$@" >/dev/null 2>&1 &
	qemu=$!
	while [ ! -S "$folder/socket" ]; do
		kill -0 "$qemu"
	done
	IMAGE=$folder/image ABOUT=$about MODULE=$("$build/bin/record_image" --module="$program" "$images") \
		MASK=${MASK:-ffffffffffff} ORACLE=${ORACLE:-gdb} \
		gdb-multiarch -nx -batch -ex "target remote $folder/socket" -x "$here/record_arm64.py" "$program" |
		grep -E '^(about|frame|cut)|rror'
	kill "$qemu" 2>/dev/null || true
	wait "$qemu" 2>/dev/null || true
	zstd -19 -q -f "$folder/image" -o "$images/arm64-$name.zst"
}

image recursion "a leaf at the end of 50 calls, without frame pointers" program recursion 50
CUT=depth image recursion-700 "more frames than fit" program recursion 700
image signal-stack "a handler on a separate stack; it interrupted a leaf with its caller in the link register" \
	program fault
image qsort "a callback of the C library" program qsort
image realigned "a frame of a size known at run time" program realigned 300
image large "a frame of 100 KB, its return address at the bottom" program large 1000
UNTIL=.plt image plt "an entry of the procedure linkage table, which has no rows" program large 1000
UNTIL=many_registers image first-instruction "the frame does not exist yet" program registers
UNTIL=many_registers STEPS=1 image after-push "a register and the return address are pushed" program registers
ORACLE=records image generated "code with a frame record and no call frame information" signed generated
ORACLE=records image signed-recursion "signed return addresses" signed recursion 50
ORACLE=records image signed-large "signed return addresses, and a frame of 100 KB" signed large 1000
ORACLE=records image signed-realigned "signed return addresses, and a frame of a size known at run time" \
	signed realigned 300
du -bc "$images"/*.zst "$images"/modules/* | tail -n 1
