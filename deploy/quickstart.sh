#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Shows a flame graph of this host from a clone of the repository: installs missing packages, builds the programs, and runs
# the server and an agent until Ctrl-C. It leaves only build/ and the data folder.
#
#   sudo ./deploy/quickstart.sh [--duration SECONDS] [--port N] [--data DIR]
#
# The server requests missing debuginfo from the debuginfod servers in DEBUGINFOD_URLS, which gdb uses too. sudo removes the
# variable from the environment, so set it after sudo:
#
#   sudo DEBUGINFOD_URLS=https://debuginfod.debian.net ./deploy/quickstart.sh
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build
bin=$build/bin
log=$build/quickstart.log
server_log=$build/quickstart-symbolizer.log
agent_log=$build/quickstart-agent.log

# The first profile is shown between these times after the start: early if functions have names.
readonly FIRST_LOOK_S=8 FIRST_LOOK_AT_MOST_S=14
readonly FIRST_LOOK_ROWS=20
readonly READY_S=30 STOP_S=15

# Not the folder of the systemd unit, because files of root in it would prevent the unit's server from starting.
duration= port=20416 data=/var/lib/hearth-quickstart
server_pid= agent_pid= private= stop_signals=0

say() { printf '%s\n' "$*"; }
die() {
	printf 'quickstart: %s\n' "$*" >&2
	exit 1
}

usage() {
	cat <<-EOT
		usage: sudo $0 [--duration SECONDS] [--port N] [--data DIR]

		  --duration SECONDS  stop after this time (default: run until Ctrl-C)
		  --port N            port of the server, on loopback (default: 20416)
		  --data DIR          data folder of the server (default: /var/lib/hearth-quickstart)

		DEBUGINFOD_URLS (after sudo): debuginfod servers with the debuginfo of the distribution's packages
	EOT
}

is_number() { [[ $1 =~ ^[0-9]+$ ]]; }

parse_arguments() {
	while [ $# -gt 0 ]; do
		case $1 in
		--duration=* | --port=* | --data=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ;;
		esac
		case $1 in
		-h | --help)
			usage
			exit 0
			;;
		--duration | --port | --data) [ $# -ge 2 ] || die "$1 needs a value" ;;
		*)
			usage >&2
			exit 2
			;;
		esac
		case $1 in
		--duration) duration=$2 ;;
		--port) port=$2 ;;
		--data) data=$2 ;;
		esac
		shift 2
	done
	[ -z "$duration" ] || is_number "$duration" || die "--duration '$duration' is not a number of seconds"
	is_number "$port" && [ "$port" -ge 1 ] && [ "$port" -le 65535 ] || die "--port '$port' is not a port"
	[ -n "$data" ] || die "--data needs a folder"
	data=$(realpath -m -- "$data")
}

# nap SECONDS: waits without starting a process. A signal ends the wait.
exec {nap_fd}<> <(:)
nap() { read -rt "$1" -u "$nap_fd" || true; }

is_alive() { [ -n "$1" ] && kill -0 "$1" 2>/dev/null; }

# http_status PATH: prints the HTTP status of the answer, or nothing if the server does not answer.
http_status() {
	local fd protocol status=
	{ exec {fd}<>"/dev/tcp/127.0.0.1/$port"; } 2>/dev/null || return 0
	printf 'GET %s HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n' "$1" >&"$fd" 2>/dev/null || true
	read -rt 2 -u "$fd" protocol status _ || true
	exec {fd}>&-
	[ -z "$protocol" ] || printf '%s' "$status"
}

