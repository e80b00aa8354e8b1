#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# `cmake --install` installs the three programs and their files below DESTDIR: no test programs, manual pages without
# warnings, completions that work in a real shell, and units that systemd accepts.
# This test runs beside others: it starts no agent and does not depend on the clock.
. "$(dirname "$0")/lib.sh"
need_tools cmake man mandoc python3 systemd-analyze zsh

root=$work/root
usr=$root/usr
DESTDIR=$root cmake --install "$HEARTH_BUILD" --prefix /usr >"$work/install.out"

# ---- programs
expect_equal "programs" "$(ls "$usr/bin" | tr '\n' ' ')" "hearth hearth-agent hearth-symbolizer "
expect_equal "folders below the root" "$(ls "$root")" usr
"$usr/bin/hearth" version >/dev/null || fail "hearth does not run"
for program in agent symbolizer; do
	"$usr/bin/hearth-$program" --version >/dev/null || fail "hearth-$program does not run"
	"$usr/bin/hearth-$program" --config "$usr/share/doc/hearth/examples/$program.yaml" --check-config >/dev/null ||
		fail "hearth-$program refuses its sample configuration"
done

# The short configuration files of the packages, unchanged and with the changes that docs/install.md describes.
printf 'secret\n' >"$work/agents.token"
"$usr/bin/hearth-symbolizer" --tokens "$work/tokens.yaml" --make-token people --scopes read >/dev/null 2>&1
for program in agent symbolizer; do
	short=$e2e_root/deploy/config/etc/$program.yaml
	sed -e 's/^#\([a-z_]*:\)/\1/' -e "s|/etc/hearth|$work|" "$short" >"$work/$program.yaml"
	for file in "$short" "$work/$program.yaml"; do
		"$usr/bin/hearth-$program" --config "$file" --check-config >/dev/null || fail "hearth-$program refuses $file"
	done
done
grep -qx 'server: http://profiler.example.com:20416' "$work/agent.yaml" || fail "no server in $work/agent.yaml"
grep -qx "tokens: $work/tokens.yaml" "$work/symbolizer.yaml" || fail "no tokens in $work/symbolizer.yaml"

# ---- manual pages
man=$usr/share/man
expect_no_warnings() {
	local warnings
	warnings=$(mandoc -Tlint "$1" 2>&1) || true
	expect_equal "warnings of mandoc for ${1##*/}" "$warnings" ""
	warnings=$(MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$1" 2>&1 >/dev/null) || true
	expect_equal "warnings of man for ${1##*/}" "$warnings" ""
}
for page in "$man"/man?/*; do
	expect_no_warnings "$page"
done
commands=$("$usr/bin/hearth" help | sed -n '/^usage/,/^.hearth help/s/^  \([a-z]*\) .*/\1/p')
[ -n "$commands" ] || fail "hearth help lists no commands"
for command in $commands; do
	case $command in help | version) continue ;; esac
	[ -s "$man/man1/hearth-$command.1" ] || fail "hearth $command has no manual page"
	# Each long option of --help is on the page.
	MANWIDTH=80 man -l "$man/man1/hearth-$command.1" >"$work/command.page"
	while read -r option; do
		grep -qF -e "$option" "$work/command.page" || fail "hearth-$command(1) lacks $option"
	done < <("$usr/bin/hearth" help "$command" | grep -oE '^ *(-., )?--[a-z-]+' | grep -oE -e '--[a-z-]+')
done
for program in agent symbolizer; do
	MANWIDTH=80 man -l "$man/man5/hearth-$program.yaml.5" >"$work/$program.page"
	while read -r key; do
		grep -qF "       $key: " "$work/$program.page" || fail "hearth-$program.yaml(5) lacks $key"
	done < <("$usr/bin/hearth-$program" --print-config | cut -d: -f1)
	# Each long option of --help is on the page and in the completion, and hidden spellings with '_' are not.
	MANWIDTH=80 man -l "$man/man8/hearth-$program.8" >"$work/$program.page"
	completion=$usr/share/bash-completion/completions/hearth-$program
	while read -r option; do
		grep -qF -e "$option" "$work/$program.page" || fail "hearth-$program(8) lacks $option"
		grep -qE -e "[' ]$option[' ]" "$completion" || fail "the completion of hearth-$program lacks $option"
	done < <("$usr/bin/hearth-$program" --help | grep -oE '^ *(-., )?--[a-z0-9.-]+' | grep -oE -e '--[a-z0-9.-]+')
	hidden=$(grep -hoE -e '--[a-z0-9.]+_[a-z0-9_]+' "$work/$program.page" "$completion" || true)
	expect_equal "hidden options of hearth-$program that appear" "$hidden" ""
done

# ---- completion: a shell on a terminal completes at a tab
bash_files=$usr/share/bash-completion/completions
zsh_files=$usr/share/zsh/site-functions
cat >"$work/type.py" <<'END'
# type.py SHELL SETUP TYPED: runs SETUP in SHELL, types TYPED, and prints the output.
import os, pty, re, select, sys, time

