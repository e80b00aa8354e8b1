#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Records the images of x86-64 in tests/host_bpf/images/ again. Needs a build. The images depend on the compiler and
# the C library, so check the printed stacks.
#
#   tests/host_bpf/record.sh [BUILD_FOLDER]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${1:-$here/../../build}
images=$here/images
recorder=$build/bin/record_image
# The program's path is on its stack, so it is part of the image.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
program=$folder/program

mkdir -p "$images/modules"
rm -f "$images"/x86-64-*.zst "$images"/modules/x86-64-*.zst
gcc -O2 -fomit-frame-pointer -Wl,-z,lazy "$here/programs/recorded_program.c" -o "$program"

# image NAME ABOUT OPTION... -- ARGUMENT...
image() {
	local name=$1 about=$2 options=()
	shift 2
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	"$recorder" --about="$about" "${options[@]}" "$images" "x86-64-$name" "$program" "$@"
}

image recursion-400 "400 calls of one function without frame pointers" -- recursion 400
image recursion-700 "more frames than fit" --cut=depth -- recursion 700
image signal-stack "a handler on a separate stack; it interrupted a leaf" -- fault
image qsort "a callback of the C library" -- qsort
image realigned "a frame aligned beyond 16 bytes: the CFA is in memory" -- realigned 300
image plt "after the push of a procedure linkage table's entry" --until=.plt --steps=2 -- bind
image resolve "the dynamic linker's entry, with a CFA based on rbx" --until=.plt --steps=12 -- bind
image fixup "a function that the dynamic linker's entry calls" --until=.plt --steps=90 -- bind
image first-instruction "the frame does not exist yet" --until=many_registers -- registers
image after-push "a register is pushed" --until=many_registers --steps=1 -- registers
image return "all registers are popped" --until=many_registers --until-return -- registers
image generated "code with a frame pointer but without call frame information, between two functions with it" -- generated
"$recorder" --about="a program of the distribution: writing its last line" --system-call=1 "$images" x86-64-sort \
	/usr/bin/sort /usr/share/common-licenses/BSD
du -bc "$images"/*.zst "$images"/modules/* | tail -n 1
