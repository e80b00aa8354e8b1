#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# symbol tables: speed of compiling, size, memory, and lookups of whole inline chains
# (compared with llvm-symbolizer, eu-addr2line and GSYM)
#
# The files are the debuginfo of Debian's ceph-osd (630 MB expanded) and, with
# HEARTH_BENCH_KERNEL=1, of Debian's kernel: downloads of 512 and 858 MB. They are kept in
# HEARTH_BENCH_DATA if that is set. HEARTH_BENCH_FILES names other files.
. "$(dirname "$0")/figures.sh"

need_tools apt-get dpkg eu-elfcompress eu-addr2line llvm-symbolizer llvm-gsymutil-14 python3
data=${HEARTH_BENCH_DATA:-$work/data}
bench=$HEARTH_BUILD/bin/symbols_bench
mkdir -p "$data"

# Numbers of addresses: for tables, for llvm-symbolizer (many and few), for eu-addr2line (many and
# few).
count=${HEARTH_BENCH_LOOKUPS:-2000000}
readonly PEER_COUNT=50000 PEER_FEW=1000 EU_COUNT=60 EU_FEW=10

# fetch PACKAGE: downloads and unpacks it to $data/PACKAGE
fetch() {
	local folder=$data/$1
	[ ! -d "$folder" ] || return 0
	say "fetching $1"
	(cd "$work" && apt-get download -q "$1" >/dev/null 2>"$work/apt.log") || {
		say "cannot fetch $1: $(tail -n 1 "$work/apt.log")"
		return 1
	}
	dpkg -x "$work/$1"_*.deb "$folder.new"
	rm "$work/$1"_*.deb
	mv "$folder.new" "$folder"
}

# Prints the path of ceph-osd's debuginfo, expanded, because the other tools are fastest with that.
ceph_file() {
	local file=$data/ceph-osd.debug
	if [ ! -e "$file" ]; then
		fetch ceph-osd-dbg || return 0
		eu-elfcompress -q -f -t none -o "$file.new" \
			"$(find "$data/ceph-osd-dbg" -name '*.debug' -printf '%s %p\n' | sort -rn | head -n 1 | cut -d' ' -f2-)"
		mv "$file.new" "$file"
		rm -r "$data/ceph-osd-dbg"
	fi
	printf '%s\n' "$file"
}

kernel_file() {
	local package
	package=$(apt-cache depends linux-image-amd64-dbg | sed -n 's/.*Depends: //p' | head -n 1)
	fetch "$package" || return 0
	find "$data/$package" -path '*/boot/vmlinux*' -type f
}

# measure COMMAND...: prints its processor time in seconds and peak memory in bytes. Its output is
# in $work/measured.
measure() {
	python3 - "$work/measured" "$@" <<'PYTHON'
import resource
import subprocess
import sys

with open(sys.argv[1], "w") as out:
    subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL, check=False)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"{usage.ru_utime + usage.ru_stime:.3f} {usage.ru_maxrss * 1024}")
PYTHON
}

# marginal_rate COUNT FEW COMMAND...: prints addresses per second, without the time to load the
# file. Uses $work/addresses.
marginal_rate() {
	local count=$1 few=$2 long short
	shift 2
	head -n "$few" "$work/addresses" >"$work/few"
	head -n "$count" "$work/addresses" >"$work/many"
	short=$(measure bash -c '"${@:2}" <"$1"' - "$work/few" "$@")
	long=$(measure bash -c '"${@:2}" <"$1"' - "$work/many" "$@")
	calculate "(${long% *} > ${short% *}) ? ($count - $few) / (${long% *} - ${short% *}) : 0" %.0f
}

value() { sed -n "s/^$1 //p" "$work/measured"; }

