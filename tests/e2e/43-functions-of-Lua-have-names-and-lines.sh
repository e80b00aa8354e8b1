#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Stacks of Lua have the functions of the script, by name and line, between the functions in C that call them: of known
# shares, in deep recursion, below pcall, table.sort, string.gsub, metamethods and iterators, and in coroutines, also in those
# that yield below pcall. Each installed version runs as the program lua, and the newest one inside a C program.
. "$(dirname "$0")/function_nodes.sh"
need_root
need_tools curl gcc

root=
[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
versions=()
for version in 5.1 5.2 5.3 5.4; do
	! [ -x "/usr/bin/lua$version" ] || versions+=("$version")
done
[ ${#versions[@]} -gt 0 ] || skip "needs lua5.1, lua5.2, lua5.3 or lua5.4"
script=$work/lua_stacks.lua
cp "$e2e_root/tests/workloads/lua_stacks.lua" "$script"

# start_script NAME PROGRAM PART: a process has the name of the file that it executes, also if that is a symbolic link.
start_script() {
	ln -s "$2" "$work/$1"
	start_background "$1" "$work/$1" "$script" "$3" "$work/end_$1"
	pids[$1]=$background_pid
}

readonly FREQUENCY=997 LEAST_CPU_US=1000000

start_server
# Only these programs need unwind rows in the maps.
start_agent --on_cpu.frequency $FREQUENCY --on_cpu.regex '^lua5'
declare -A pids cpu_before
for version in "${versions[@]}"; do
	for part in shares calls short; do
		start_script "lua$version$part" "$(readlink -f "/usr/bin/lua$version")" $part
	done
done
newest=${versions[-1]}
if [ -e "/usr/include/lua$newest/lua.h" ]; then
	gcc -O1 "-I/usr/include/lua$newest" -o "$work/embeds" "$e2e_root/tests/workloads/lua_embed.c" "-llua$newest" ||
		fail "cannot compile lua_embed.c"
	start_script "lua${newest}embed" "$work/embeds" calls
fi
is_named() {
	query_profile "$1" "$(($(now_s) - 2))" "$(now_s)" >"$work/named.json"
	labels_of "$work/named.json" | grep -F ' (lua_stacks.lua:' >/dev/null &&
		awk -v cut="$(percent_cut "$work/named.json")" 'BEGIN { exit cut > 0.5 }'
}
for program in "${!pids[@]}"; do
	expect_within 60s is_named "$program"
done
next_second
from=$second
for program in "${!pids[@]}"; do
	cpu_before[$program]=$(cpu_time_us "${pids[$program]}")
done
expect_within 150s have_run
next_second
wait_for_coverage "$second"
for program in "${!pids[@]}"; do
	: >"$work/end_$program"
	expect_within 30s has_ended "${pids[$program]}"
done
for program in "${!pids[@]}"; do
	fetch_profile "$work/$program.json" "$program" "$from" $((second - 1))
	expect_exact_sums "$work/$program.json"
	expect_complete "$work/$program.json"
	expect_at_least "percent of the main chunk of $program" "$(function_share "$work/$program.json" 'main chunk')" 98
done

# measured PROGRAM PART: percent of the time that the script has measured for all of its parts.
measured() {
	awk -v part="$2" '{ all += $2 } $1 == part { own = $2 } END { printf "%.2f\n", 100 * own / all }' "$work/end_$1.times"
}

# line_of TEXT: number of the only line of the script with this text.
line_of() {
	grep -cF -- "$1" "$script" | grep -qx 1 || fail "not one line of the script has '$1'"
	grep -nF -- "$1" "$script" | cut -d: -f1
}

# at TEXT, part NAME: the label of the function without a name that begins in the line with TEXT; of a part.
at() { echo "function <lua_stacks.lua:$(line_of "$1")>"; }
part() { at "local function $1()"; }

# expect_parts PROGRAM: the functions have the callers that the script gives them, with those in C between them.
expect_parts() {
	local profile=$work/$1.json c='((\[[^]<]*\]|lua_[a-z]+)<)*' top='<measured<run<main chunk<' resumed total name
	expect_callers "$profile" descend "^(descend<){0,49}$(part recurses)$top"
	expect_callers "$profile" price "^$(part methods)$top"
	expect_callers "$profile" "$(part fails)" "^${c}lua_pcallk?<$c$(part protects)$top"
	expect_callers "$profile" "$(at 'table.sort({ 5')" "^${c}lua_callk?<$c$(part sorts)$top"
	expect_callers "$profile" "$(at 'string.gsub("aaaa"')" "^${c}lua_callk?<$c$(part replaces)$top"
	expect_callers "$profile" "$(at '__index = function')" "^$c$(part indexes)$top"
	expect_callers "$profile" "$(at 'local function next_item(')" "^$c$(part iterates)$top"
	resumed="<${c}lua_resume<$c"
	expect_callers "$profile" "$(part produces)" "^${c}lua_resume<$c$(part resumes)$top"
	expect_callers "$profile" "$(part inside)" "^(${c}lua_pcallk?<$c)?$(part protected_producer)$resumed$(part yields_in_pcall)$top"
	expect_callers "$profile" "$(at 'local inner = ')" "^${c}lua_resume<$c$(at 'local outer = ')$resumed$(part nested)$top"
	total=$(total_of "$profile")
	while read -r name _; do
		expect_share "$profile" "$(part "$name")" "$(measured "$1" "$name")" 2 "$total"
	done <"$work/end_$1.times"
	deepest=$(callers_of "$profile" spin | awk -F'<' '{ n = 0; for (i = 1; i <= NF; i++) n += $i == "descend"; print n }' | sort -n | tail -n 1)
	expect_equal "levels of descend() below spin() in $1" "$deepest" 50
}

for version in "${versions[@]}"; do
	profile=$work/lua${version}shares.json
	parts=0
	for function in sixty thirty ten; do
		parts=$((parts + $(function_total "$profile" $function)))
	done
	expect_at_least "percent of sixty, thirty and ten" "$(awk -v a=$parts -v t="$(total_of "$profile")" 'BEGIN { print 100 * a / t }')" 90
	for function in sixty:60 thirty:30 ten:10; do
		expect_share "$profile" "${function%:*}" "${function#*:}" 2 $parts
	done
	expect_at_least "percent of spin()" "$(function_share "$profile" spin)" 90
	# All lines of the loop of spin(), and of its neighbours none.
	labels_of "$profile" | grep -o 'spin (lua_stacks.lua:[0-9]*)' | sort -u >"$work/lines"
	for text in 'while i < rounds * 20 do' 'x = (x * 31' 'i = i + 1'; do
		grep -qxF "spin (lua_stacks.lua:$(line_of "$text"))" "$work/lines" || fail "Lua $version: no line of spin() with '$text'"
	done
	expect_at_most "lines of spin()" "$(wc -l <"$work/lines")" 5
	expect_parts "lua${version}calls"

	# Samples between a comparison and its call of the loop are frequent here.
	profile=$work/lua${version}short.json
	expect_callers "$profile" "$(at 'table.sort(items')" \
		"^((\\[[^]<]*\\]|lua_[a-z]+)<)*lua_callk?<((\\[[^]<]*\\]|lua_[a-z]+)<)*run<main chunk<"
	expect_at_least "percent of comparisons" "$(function_share "$profile" "$(at 'table.sort(items')")" 15
done
if [ -n "${pids[lua${newest}embed]:-}" ]; then
	expect_parts "lua${newest}embed"
	expect_callers "$work/lua${newest}embed.json" 'main chunk' '^((\[[^]<]*\]|lua_[a-z]+)<)*lua_resume<main<'
fi

expect_at_least "frames of Lua" "$(agent_metric 'byte_code_frames_total{runtime="lua"}')" 10000
# A page that is not resident cannot be read while the sample is taken: a few stacks of tens of thousands of frames.
few=$((3 + $(agent_metric 'byte_code_frames_total{runtime="lua"}') / 10000))
expect_at_most "stacks without a lua_State" "$(agent_metric 'byte_code_stacks_lost_total{runtime="lua",reason="no-thread"}')" $few
expect_at_most "unreadable frames" "$(agent_metric 'byte_code_stacks_lost_total{runtime="lua",reason="unreadable"}')" $few
