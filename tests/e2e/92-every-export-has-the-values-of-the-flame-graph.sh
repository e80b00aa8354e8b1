#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# GET /v1/export and `hearth export` write a profile of known proportions in every format. Independent readers open the
# files (Go's pprof, Python's XML and CSV parsers, jq, LLVM), and find the functions and exactly the sums of the flame graph.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools clang curl go jq llvm-profdata objdump python3 readelf

start_server
# Then the shares have a standard deviation of less than two points within three seconds.
start_agent --on_cpu.frequency 397
need_workload shares
copy_with_new_build_id "$workloads/shares" "$work/exported"
start_background workload-exported "$work/exported" 60
workload_pid=$background_pid
next_second
from=$((second + 1))
to=$((from + 2))
sleep_until $((to + 1))
wait_for_coverage $((to + 1))
wait_for_name work_a exported "$from" "$to"
# Without the agent no further file is uploaded, so that names stay the same when all symbol tables are made.
stop_agent
end_process "$workload_pid"
has_all_names() {
	[ "$(curl -sS -m 10 "$server_url/v1/flame?service=exported&since=$from&until=$((to + 1))" | jq .stats.tables_pending)" = 0 ]
}
expect_within 60s has_all_names

# export_as FORMAT [PARAMETERS]: writes $work/FORMAT.
export_as() {
	curl -sS -m 30 -o "$work/$1" -w '%{http_code} %{content_type}' \
		"$server_url/v1/export?service=exported&since=$from&until=$((to + 1))&format=$1${2:-}"
}

fetch_profile "$work/flame.json" exported "$from" "$to" '{"function_starts": true}'
total_us=$(total_of "$work/flame.json")

# in_us NANOSECONDS: rounded half up, as the root of a flame graph is
in_us() { printf '%s\n' $((($1 + 500) / 1000)); }

# ---- folded: the paths are those of the flame graph
expect_equal "folded" "$(export_as folded)" "200 text/plain; charset=utf-8"
total_ns=$(awk '{ sum += $NF } END { printf "%.0f\n", sum }' "$work/folded")
expect_equal "sum of folded, in microseconds" "$(in_us "$total_ns")" "$total_us"
jq -r '(reduce .result[] as $node ({}; .[$node.node_id] =
	((.[$node.parent_node_id] | if . then . + ";" else "" end) + $node.profile_location_str))) as $paths
	| .result[] | select(.self_value > 0) | $paths[.node_id]' "$work/flame.json" | sort >"$work/paths.flame"
sed 's/^exported;//; s/ [0-9]*$//' "$work/folded" | sort >"$work/paths.folded"
diff <(sed 's/^exported;//' "$work/paths.flame") "$work/paths.folded" || fail "folded has other paths than the flame graph"

# self_of NAME FILE: self value of NAME in a table of "value name"
self_of() { awk -v name="$1" '$2 == name { sum += $1 } END { printf "%.0f\n", sum }' "$2"; }

# The flame graph rounds the value of each node to a microsecond; no function has more than 20 nodes.
jq -r '.result[] | select(.self_value > 0) | "\(.self_value * 1000) \(.profile_location_str)"' "$work/flame.json" >"$work/flame.table"
expect_near "share of work_a" "$(share_of "$work/flame.json" work_a)" 70 15

# check_values FORMAT FILE: the table has the values of the flame graph and the exact total.
check_values() {
	expect_equal "total of $1" "$(awk '{ sum += $1 } END { printf "%.0f\n", sum }' "$2")" "$total_ns"
	for name in work_a work_b work_c; do
		expect_near "self of $name in $1" "$(self_of $name "$2")" "$(self_of $name "$work/flame.table")" 20000
	done
}

sed 's/\(.*\) \([0-9]*\)$/\2 \1/; s/^\([0-9]*\) .*;/\1 /' "$work/folded" >"$work/folded.table"
check_values folded "$work/folded.table"