# Prints the command and pid of the process that listens on the port.
port_owner() {
	local inode fd
	inode=$(awk -v port=":$(printf '%04X' "$port")" '
		$4 == "0A" && substr($2, length($2) - 4) == port { print $10; exit }' /proc/net/tcp /proc/net/tcp6 2>/dev/null)
	[ -n "$inode" ] || return 0
	fd=$(find /proc/[0-9]*/fd -lname "socket:\[$inode\]" -print -quit 2>/dev/null || true)
	[[ $fd =~ ^/proc/([0-9]+)/ ]] || return 0
	printf '%s (pid %s)' "$(cat "/proc/${BASH_REMATCH[1]}/comm")" "${BASH_REMATCH[1]}"
}

check_host() {
	[ "$(uname -s)" = Linux ] || die "runs on Linux only, this is $(uname -s)"
	[ "$(id -u)" = 0 ] || die "must be run as root, to load eBPF programs and install packages: sudo $0"
	if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
		local owner
		owner=$(port_owner)
		die "port $port is in use${owner:+ by $owner}; choose another with --port N"
	fi
}

# build_failed STEP: prints the error lines of the log, and its path.
build_failed() {
	printf 'quickstart: %s failed:\n' "$1" >&2
	grep -nE 'FAILED:|error:|Error[ :]|undefined reference|CMake Error|not found' "$log" | head -n 20 >&2 ||
		tail -n 20 "$log" >&2
	die "the full log is $log"
}

# Writes the build tool's output to the log, and shows its last "[12/345]" or "[ 12%]".
show_build() {
	local line
	while IFS= read -r line; do
		printf '%s\n' "$line" >>"$log"
		if [ -t 1 ] && [[ $line =~ ^\[[[:space:]0-9/%]+\] ]]; then
			printf '\r  %s\033[K' "${BASH_REMATCH[0]}"
		fi
	done
	[ ! -t 1 ] || printf '\r\033[K'
}

build_programs() {
	local generator=() started=$SECONDS
	# The generator of an existing folder cannot be changed.
	[ -e "$build/CMakeCache.txt" ] || generator=(-G Ninja)
	say "building hearth-agent, hearth-symbolizer and hearth (about a minute the first time)"
	cmake -S "$root" -B "$build" "${generator[@]}" >>"$log" 2>&1 || build_failed "configuring the build"
	cmake --build "$build" --parallel "$(nproc)" --target hearth-agent hearth-symbolizer hearth 2>&1 | show_build ||
		build_failed "the build"
	say "  built in $((SECONDS - started)) s"
	# Under sudo the folder belongs to root. Gives it to the user, whose next build would otherwise fail.
	chown -R --reference="$root" "$build"
}

# start_failed PROGRAM LOG: prints the end of the program's log.
start_failed() {
	printf 'quickstart: %s does not run; its log ends with:\n' "$1" >&2
	tail -n 15 "$2" | sed 's/^/  /' >&2
	die "the full log is $2"
}

# Prints the HTTP servers in DEBUGINFOD_URLS, separated by commas. Skips folders (file://) and other words.
upstream_urls() {
	local url urls=
	for url in ${DEBUGINFOD_URLS:-}; do
		case $url in
		http://* | https://*) urls=${urls:+$urls,}$url ;;
		esac
	done
	printf '%s' "$urls"
}

# Server and agent run in separate sessions, so that Ctrl-C reaches only this script, which stops them in order.
start_server() {
	local upstream=() urls
	urls=$(upstream_urls)
	if [ -n "$urls" ]; then
		say "the server fetches missing debuginfo from $urls (DEBUGINFOD_URLS)"
		upstream=(--debuginfo.upstream "$urls")
	fi
	setsid "$bin/hearth-symbolizer" --listen "127.0.0.1:$port" --data "$data" "${upstream[@]}" >"$server_log" 2>&1 \
		</dev/null &
	server_pid=$!
	local deadline=$((SECONDS + READY_S))
	until [ "$(http_status /readyz)" = 200 ]; do
		is_alive "$server_pid" || start_failed hearth-symbolizer "$server_log"
		[ $SECONDS -lt $deadline ] || start_failed hearth-symbolizer "$server_log"
		[ "$stop_signals" = 0 ] || exit 130
		nap 0.1
	done
}

start_agent() {
	private=$(mktemp -d "${TMPDIR:-/tmp}/hearth-quickstart.XXXXXX")
	setsid "$bin/hearth-agent" --server "http://127.0.0.1:$port" --spool "$private/spool" \
		--unwind.cache_folder "$private/unwind" >"$agent_log" 2>&1 \
		</dev/null &
	agent_pid=$!
}

hearth() { "$bin/hearth" "$@" --server "http://127.0.0.1:$port"; }

# Prints the process with the most samples of the last minute. Prefers other processes to the agent and the server.
busiest_service() {
	hearth flame --service Total --last 1m --folded 2>/dev/null | awk -F';' '
		{
			value = $NF
			sub(/.* /, "", value)
			sub(/ [0-9]+$/, "", $NF)
			name = $2
			if (sub(/^\[p\] /, "", name))
				sum[name] += value
		}
		END {
			for (name in sum) {
				own = name ~ /^hearth-/
				if (best == "" || own < best_own || (own == best_own && sum[name] > sum[best])) {
					best = name
					best_own = own
				}
			}
			print best
		}'
}

# Whether the hottest function of the busiest service has a name: the upload of the kernel's symbols takes some seconds.
has_names() {
	local service hottest
	service=$(busiest_service)
	[ -n "$service" ] || return 1
	# Line 2 is the first row below the heading. An address without a name looks like "[/path" or "+0x".
	hottest=$(hearth top --service "$service" --last 1m --rows 1 2>/dev/null | sed -n 2p)
	[[ $hottest != *"[/"* && $hottest != *+0x* ]]
}

print_first_look() {
	local started=$SECONDS service
	say "profiling this host, the first profile follows in $FIRST_LOOK_S seconds"
	while [ $((SECONDS - started)) -lt $FIRST_LOOK_AT_MOST_S ]; do
		is_alive "$agent_pid" || start_failed hearth-agent "$agent_log"
		is_alive "$server_pid" || start_failed hearth-symbolizer "$server_log"
		[ "$stop_signals" = 0 ] || return 0
		if [ $((SECONDS - started)) -ge $FIRST_LOOK_S ] && has_names; then
			break
		fi
		nap 0.5
	done

	say
	say "== this host, by process =="
	hearth flame --service Total --last 1m --rows "$FIRST_LOOK_ROWS" || say "(no samples yet: the host has been idle)"
	service=$(busiest_service)
	if [ -n "$service" ]; then
		say
		say "== $service =="
		hearth flame --service "$service" --last 1m --rows "$FIRST_LOOK_ROWS" || true
		say
		say "== $service, hottest functions =="
		hearth top --service "$service" --last 1m --rows 10 || true
	fi
}

print_addresses() {
	say
	say "  page      http://127.0.0.1:$port/"
	say "  data      $data (kept)"
	say "  logs      $server_log"
	say "            $agent_log"
	if [ -n "$duration" ]; then
		say "running for $duration s, or until Ctrl-C"
	else
		say "running until Ctrl-C"
	fi
}

run_until_stopped() {
	local deadline=
	[ -z "$duration" ] || deadline=$((SECONDS + duration))
	while [ "$stop_signals" = 0 ]; do
		[ -z "$deadline" ] || [ $SECONDS -lt "$deadline" ] || return 0
		is_alive "$agent_pid" || start_failed hearth-agent "$agent_log"
		is_alive "$server_pid" || start_failed hearth-symbolizer "$server_log"
		nap 0.5
	done
}

# stop PID NAME: sends SIGTERM, and SIGKILL after STOP_S or a second Ctrl-C.
stop() {
	local pid=$1 deadline=$((SECONDS + STOP_S))
	is_alive "$pid" || return 0
	kill -TERM "$pid" 2>/dev/null || true
	while is_alive "$pid"; do
		if [ $SECONDS -ge $deadline ] || [ "$stop_signals" -gt 1 ]; then
			say "  $2 does not stop, killing it"
			kill -KILL "$pid" 2>/dev/null || true
			break
		fi
		nap 0.1
	done
	wait "$pid" 2>/dev/null || true
}

clean_up() {
	local status=$?
	trap - EXIT
	set +e
	if [ -n "$server_pid$agent_pid" ]; then
		say "stopping"
		# Stops the agent first, because it sends its last batch to the server.
		stop "$agent_pid" hearth-agent
		stop "$server_pid" hearth-symbolizer
	fi
	[ -z "$private" ] || rm -rf -- "$private"
	[ -z "$server_pid" ] || say "the data is in $data"
	exit $status
}

on_stop_signal() {
	stop_signals=$((stop_signals + 1))
	[ "$stop_signals" = 1 ] || kill -KILL $agent_pid $server_pid 2>/dev/null || true
}

parse_arguments "$@"
check_host
mkdir -p "$build"
: >"$log"
HEARTH_INSTALL_LOG=$log "$root/deploy/install-packages.sh" run build
build_programs

trap clean_up EXIT
trap on_stop_signal INT TERM HUP
started=$SECONDS
start_server
start_agent
print_first_look
print_addresses
# --duration counts from the start of the server, so the first profile is included.
[ -z "$duration" ] || duration=$((duration > SECONDS - started ? duration - (SECONDS - started) : 0))
run_until_stopped
