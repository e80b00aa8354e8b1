#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Stacks of Lua have the functions of the script, by name and line, between the functions in C that call them: of known
# shares, in deep recursion, below pcall, table.sort, string.gsub, metamethods and iterators, and in coroutines, also in those
# that yield below pcall. Each installed version runs as the program lua, and the newest one inside a C program.
#
# To check other versions: HEARTH_LUA_ROOT=/path/to/chroot, the root folder of a system with lua5.1, lua5.2, lua5.3 or lua5.4.
. "$(dirname "$0")/function_nodes.sh"
need_root
need_tools curl gcc jq

root=${HEARTH_LUA_ROOT:-}
[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
versions=()
for version in 5.1 5.2 5.3 5.4; do
	! in_root test -x "/usr/bin/lua$version" || versions+=("$version")
done
[ ${#versions[@]} -gt 0 ] || skip "needs lua5.1, lua5.2, lua5.3 or lua5.4"
folder=$work/lua
script=$folder/lua_stacks.lua
mkdir -p "$root$folder"
[ -z "$root" ] || at_exit+=("rm -rf -- '$root$work'")
cp "$e2e_root/tests/workloads/lua_stacks.lua" "$root$script"

# start_script NAME PROGRAM: a process has the name of the file that it executes, also if that is a symbolic link.
start_script() {
	ln -s "$2" "$root$folder/$1"
	start_background "$1" ${root:+chroot "$root"} "$folder/$1" "$script" "$folder/of_$1"
	pids[$1]=$background_pid
}

readonly FREQUENCY=997 LEAST_CPU_US=3000000

start_server
# Only these programs need unwind rows in the maps.
start_agent --on_cpu.frequency $FREQUENCY --on_cpu.regex '^lua5'
declare -A pids cpu_before
for version in "${versions[@]}"; do
	start_script "lua$version" "$(in_root readlink -f "/usr/bin/lua$version")"
done
newest=${versions[-1]}
if [ -z "$root" ] && [ -e "/usr/include/lua$newest/lua.h" ]; then
	gcc -O1 "-I/usr/include/lua$newest" -o "$work/embeds" "$e2e_root/tests/workloads/lua_embed.c" "-llua$newest" ||
		fail "cannot compile lua_embed.c"
	start_script "lua${newest}embed" "$work/embeds"
fi

# The functions of the script and those of the interpreter have names, which the agent can read while the process runs.
is_named() {
	query_profile "$1" "$(($(now_s) - 3))" "$(now_s)" >"$work/named.json"
	labels_of "$work/named.json" >"$work/labels"
	grep -F ' (lua_stacks.lua:' "$work/labels" >/dev/null && grep -E '(^| )lua_pcallk?$' "$work/labels" >/dev/null &&
		awk -v cut="$(percent_cut "$work/named.json")" 'BEGIN { exit cut > 0.5 }'
}
for program in "${!pids[@]}"; do
	expect_within 60s is_named "$program"
done
next_second
from=$second
for program in "${!pids[@]}"; do
	: >"$root$folder/of_$program.begin"
	cpu_before[$program]=$(cpu_time_us "${pids[$program]}")
done
expect_within 120s have_run
next_second
for program in "${!pids[@]}"; do
	: >"$root$folder/of_$program.end"
	expect_within 30s has_ended "${pids[$program]}"
done
wait_for_coverage "$second"

# measured PROGRAM PART: percent of the time that the script has measured for all parts of calls().
measured() {
	awk -v part="$2" '{ all += $2 } $1 == part { own = $2 } END { printf "%.2f\n", 100 * own / all }' "$root$folder/of_$1.times"
}

# line_of TEXT: number of the only line of the script with this text.
line_of() {
	grep -cF -- "$1" "$root$script" | grep -qx 1 || fail "not one line of the script has '$1'"
	grep -nF -- "$1" "$root$script" | cut -d: -f1
}

# at TEXT, part NAME: the label of the function without a name that begins in the line with TEXT; of a part.
at() { echo "function <lua_stacks.lua:$(line_of "$1")>"; }
part() { at "local function $1()"; }

# Functions in C between those of the script.
readonly c='((\[[^]<]*\]|lua_[a-z]+)<)*'

# expect_shares PROGRAM: the functions of shares() use the shares that the script gives them.
expect_shares() {
	local profile=$work/$1.json parts=0 all function
	for function in sixty thirty ten; do
		parts=$((parts + $(function_total "$profile" $function)))
	done
	expect_at_least "percent of sixty, thirty and ten in $1" \
		"$(awk -v a=$parts -v t="$(function_total "$profile" shares)" 'BEGIN { print 100 * a / t }')" 95
	for function in sixty:60 thirty:30 ten:10; do
		expect_share "$profile" "${function%:*}" "${function#*:}" 2 $parts
		expect_callers "$profile" "${function%:*}" '^shares<main chunk<'
	done
	all=$(($(function_total "$profile" shares) + $(function_total "$profile" calls) - $(function_total "$profile" "$(part in_c)")))
	expect_at_least "percent of spin() in $1" "$(function_share "$profile" spin $all)" 90
}

# expect_lines PROGRAM: all lines of the loop of spin(), and of its neighbours none.
expect_lines() {
	labels_of "$work/$1.json" | grep -o 'spin (lua_stacks.lua:[0-9]*)' | sort -u >"$work/lines"
	for text in 'while i < rounds * 20 do' 'x = (x * 31' 'i = i + 1'; do
		grep -qxF "spin (lua_stacks.lua:$(line_of "$text"))" "$work/lines" || fail "$1: no line of spin() with '$text'"
	done
	expect_at_most "lines of spin()" "$(wc -l <"$work/lines")" 5
}

# expect_parts PROGRAM: the functions have the callers that the script gives them, with those in C between them.
expect_parts() {
	local profile=$work/$1.json top='<measured<calls<main chunk<' resumed="<${c}lua_resume<$c" total name
	expect_callers "$profile" descend "^(descend<){0,49}$(part recurses)$top"
	expect_callers "$profile" price "^$(part methods)$top"
	expect_callers "$profile" "$(part fails)" "^${c}lua_pcallk?<$c$(part protects)$top"
	expect_callers "$profile" "$(at 'table.sort({ 5')" "^${c}lua_callk?<$c$(part sorts)$top"
	expect_callers "$profile" "$(at 'string.gsub("aaaa"')" "^${c}lua_callk?<$c$(part replaces)$top"
	expect_callers "$profile" "$(at '__index = function')" "^$c$(part indexes)$top"
	expect_callers "$profile" "$(at 'local function next_item(')" "^$c$(part iterates)$top"
	expect_callers "$profile" "$(part produces)" "^${c}lua_resume<$c$(part resumes)$top"
	expect_callers "$profile" "$(part inside)" "^(${c}lua_pcallk?<$c)?$(part protected_producer)$resumed$(part yields_in_pcall)$top"
	expect_callers "$profile" "$(at 'local inner = ')" "^${c}lua_resume<$c$(at 'local outer = ')$resumed$(part nested)$top"
	total=$(function_total "$profile" calls)
	while read -r name _; do
		expect_share "$profile" "$(part "$name")" "$(measured "$1" "$name")" 2 "$total"
	done <"$root$folder/of_$1.times"
	deepest=$(callers_of "$profile" spin | awk -F'<' '{ n = 0; for (i = 1; i <= NF; i++) n += $i == "descend"; print n }' | sort -n | tail -n 1)
	expect_equal "levels of descend() below spin() in $1" "$deepest" 50
}

# expect_short PROGRAM: samples between a comparison and its call of the loop are frequent here.
expect_short() {
	local profile=$work/$1.json comparison
	comparison=$(at 'table.sort(items')
	expect_callers "$profile" "$comparison" "^${c}lua_callk?<${c}short<main chunk<"
	expect_at_least "percent of comparisons in $1" \
		"$(function_share "$profile" "$comparison" "$(function_total "$profile" short)")" 15
}

for program in "${!pids[@]}"; do
	fetch_profile "$work/$program.json" "$program" "$from" $((second - 1))
	expect_exact_sums "$work/$program.json"
	expect_complete "$work/$program.json"
	expect_at_least "percent of the main chunk of $program" "$(function_share "$work/$program.json" 'main chunk')" 98
	expect_shares "$program"
	expect_lines "$program"
	expect_parts "$program"
	expect_short "$program"
done
[ -z "${pids[lua${newest}embed]:-}" ] ||
	expect_callers "$work/lua${newest}embed.json" 'main chunk' "^${c}lua_resume<main<"

expect_at_least "frames of Lua" "$(agent_metric 'byte_code_frames_total{runtime="lua"}')" 10000
# A page that is not resident cannot be read while the sample is taken: a few stacks of tens of thousands of frames.
few=$((3 + $(agent_metric 'byte_code_frames_total{runtime="lua"}') / 10000))
expect_at_most "stacks without a lua_State" "$(agent_metric 'byte_code_stacks_lost_total{runtime="lua",reason="no-thread"}')" $few
expect_at_most "unreadable frames" "$(agent_metric 'byte_code_stacks_lost_total{runtime="lua",reason="unreadable"}')" $few