# ---- pprof: Go's tool reads it
expect_equal "pprof" "$(export_as pprof)" "200 application/octet-stream"
pprof() { timeout 60 go tool pprof "$@" "$work/pprof" 2>"$work/pprof.log" || fail "go tool pprof: $(cat "$work/pprof.log")"; }
pprof -top -unit=ns -nodefraction=0 -nodecount=100000 >"$work/pprof.top"
awk 'found && $1 != "0" { sub(/ns$/, "", $1); print $1, $6 } $1 == "flat" { found = 1 }' "$work/pprof.top" >"$work/pprof.table"
check_values pprof "$work/pprof.table"
build_id=$(readelf -n "$work/exported" | awk '/Build ID:/ { print $3 }')
grep -qF "File: exported" "$work/pprof.top" || fail "pprof does not name the file"
grep -qF "Build ID: $build_id" "$work/pprof.top" || fail "pprof does not name the build-ID: $(head -n 4 "$work/pprof.top")"
expect_equal "threads in pprof" "$(pprof -tags | grep -oE '(ingest|parse|render|flush)$' | sort | tr '\n' ' ')" "flush ingest parse render "
export_as pprof '&group_by=host' >"$work/status"
pprof -tags | grep -q 'e2e-host' || fail "pprof has no label for the host"

# ---- speedscope
expect_equal "speedscope" "$(export_as speedscope)" "200 application/json"
jq -e '."$schema" and (.shared.frames | all(.name | type == "string")) and (.profiles[0] | .type == "sampled"
	and .unit == "nanoseconds" and (.samples | length) == (.weights | length) and .endValue == (.weights | add))' \
	"$work/speedscope" >/dev/null || fail "speedscope lacks a member: $(head -c 500 "$work/speedscope")"
jq -r '.shared.frames as $frames | .profiles[0] | [.samples, .weights] | transpose[] | "\(.[1]) \($frames[.[0][-1]].name)"' \
	"$work/speedscope" >"$work/speedscope.table"
check_values speedscope "$work/speedscope.table"

# ---- gecko
expect_equal "gecko" "$(export_as gecko)" "200 application/json"
jq -r '.threads[0] | .stringArray as $texts | .funcTable.name as $names | .stackTable.frame as $frames
	| [.samples.stack, .samples.weight] | transpose[] | "\(.[1] * 1000000 | round) \($texts[$names[$frames[.[0]]]])"' \
	"$work/gecko" >"$work/gecko.table"
check_values gecko "$work/gecko.table"

# ---- perfetto
expect_equal "perfetto" "$(export_as perfetto)" "200 application/octet-stream"
python3 -B "$(dirname "$0")/perfetto_samples.py" "$work/perfetto" >"$work/perfetto.samples"
awk -F '\t' '{ print $4, $5 }' "$work/perfetto.samples" >"$work/perfetto.table"
check_values perfetto "$work/perfetto.table"
expect_equal "threads in perfetto" "$(awk -F '\t' '$2 == "exported" { print $3 }' "$work/perfetto.samples" | sort -u |
	grep -xE 'ingest|parse|render|flush' | tr '\n' ' ')" "flush ingest parse render "
expect_equal "build-ID of work_a in perfetto" "$(awk -F '\t' '$5 == "work_a" { print $6 }' "$work/perfetto.samples" | sort -u)" \
	"$build_id"
awk -F '\t' -v from="$from" -v to="$((to + 1))" '$1 < from * 100 || $1 >= to * 100 { exit 1 }' "$work/perfetto.samples" ||
	fail "perfetto has samples outside the range"
# On one CPU a block of 50 ms has a value of 50 ms, or slightly more because of the sampling period.
[ $(($(cut -f 1 "$work/perfetto.samples" | sort -u | wc -l) * 100000000)) -ge "$total_ns" ] ||
	fail "perfetto has samples at few times only"

# ---- json
expect_equal "json" "$(export_as json)" "200 application/json"
jq -r '.frames as $frames | .stacks[] | "\(.value) \($frames[.frames[0]].label)"' "$work/json" >"$work/json.table"
check_values json "$work/json.table"
expect_equal "total in json" "$(jq .total "$work/json")" "$total_ns"
expect_equal "what is known about work_a" "$(jq -c --arg id "$build_id" '[.frames[] | select(.function == "work_a")
	| .executable == "exported" and .build_id == $id and .kind == "native" and .linkage_name == "work_a"] | unique' \
	"$work/json")" "[true]"

# ---- csv
expect_equal "csv" "$(export_as csv)" "200 text/csv; charset=utf-8"
python3 -c 'import csv, sys
for row in csv.DictReader(open(sys.argv[1], newline="")):
    print(row["self_nanoseconds"], row["function"])' "$work/csv" >"$work/csv.table"
