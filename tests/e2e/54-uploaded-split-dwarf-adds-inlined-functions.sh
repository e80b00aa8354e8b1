#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Programs of GCC and clang with split DWARF: the program alone gives names of functions, and its status says that the .dwp
# is missing. With the .dwp the server shows inlined functions and lines, as for the same program without split DWARF.
#
# This test runs beside others: it starts no agent and does not depend on the clock.
. "$(dirname "$0")/lib.sh"
need_tools curl jq gcc clang llvm-dwp dwp readelf nm

start_server

mkdir "$work/build"
cat >"$work/build/outer.c" <<'C'
int inner_unit(int x);
volatile int sink;
static inline __attribute__((always_inline)) int multiply(int x) { return sink * x; }
__attribute__((noinline)) int outer(int x) { return multiply(x) + inner_unit(x); }
int main(int argc, char **argv) { (void)argv; return outer(argc); }
C
cat >"$work/build/inner.c" <<'C'
extern volatile int sink;
static inline __attribute__((always_inline)) int divide(int x) { return sink / (x + 1); }
__attribute__((noinline)) int inner_unit(int x) { return divide(x) - 1; }
C

# build COMPILER DWARF_VERSION PACKER UNIT...: builds $program with a .dwp beside it, and $program.whole with its DWARF
# inside. The packer `hearth` leaves .dwo files: binutils' packer crashes on DWARF 5, LLVM's never ends with GCC's C units.
build() {
	program=$work/build/$1-$2
	(cd "$work/build" && rm -f ./*.o ./*.dwo &&
		"$1" -O2 -g "-gdwarf-$2" -gsplit-dwarf -c "${@:4}" &&
		"$1" "-Wl,--build-id=sha1" ./*.o -o "$program" &&
		"$1" -O2 -g "-gdwarf-$2" "-Wl,--build-id=sha1" "${@:4}" -o "$program.whole" &&
		{ [ "$3" = hearth ] || "$3" -e "$program" -o "$program.dwp"; })
	build_id=$(readelf -n "$program" 2>/dev/null | sed -n 's/.*Build ID: //p')
}

# frames_of FILE BUILD_ID FUNCTION: prints the server's frames for each byte of the function, files without folders.
frames_of() {
	local start size
	read -r start size <<<"$(nm -S "$1" | awk -v name="$3" '$4 == name { print $1, $2 }')"
	jq -nc --arg id "$2" --argjson at "$((16#$start))" --argjson size "$((16#$size))" \
		'{ build_id: $id, addresses: [range(0; $size) | . + $at] }' >"$work/question.json"
	request POST /v1/symbolize --data-binary "@$work/question.json"
	[ "$status" = 200 ] || fail "/v1/symbolize answers $status"
	jq -c '[.frames[] | [{ function, file, line }, .inlined_into[]?]
		| map([.function, (.file // "" | sub(".*/"; "")), .line])]' "$work/body"
}

is_ready() {
	request GET "/v1/debuginfo/$build_id/status"
	[ "$(jq -r .table.status "$work/body")" = ready ]
}
is_complete() { is_ready && [ "$(jq -r .table.why "$work/body")" = "" ]; }

check() {
	build "$@"
	say "$1, DWARF $2, packed by $3"
	"$hearth" upload --server "$server_url" "$program"
	frames_of "$program" "$build_id" outer >/dev/null
	expect_within 60s is_ready
	frames_of "$program" "$build_id" outer >"$work/before.json"
	jq -e 'all(.[][]; .[0] == "outer")' "$work/before.json" >/dev/null || fail "without the .dwp: $(cat "$work/before.json")"
	is_ready
	jq -e '.table.why | contains("upload its .dwp")' "$work/body" >/dev/null || fail "the status does not say that the .dwp is missing: $(cat "$work/body")"

	if [ "$3" = hearth ]; then
		"$hearth" upload --server "$server_url" --split-of "$build_id" "$work"/build/*.dwo
	else
		"$hearth" upload --server "$server_url" "$program" "$program.dwp"
	fi >"$work/upload.txt" 2>&1 || fail "$(cat "$work/upload.txt")"
	frames_of "$program" "$build_id" outer >/dev/null
	expect_within 60s is_complete
	"$hearth" upload --server "$server_url" "$program.whole"
	whole_id=$(readelf -n "$program.whole" 2>/dev/null | sed -n 's/.*Build ID: //p')
	for function in outer inner_unit main; do
		frames_of "$program" "$build_id" "$function" >"$work/split.json"
		frames_of "$program.whole" "$whole_id" "$function" >"$work/whole.json"
		cmp "$work/split.json" "$work/whole.json" || fail "$function: $(cat "$work/split.json"), expected $(cat "$work/whole.json")"
	done
	frames_of "$program" "$build_id" outer >"$work/after.json"
	jq -e 'any(.[]; map(.[0]) == ["multiply", "outer"] and all(.[]; .[1] == "outer.c" and .[2] > 0))' \
		"$work/after.json" >/dev/null || fail "with the .dwp: $(cat "$work/after.json")"
}

check gcc 4 dwp outer.c inner.c
check gcc 5 hearth outer.c inner.c
check clang 4 llvm-dwp outer.c inner.c
check clang 5 llvm-dwp outer.c inner.c

# A .dwp that the server has is not sent again. A .dwp without its program beside it needs --split-of.
"$hearth" upload --server "$server_url" "$program.dwp" | grep -F "not needed" >/dev/null || fail "the .dwp was sent again"
mv "$program.dwp" "$work/elsewhere.dwp"
"$hearth" upload --server "$server_url" "$work/elsewhere.dwp" >"$work/upload.txt" 2>&1 && fail "the .dwp was accepted without its program"
grep -F -- --split-of "$work/upload.txt" >/dev/null || fail "$(cat "$work/upload.txt")"
"$hearth" upload --server "$server_url" --force --split-of "$build_id" "$work/elsewhere.dwp"

# The server does not use the .dwp of another program, and its status reports that.
"$hearth" upload --server "$server_url" --split-of "$build_id" "$work/build/clang-4.dwp"
reports_the_mismatch() { is_ready && jq -e '.table.why | contains("not the one of this build")' "$work/body" >/dev/null; }
frames_of "$program" "$build_id" outer >/dev/null
expect_within 60s reports_the_mismatch
"$hearth" debuginfo --server "$server_url" ls | grep -F "split DWARF" >/dev/null || fail "the list has no split DWARF"
