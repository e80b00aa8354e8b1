#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The fleet walkthrough of README.md, from the tokens to the flame graph: its commands run word for word. One machine acts as
# both web-3 and profiler.example.com, with a private /etc, /usr/local, /var/lib, network and host name, and a `sudo` script
# that sets PATH as Debian's sudo does. Nothing is left on the machine.
if [ "${1:-}" != inside ]; then
	[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
	unshare --mount --net --uts true 2>/dev/null || { echo "needs mount, network and host name namespaces"; exit 77; }
	exec unshare --mount --net --uts "$0" inside
fi
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools cmake curl hostname perl readelf strip
need_workload shares

# ---- prepare the machine
cp -a /etc "$work/etc"
mount --bind "$work/etc" /etc
mount -t tmpfs none /var/lib
# Equals "ip link set lo up": SIOCSIFFLAGS with IFF_UP. The bare system of tests/readme has no ip command.
perl -e 'socket(S, 2, 2, 0) or die; $r = pack("a16 s x22", "lo", 0x41); ioctl(S, 0x8914, $r) or die "lo: $!"'
hostname web-3
printf '127.0.0.1 localhost web-3 profiler.example.com\n' >/etc/hosts
mkdir "$work/local" && mount -t tmpfs none "$work/local" && mkdir "$work/local/upper" "$work/local/work"
mount -t overlay overlay -o "lowerdir=/usr/local,upperdir=$work/local/upper,workdir=$work/local/work" /usr/local ||
	skip "needs overlayfs"
# The overlay keeps the mount alive.
umount -l "$work/local"
readonly PATH_OF_DEBIAN=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# shellcheck disable=SC2016
mkdir "$work/bin" && printf '#!/bin/sh\nPATH=%s exec "$@"\n' $PATH_OF_DEBIAN >"$work/bin/sudo" && chmod +x "$work/bin/sudo"
export PATH="$work/bin:$PATH_OF_DEBIAN"
rm -rf /etc/hearth

# The clone with its build.
mkdir "$work/clone" && ln -s "$HEARTH_BUILD" "$work/clone/build"

# The program with symbols in the pipeline's checkout, and the stripped program that runs on hosts.
mkdir -p "$work/checkout/build" "$work/shipped"
cp "$workloads/shares" "$work/checkout/build/myservice"
strip -o "$work/shipped/myservice" "$work/checkout/build/myservice"
cd "$work/checkout" || fail "no checkout"

# ---- the commands
# shellcheck source=tests/readme/blocks.sh
. "$e2e_root/tests/readme/blocks.sh"
write_readme_blocks "$e2e_root/README.md" "$work/readme"

# run SECTION-NUMBER...: runs the blocks in one shell; a command that fails ends the test.
run() {
	local name=$1
	printf 'set -euo pipefail\n' >"$work/$name.sh"
	(cd "$work/readme" && cat "$@") >>"$work/$name.sh"
	say "$*: $(grep -c . "$work/$name.sh") lines"
	bash "$work/$name.sh" >"$work/$name.out" 2>"$work/$name.log" || fail "README's commands of $* end with $?"
}

expect_equal "blocks with commands" "$(cd "$work/readme" && echo Install-* One-* Upload-* Ask-*)" \
	"Install-1 One-1 One-2 One-3 Upload-1 Upload-2 Ask-1 Ask-2"

(cd "$work/clone" && run Install-1) || exit 1
expect_equal "installed programs" "$(cd /usr/local/bin && echo hearth*)" "hearth hearth-agent hearth-symbolizer"
hash -r

run One-1
expect_equal "tokens" "$(grep -c '  - name: ' /etc/hearth/tokens.yaml)" 3
expect_equal "modes of secrets" "$(stat -c %a /etc/hearth/*.token /etc/hearth/tokens.yaml | sort -u)" 600

server_url=http://profiler.example.com:20416
start_background server bash -c "$(cat "$work/readme/One-2")"
server_pid=$background_pid
expect_within 30s server_ready_or_ended
server_is_ready || fail "README's server has ended"
start_background agent bash -c "$(cat "$work/readme/One-3")"
start_background myservice "$work/shipped/myservice" 120

run Upload-1 Upload-2
ask() { HEARTH_SERVER=$server_url HEARTH_TOKEN=$(cat /etc/hearth/people.token) hearth "$@"; }
is_named() { ask top myservice --last 1h 2>/dev/null | grep -w work_a >/dev/null; }
expect_within 90s is_named
run Ask-1 Ask-2

# ---- the answers
grep -w myservice "$work/Ask-1.out" >/dev/null || fail "'hearth services' does not list myservice"
grep 'myservice, on-cpu: ' "$work/Ask-1.out" >/dev/null || fail "no flame graph of myservice: $(cat "$work/Ask-1.out")"
expect_at_least "lines that name work_a" "$(grep -cw work_a "$work/Ask-1.out")" 2
grep '^{.*"OPT_STATUS":"SUCCESS".*"\[t\] ' "$work/Ask-1.out" >/dev/null || fail "no profile by ProfileTracing"
# Lines of "frame;frame;... value".
total_of_function() {
	ask flame myservice --last 15m --folded | awk -v name="$1" '(";" $0) ~ ";" name "[; ]" { sum += $NF } END { printf "%d", sum }'
}
expect_at_least "value of work_a, more than that of work_b" "$(total_of_function work_a)" "$(($(total_of_function work_b) + 1))"
# Lines with a note on a host, such as its losses, are indented.
expect_equal "hosts" "$(ask hosts | awk 'NR > 1 && /^[^ ]/ { print $1 }')" web-3

# ---- each token has the scope of its kind; requests without a token are refused
status_with() {
	curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $(cat "/etc/hearth/$1.token")" "${@:3}" "$server_url$2"
}
expect_equal "services, without a token" "$(curl -s -o /dev/null -w '%{http_code}' "$server_url/v1/services")" 401
expect_equal "services, agents" "$(status_with agents /v1/services)" 403
expect_equal "services, pipeline" "$(status_with pipeline /v1/services)" 403
expect_equal "services, people" "$(status_with people /v1/services)" 200
expect_equal "batches, people" "$(status_with people /v1/ingest --data-binary x)" 403

# ---- the server accepts a token that is added later, without a signal
hearth-symbolizer --tokens /etc/hearth/tokens.yaml --make-token late --scopes read >/etc/hearth/late.token 2>"$work/late.log"
late_is_accepted() { [ "$(status_with late /v1/services)" = 200 ]; }
expect_within 30s late_is_accepted
