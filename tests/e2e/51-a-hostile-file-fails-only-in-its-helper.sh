#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Hostile files: the server keeps answering, gives the reason why each has no table, and names the other files.
#
# This test runs beside others: it starts no agent and does not depend on the clock.
. "$(dirname "$0")/lib.sh"
need_tools curl jq gcc objcopy readelf python3

start_server

# hostile_program NAME BUILD_ID: builds a small program with debuginfo and this build-ID.
cat >"$work/program.c" <<'C'
static inline __attribute__((always_inline)) int inner(int x) { return x * 3; }
int outer(int x) { return inner(x) + 1; }
int main(int argc, char **argv) { (void)argv; return outer(argc); }
C
program() {
	gcc -O1 -g "-Wl,--build-id=0x$2" -o "$work/$1" "$work/program.c"
}

upload() {
	request PUT "/v1/debuginfo/$2" -T "$work/$1"
	say "$1: upload answers $status"
}

# table_of BUILD_ID: waits until the table is no longer pending, and prints its status and the reason.
is_decided() {
	request GET "/v1/debuginfo/$1/status"
	[ "$status" = 200 ] && [ "$(jq -r .table.status "$work/body")" != "table pending" ]
}
table_of() {
	expect_within 300s is_decided "$1" >&2
	jq -r '.table.status + ": " + .table.why' "$work/body"
}

# ---- a section that expands to gigabytes (zeros compress a thousandfold)
program bomb aaaa0000000000000000000000000000000000a1
python3 - "$work/bomb" "$work/section" <<'PY'
import struct, sys, zlib
# Elf64_Chdr: ZLIB, size, alignment; then 3 GiB of zeros
out = open(sys.argv[2], "wb")
out.write(struct.pack("<IIQQ", 1, 0, 3 << 30, 1))
c = zlib.compressobj(9)
for _ in range(3 << 10):
    out.write(c.compress(bytes(1 << 20)))
out.write(c.flush())
PY
objcopy --update-section .debug_str="$work/section" --set-section-flags .debug_str=readonly "$work/bomb" "$work/bomb.elf"
# objcopy does not set SHF_COMPRESSED: the flag is bit 11 of sh_flags.
python3 - "$work/bomb.elf" <<'PY'
import struct, sys
f = open(sys.argv[1], "r+b"); data = bytearray(f.read())
shoff = struct.unpack_from("<Q", data, 0x28)[0]; n, names = struct.unpack_from("<HH", data, 0x3c)
name_at = struct.unpack_from("<Q", data, shoff + names * 64 + 24)[0]
for i in range(n):
    at = shoff + i * 64
    name = name_at + struct.unpack_from("<I", data, at)[0]
    if data[name:data.index(0, name)] == b".debug_str":
        struct.pack_into("<Q", data, at + 8, struct.unpack_from("<Q", data, at + 8)[0] | 0x800)
f.seek(0); f.write(data)
PY
upload bomb.elf aaaa0000000000000000000000000000000000a1

# ---- thirty programs with random bytes in 5 % of their debug sections
for i in {1..30}; do
	id=$(printf 'bbbb%036d' "$i")
	program "mutant$i" "$id"
	python3 - "$work/mutant$i" "$i" <<'PY'