check_values csv "$work/csv.table"

# ---- svg and html
expect_equal "svg" "$(export_as svg)" "200 image/svg+xml; charset=utf-8"
python3 -c 'import sys, xml.etree.ElementTree as tree
names = [title.text.split("\n")[0] for title in tree.parse(sys.argv[1]).getroot().iter("{http://www.w3.org/2000/svg}title")]
print(*sorted(set(names) & {"exported", "work_a", "work_b", "work_c"}))' "$work/svg" >"$work/svg.names"
expect_equal "frames of svg" "$(cat "$work/svg.names")" "exported work_a work_b work_c"
expect_equal "html" "$(export_as html)" "200 text/html; charset=utf-8"
sed -n 's/^\({"result":.*\)<\/script>$/\1/p' "$work/html" >"$work/html.json"
expect_equal "total of html" "$(jq '.result.function_values.values[0][1]' "$work/html.json")" "$total_us"

# ---- the command writes the same bytes; the suffix of the file selects the format
for file in a.pb.gz=pprof a.folded=folded a.speedscope.json=speedscope a.gecko.json=gecko a.perfetto-trace=perfetto \
	a.json=json a.csv=csv a.svg=svg a.html=html; do
	"$hearth" export exported --server "$server_url" --since "$from" --until "$to" -o "$work/${file%=*}"
	[ "${file#*=}" != pprof ] || export_as pprof >"$work/status"
	cmp "$work/${file%=*}" "$work/${file#*=}" || fail "hearth export wrote another file than /v1/export for $file"
done
"$hearth" export exported --server "$server_url" --since "$from" --until "$to" --format folded | cmp - "$work/folded" ||
	fail "hearth export wrote something else to standard output"

# ---- two threads that do the same work: the shares of their functions differ by chance only
"$hearth" diff exported --server "$server_url" --since "$from" --until "$to" --filter "thread = 'parse'" \
	--base-filter "thread = 'render'" --fail-over 40% --rows 0 >"$work/diff" || fail "hearth diff: $(cat "$work/diff")"
grep -q ' work_a$' "$work/diff" || fail "hearth diff does not list work_a: $(cat "$work/diff")"
status=0
"$hearth" diff exported --server "$server_url" --since "$from" --until "$to" --base-service Total --total --fail-over 40% \
	>"$work/diff" 2>"$work/err" || status=$?
expect_equal "status of a comparison with new functions" "$status" 4
grep -q '(new)$' "$work/diff" || fail "hearth diff marks no new function: $(cat "$work/diff")"

# ended STATUS ARGUMENT...: hearth export ends with STATUS, and prints nothing to standard output.
ended() {
	local expected=$1 status=0
	shift
	"$hearth" export --server "$server_url" "$@" >"$work/out" 2>"$work/err" || status=$?
	expect_equal "status of hearth export $*" "$status" "$expected"
	[ ! -s "$work/out" ] || fail "hearth export printed: $(head -c 200 "$work/out")"
}
ended 3 nobody --format csv
grep -q "nobody" "$work/err" || fail "the reason is missing: $(cat "$work/err")"
ended 2 exported --format xml
grep -q "there are pprof, folded" "$work/err" || fail "the formats are not listed: $(cat "$work/err")"
ended 2 exported
ended 1 exported --format csv -o "$work/none/a.csv"

# ---- /v1/disassembly: agents upload no code, so that only addresses have values
request GET "/v1/disassembly?service=exported&since=$from&until=$((to + 1))&function=work_a"
expect_equal "code of work_a without the executable" "$status $(jq -r '.files[] | .code, (.instructions | all(has("bytes") | not))' "$work/body" |
	tr '\n' ' ')" "200 no_file true "
jq -r '.files[].message' "$work/body" | grep -q "hearth upload" || fail "the remedy is missing: $(cat "$work/body")"
cp "$work/body" "$work/addresses"