def read_until(terminal, pattern, deadline):
    text = ""
    while not re.search(pattern, text) and time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.1)[0]:
            text += os.read(terminal, 4096).decode(errors="replace")
    return text

shell, setup, typed = sys.argv[1:]
child, terminal = pty.fork()
if child == 0:
    os.environ.update(PS1="$ ", TERM="dumb", HISTFILE="/dev/null")
    os.execvp(shell, [shell, "--norc" if shell == "bash" else "-f", "-i"])
deadline = time.monotonic() + 20
os.write(terminal, (setup + "; hearth() { echo GOT\":$*:\"; }; echo RE\"ADY\"\n").encode())
read_until(terminal, "READY", deadline)
os.write(terminal, (typed + "\n").encode())
print(read_until(terminal, r"GOT:[^\r\n]*:[\r\n]", deadline))
os.close(terminal)
END
# completes SHELL TYPED ARGUMENTS: SHELL completes TYPED to a call of hearth with ARGUMENTS.
completes() {
	local setup typed=$2
	case $1 in
	bash) setup=". $bash_files/hearth" ;;
	zsh) setup="fpath=($zsh_files \$fpath); autoload -U compinit; compinit -u -D; zstyle ':completion:*' menu no" ;;
	esac
	python3 "$work/type.py" "$1" "$setup" "$(printf "$typed")" >"$work/typed" 2>&1 || true
	grep -qF "GOT:$3:" "$work/typed" || fail "$1 completes '$typed' to: $(tr -d '\r' <"$work/typed" | tail -n 3)"
	say "$1: '$typed' becomes '$3'"
}
for shell in bash zsh; do
	completes $shell 'hearth fl\t' flame
	completes $shell 'hearth services --al\t' 'services --all'
	completes $shell 'hearth flame --event of\t' 'flame --event off-cpu'
	completes $shell 'hearth debuginfo ch\t' 'debuginfo check'
	completes $shell 'hearth help sy\t' 'help symbolize'
	completes $shell "hearth upload $work/inst\\t" "upload $work/install.out"
done
for program in hearth hearth-agent hearth-symbolizer; do
	bash -n "$bash_files/$program" || fail "bash cannot read the completion of $program"
	zsh -n "$zsh_files/_$program" || fail "zsh cannot read the completion of $program"
done

# ---- units, with a prefix that is chosen at installation
prefix=$work/prefix
cmake --install "$HEARTH_BUILD" --prefix "$prefix" >/dev/null
for program in hearth-agent hearth-symbolizer; do
	unit=$prefix/lib/systemd/system/$program.service
	grep -qxF "ExecStart=$prefix/bin/$program" "$unit" || fail "$program.service does not name the program of its prefix"
	complaints=$(systemd-analyze verify --man=no "$unit" 2>&1 | grep -F "$program" || true)
	expect_equal "warnings of systemd for $program.service" "$complaints" ""
done
# The condition of the agent's unit: the file or a variable names the server.
condition=$(sed -n "s/^ExecCondition=\/bin\/sh -c '\(.*\)'$/\1/p" "$usr/lib/systemd/system/hearth-agent.service" |
	sed -e 's/\$\$/$/g' -e "s|/etc/hearth/agent.yaml|$work/condition.yaml|")
[ -n "$condition" ] || fail "hearth-agent.service has no condition"
runs_with() { env -u HEARTH_AGENT_SERVER "$@" /bin/sh -c "$condition" && echo yes || echo no; }
expect_equal "the agent runs without a file" "$(runs_with)" no
cp "$e2e_root/deploy/config/etc/agent.yaml" "$work/condition.yaml"
expect_equal "the agent runs with the file of the package" "$(runs_with)" no
expect_equal "the agent runs with the file of the package and a variable" "$(runs_with HEARTH_AGENT_SERVER=http://a:1)" yes
cp "$work/agent.yaml" "$work/condition.yaml"
expect_equal "the agent runs with a server in the file" "$(runs_with)" yes

# Either option would hide the addresses of kernel functions from the agent.
if grep -E '^(ProtectKernelTunables|ProtectKernelLogs)=' "$usr/lib/systemd/system/hearth-agent.service"; then
	fail "hearth-agent.service hides /proc/kallsyms or its addresses"
fi
# Exposure limits in tenths. systemd counts it as exposure that the agent reads all processes and loads BPF programs.
systemd-analyze security --offline=true --threshold=33 "$usr/lib/systemd/system/hearth-agent.service" >"$work/exposure" ||
	fail "hearth-agent.service: $(tail -n 1 "$work/exposure")"
systemd-analyze security --offline=true --threshold=15 "$usr/lib/systemd/system/hearth-symbolizer.service" >"$work/exposure" ||
	fail "hearth-symbolizer.service: $(tail -n 1 "$work/exposure")"