# compile_and_compare NAME FILE
compile_and_compare() {
	local name=$1 file=$2 ours theirs file_bytes stored_bytes dwarf_sizes dwarf_bytes
	file_bytes=$(stat -L -c %s "$file")
	ours=$(measure "$bench" compile "$file" "$work/stored")
	stored_bytes=$(value stored_bytes)
	cp "$work/stored" "$work/stored.first"
	"$bench" compile "$file" "$work/stored" >/dev/null
	cmp "$work/stored" "$work/stored.first" || fail "two compilations of $file differ"
	theirs=$(measure llvm-gsymutil-14 "--convert=$file" --num-threads=1 "--out-file=$work/gsym" --quiet)
	# The shell converts the hexadecimal sizes, because only gawk has strtonum().
	dwarf_sizes=$(readelf -SW "$file" | sed 's/\[ */[/' | awk '$2 ~ /^\.debug_/ { printf " + 0x%s", $6 }')
	dwarf_bytes=$((0$dwarf_sizes))

	figure "$name.file_bytes" "$file_bytes" bytes
	figure "$name.dwarf_bytes" "$dwarf_bytes" bytes
	figure "$name.compile_s" "${ours% *}" s
	figure "$name.gsym_compile_s" "${theirs% *}" s
	ratio "$name.compile_ratio" "${ours% *}" "${theirs% *}"
	figure "$name.compile_rss_bytes" "${ours#* }" bytes
	figure "$name.gsym_compile_rss_bytes" "${theirs#* }" bytes
	ratio "$name.compile_rss_ratio" "${ours#* }" "$file_bytes"
	figure "$name.table_bytes" "$stored_bytes" bytes
	figure "$name.gsym_bytes" "$(stat -c %s "$work/gsym")" bytes
	figure "$name.table_pct" "$(calculate "100 * $stored_bytes / $dwarf_bytes")" %
}

# look_up_and_compare NAME FILE: after compile_and_compare of the same file
look_up_and_compare() {
	local name=$1 file=$2 random
	"$bench" expand "$work/stored" "$work/flat" >/dev/null
	"$bench" lookup "$work/flat" "$count" >"$work/measured"
	random=$(value random_per_s)
	figure "$name.random_per_s" "$random" /s
	figure "$name.sorted_per_s" "$(value sorted_per_s)" /s
	figure "$name.frames_per_lookup" "$(value frames_per_lookup)" frames
	figure "$name.flat_bytes" "$(stat -c %s "$work/flat")" bytes
	"$bench" addresses "$work/flat" "$PEER_COUNT" >"$work/addresses"

	local llvm eu gsym
	llvm=$(marginal_rate $PEER_COUNT $PEER_FEW llvm-symbolizer "--obj=$file")
	figure "$name.llvm_symbolizer_per_s" "$llvm" /s
	ratio "$name.random_ratio" "$random" "$llvm"
	eu=$(marginal_rate $EU_COUNT $EU_FEW eu-addr2line -f -i -e "$file")
	figure "$name.eu_addr2line_per_s" "$eu" /s
	sed -i "s|\$| $work/gsym|" "$work/addresses"
	gsym=$(marginal_rate $PEER_COUNT $PEER_FEW llvm-gsymutil-14 --addresses-from-stdin)
	figure "$name.gsym_per_s" "$gsym" /s
}

if [ -n "${HEARTH_BENCH_FILES:-}" ]; then
	read -ra files <<<"$HEARTH_BENCH_FILES"
else
	mapfile -t files < <(
		ceph_file
		if [ -n "${HEARTH_BENCH_KERNEL:-}" ]; then kernel_file; fi
	)
fi
[ ${#files[@]} -gt 0 ] || skip "there is no debuginfo to compile"

# Figures of the first file begin with "symbols", those of others also have the file's name.
for i in "${!files[@]}"; do
	file=${files[$i]}
	name=symbols
	[ "$i" = 0 ] || name=symbols.$(basename "$file" | tr -c 'a-z0-9\n' _)
	say "$file"
	compile_and_compare "$name" "$file"
	look_up_and_compare "$name" "$file"
done