# ---- autofdo: the agent has uploaded symbols; lines need the sections of DWARF
request PUT "/v1/debuginfo/$build_id" -T "$work/exported"
expect_equal "status of the upload" "$status" 200
has_lines() {
	export_as autofdo >/dev/null
	grep -q '^work_a:' "$work/autofdo"
}
expect_within 30s has_lines
expect_equal "autofdo" "$(export_as autofdo)" "200 text/plain; charset=utf-8"
python3 -B "$(dirname "$0")/autofdo_lines.py" "$work/autofdo" >"$work/autofdo.lines" || fail "autofdo: $(cat "$work/autofdo")"
expect_equal "total of autofdo" "$(awk '{ sum += $1 } END { printf "%.0f\n", sum }' "$work/autofdo.lines")" "$total_ns"
for name in work_a work_b work_c; do
	expect_near "self of $name in autofdo" "$(awk -v name="$name" '$2 ~ "^" name ":" { sum += $1 } END { printf "%.0f\n", sum }' \
		"$work/autofdo.lines")" "$(self_of "$name" "$work/flame.table")" 20000
done
"$hearth" export exported --server "$server_url" --since "$from" --until "$to" -o "$work/a.afdo"
cmp "$work/a.afdo" "$work/autofdo" || fail "hearth export wrote another file than /v1/export for a.afdo"

# ---- /v1/source: the lines of a function have the values that Go's tool finds in the pprof file
export_as pprof >"$work/status"
pprof -top -lines -unit=ns -nodefraction=0 -nodecount=100000 >"$work/pprof.lines"
for name in spin work_a; do
	request GET "/v1/source?service=exported&since=$from&until=$((to + 1))&function=$name"
	expect_equal "status of the lines of $name" "$status" 200
	jq -r '.files[] | .file as $file | .lines[] | "\($file):\(.line) \(.self_value) \(.total_value)"' "$work/body" | sort >"$work/lines"
	# Columns: flat, flat%, sum%, cum, cum%, function, file:line
	awk -v name="$name" '$6 == name { printf "%s %.0f %.0f\n", $7, $1 / 1000, $4 / 1000 }' "$work/pprof.lines" | sort >"$work/lines.pprof"
	expect_at_least "lines of $name in pprof" "$(wc -l <"$work/lines.pprof")" 1
	# Both round to a microsecond.
	join -a 1 -a 2 "$work/lines" "$work/lines.pprof" | awk 'NF != 5 || ($2 - $4) ^ 2 > 1 || ($3 - $5) ^ 2 > 1' >"$work/lines.differ"
	[ ! -s "$work/lines.differ" ] || fail "lines of $name differ: $(cat "$work/lines.differ")"
done
"$hearth" source exported work_a --server "$server_url" --since "$from" --until "$to" --width 100 >"$work/source.txt"
grep -qE '^ *[0-9]+ +[0-9.]+ m?s  DEFINE_WORK\(work_a\)' "$work/source.txt" || fail "hearth source: $(cat "$work/source.txt")"
status=0
"$hearth" source exported no_such_function --server "$server_url" --since "$from" --until "$to" 2>"$work/err" || status=$?
expect_equal "status of hearth source for an unknown function" "$status" 3
grep -q "no stack of the selection has 'no_such_function'" "$work/err" || fail "the reason is missing: $(cat "$work/err")"

# ---- /v1/disassembly: instructions are those of objdump, and have the values that Go's tool finds at the addresses
pprof -raw -unit=ns >"$work/pprof.raw"
objdump -d -M intel --no-show-raw-insn "$work/exported" | sed -nE \
	-e 's/^[0-9a-f]+ <(.*)>:/> \1/p' -e 's/^ *([0-9a-f]+):[[:space:]]+((data16|cs) )*([a-z0-9]+).*/0x\1 \4/p' >"$work/objdump"