import random, struct, sys
random.seed(int(sys.argv[2])); path = sys.argv[1]
data = bytearray(open(path, "rb").read())
shoff = struct.unpack_from("<Q", data, 0x28)[0]; n, names = struct.unpack_from("<HH", data, 0x3c)
name_at = struct.unpack_from("<Q", data, shoff + names * 64 + 24)[0]
for i in range(n):
    at = shoff + i * 64
    name = name_at + struct.unpack_from("<I", data, at)[0]
    if data[name:data.index(0, name)].startswith(b".debug_"):
        offset, size = struct.unpack_from("<QQ", data, at + 24)
        for _ in range(max(1, size // 20)):
            data[offset + random.randrange(size)] = random.randrange(256)
open(path, "wb").write(data)
PY
	upload "mutant$i" "$id"
done

# ---- a line table of 300 MB with rows far beyond the code, compressed
program lines aaaa0000000000000000000000000000000000a2
objcopy --dump-section .debug_line="$work/line" "$work/lines"
python3 - "$work/line" <<'PY'
import struct, sys
data = open(sys.argv[1], "rb").read()
length, = struct.unpack_from("<I", data)
unit = data[4:4 + length]
# Each row advances; the end-of-sequence opcode of the original unit follows.
rows = bytes([0x21, 0x2f]) * (150 << 20)
unit = unit[:-3] + rows + unit[-3:]
open(sys.argv[1], "wb").write(struct.pack("<I", len(unit)) + unit + data[4 + length:])
PY
objcopy --update-section .debug_line="$work/line" "$work/lines" "$work/lines.long"
objcopy --compress-debug-sections=zlib "$work/lines.long" "$work/lines.elf"
rm "$work/line" "$work/lines.long"
upload lines.elf aaaa0000000000000000000000000000000000a2

# ---- a C++ name of 330 letters that demangles to hundreds of megabytes: each type is a pair of the previous type
name=_Z7explode1AIiiE
for digit in '' 0 1 2 3 4 5 6 7 8 9 A B C D E F G H I J K L M; do
	name+=S_IS${previous-0}_S${previous-0}_E
	previous=$(tr -d '\n' <<<"$(python3 -c "d='0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'; print(d[d.index('${previous-0}') + 1])")")
done
printf '	.text\n	.globl %s\n	.type %s,@function\n%s: ret\n	.size %s,1\n' "$name" "$name" "$name" "$name" >"$work/name.s"
gcc -O1 -g -Wl,--build-id=0xaaaa0000000000000000000000000000000000a3 -o "$work/name" "$work/program.c" "$work/name.s"
upload name aaaa0000000000000000000000000000000000a3
name_address=$(nm "$work/name" | awk -v name="$name" '$3 == name { print $1 }')

# ---- build-IDs that are paths
for id in ../../../../../../etc/x ..%2f..%2fx aaaa/../bbbb; do
	request PUT "/v1/debuginfo/$id" --path-as-is -T "$work/name"
	say "build-ID '$id': upload answers $status"
	case $status in 400 | 404 | 405) ;; *) fail "the build-ID '$id' was not refused: $status" ;; esac
	request GET "/buildid/$id/debuginfo" --path-as-is
	case $status in 400 | 404 | 405) ;; *) fail "the build-ID '$id' was not refused: $status" ;; esac
done

# ---- a valid program
program good cccc0000000000000000000000000000000000c1
upload good cccc0000000000000000000000000000000000c1

expect_equal "table of the valid program" "$(table_of cccc0000000000000000000000000000000000c1)" "ready: "
say "table of the bomb: $(table_of aaaa0000000000000000000000000000000000a1)"
for i in {1..30}; do
	say "table of mutant $i: $(table_of "$(printf 'bbbb%036d' "$i")")"
done

expect_equal "table of the long line table" "$(table_of aaaa0000000000000000000000000000000000a2)" "ready: "
expect_equal "table of the long name" "$(table_of aaaa0000000000000000000000000000000000a3)" "ready: "
request POST /v1/symbolize -H 'Content-Type: application/json' \
	-d "{\"build_id\": \"aaaa0000000000000000000000000000000000a3\", \"addresses\": [\"0x$name_address\"]}"
expect_equal "status of the query for the long name" "$status" 200
expect_at_most "bytes of the answer" "$(stat -c %s "$work/body")" 100000
grep -F explode "$work/body" >/dev/null || fail "the long name is not called 'explode': $(head -c 400 "$work/body")"

# The server is still the same process, and its memory did not grow by the size of the bomb.
is_alive "$server_pid" || fail "the server has ended"
expect_equal "status of readyz" "$(curl -s -m 5 -o /dev/null -w '%{http_code}' "$server_url/readyz")" 200
peak_kib=$(awk '/^VmHWM/ { print $2 }' "/proc/$server_pid/status")
expect_at_most "peak memory of the server, KiB" "$peak_kib" 400000
expect_equal "helpers still running" "$(pgrep -P "$server_pid" | wc -l)" 0