# instructions_of NAME PARAMETERS: asks for a function, writes $work/body and $work/instructions, and checks the sum.
instructions_of() {
	request GET "/v1/disassembly?service=exported&since=$from&until=$((to + 1))&function=$1${2:-}"
	expect_equal "status of the instructions of $1" "$status $(jq -r '.files[].code' "$work/body")" "200 decoded"
	cp "$work/body" "$work/instructions.json"
	jq -r '.files[].instructions[] | "\(.address) \(.mnemonic)"' "$work/body" >"$work/instructions"
	jq -e '([.files[].instructions[].self_value // 0] | add) == .self_value + .inlined_value' "$work/body" >/dev/null ||
		fail "the self values of $1 do not add up: $(cat "$work/body")"
	request GET "/v1/source?service=exported&since=$from&until=$((to + 1))&function=$1${2:-}"
	expect_equal "self of $1 in its lines" "$(jq .self_value "$work/body")" "$(jq .self_value "$work/instructions.json")"
}
for name in work_a work_round; do
	instructions_of $name '&inlines=0'
	# objdump goes on until the next symbol, over the padding after the function.
	awk -v name=$name '$1 == ">" { inside = $2 == name; next } inside' "$work/objdump" | tac |
		awk '$2 != "nop" { code = 1 } code' | tac >"$work/instructions.objdump"
	expect_at_least "instructions of $name" "$(wc -l <"$work/instructions.objdump")" 5
	diff "$work/instructions" "$work/instructions.objdump" || fail "the instructions of $name are not those of objdump"
	expect_equal "inlined into $name" "$(jq .inlined_value "$work/instructions.json")" 0
	request GET "/v1/top?service=exported&since=$from&until=$((to + 1))&inlines=0"
	# /v1/top rounds the value of each node, of which there are fewer than 20.
	expect_near "self of $name in its instructions" "$(jq .self_value "$work/instructions.json")" \
		"$(jq --arg name $name '[.functions[] | select(.function == $name).self_value] | add' "$work/body")" 20
done
# spin is inlined everywhere: its instructions are parts of other functions.
instructions_of spin
expect_at_least "instructions of spin" "$(wc -l <"$work/instructions")" 3
grep -vxFf "$work/objdump" "$work/instructions" && fail "these instructions of spin are not those of objdump"
# Without the code, the address of a caller is that of the last byte of its call, as in pprof.
python3 -B "$(dirname "$0")/pprof_addresses.py" "$work/pprof.raw" work_a | sort >"$work/values.pprof"
expect_at_least "addresses of work_a in pprof" "$(wc -l <"$work/values.pprof")" 1
jq -r '.files[].instructions[] | select(.total_value) | "\(.address) \(.self_value) \(.total_value)"' "$work/addresses" | sort >"$work/values"
join -a 1 -a 2 "$work/values" "$work/values.pprof" | awk 'NF != 5 || ($2 - $4) ^ 2 > 1 || ($3 - $5) ^ 2 > 1' >"$work/values.differ"
[ ! -s "$work/values.differ" ] || fail "values of work_a differ: $(cat "$work/values.differ")"
"$hearth" disassembly exported spin --server "$server_url" --since "$from" --until "$to" --width 100 >"$work/code.txt"
grep -qE '^ *[0-9.]+ % +[0-9.]+ m?s +[0-9.]+ m?s  0x[0-9a-f]+:  [a-z]+ ' "$work/code.txt" || fail "hearth disassembly: $(cat "$work/code.txt")"
grep -q '^ \+spin.h:[0-9]\+  .*seed' "$work/code.txt" || fail "hearth disassembly shows no source line: $(cat "$work/code.txt")"
"$hearth" disassembly exported spin --all --json --server "$server_url" --since "$from" --until "$to" | jq -e '.files[0].code == "decoded"' \
	>/dev/null || fail "hearth disassembly --json failed"

# LLVM's tool reads the same totals, and clang compiles the program with the profile.
llvm-profdata show --sample "$work/autofdo" >"$work/profdata" 2>&1 || fail "llvm-profdata: $(cat "$work/profdata")"
expect_equal "work_a in llvm-profdata" "$(sed -n 's/^Function: work_a: \([0-9]*\), 0, .*/\1/p' "$work/profdata")" \
	"$(sed -n 's/^work_a:\([0-9]*\):0$/\1/p' "$work/autofdo")"
source_folder=$(dirname "$0")/../workloads
clang -O2 -g -D_GNU_SOURCE -DWORKLOAD_NAME='"shares"' -fprofile-sample-use="$work/autofdo" -S -emit-llvm -o "$work/shares.ll" "$source_folder/shares.c" \
	2>"$work/clang.log" || fail "clang: $(cat "$work/clang.log")"
[ ! -s "$work/clang.log" ] || fail "clang warns: $(cat "$work/clang.log")"
grep -q '"SampleProfile"' "$work/shares.ll" || fail "clang did not use the profile"
grep -qE '^define .* @work_a\(.*!prof ' "$work/shares.ll" || fail "clang found no samples of work_a"
