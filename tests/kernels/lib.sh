# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Functions for booting Debian's kernels in a virtual machine: fetch a kernel, build an initramfs with our programs, boot
# it, and collect the results of the checks. run.sh uses them; no function depends on the name of a check.
#
# A guest has no disk, and no network but loopback. All files are in the initramfs. All results are lines on the serial
# console that begin with "@@" (guest/init).

kernels_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
kernels_root=$(cd "$kernels_dir/../.." && pwd)
# shellcheck source=tests/support/debian_root.sh
. "$kernels_root/tests/support/debian_root.sh"
: "${HEARTH_BUILD:=$kernels_root/build}"
: "${HEARTH_KERNELS_CACHE:=$HEARTH_BUILD/kernels}"

# Longer than any boot with its checks takes on a busy machine; QEMU translates each instruction.
: "${GUEST_LIMIT_S:=1500}"

kernels_fail() {
	printf 'FAILED: %s\n' "$*" >&2
	exit 1
}

# Ends the script as skipped, because this machine cannot run it. The reason is the last line.
kernels_skip() {
	printf '%s\n' "$*" >&2
	exit 77
}

# ---- the cache ------------------------------------------------------------------------------------------------------

# lock_cache: several runs share a cache, and only one at a time may download and build in it. Removes unfinished files of
# killed runs. A script that the holder of the lock calls inherits the lock.
lock_cache() {
	[ -z "${HEARTH_KERNELS_LOCKED:-}" ] || return 0
	export HEARTH_KERNELS_LOCKED=1
	mkdir -p "$HEARTH_KERNELS_CACHE/logs"
	exec {cache_lock_fd}>"$HEARTH_KERNELS_CACHE/lock"
	flock "$cache_lock_fd"
	rm -rf -- "$HEARTH_KERNELS_CACHE/unfinished"
	mkdir "$HEARTH_KERNELS_CACHE/unfinished"
}

unlock_cache() {
	unset HEARTH_KERNELS_LOCKED
	exec {cache_lock_fd}>&-
}

# unfinished_folder: prints a new folder for incomplete files.
unfinished_folder() { mktemp -d "$HEARTH_KERNELS_CACHE/unfinished/XXXXXX"; }

# ---- kernels --------------------------------------------------------------------------------------------------------

kernel_rows() { grep -vE '^(#|$)' "$kernels_dir/kernels.txt"; }
kernel_names() { kernel_rows | awk '{ print $1 }'; }
ci_kernel_names() { kernel_rows | awk '$6 == "yes" { print $1 }'; }

# kernel_field NAME COLUMN: prints a column of kernels.txt
kernel_field() { kernel_rows | awk -v name="$1" -v column="$2" '$1 == name { print $column }'; }

# kernel_mirror: prints $HEARTH_KERNELS_MIRROR, or the mirror of this host's apt, without a slash at the end.
kernel_mirror() {
	local mirror=${HEARTH_KERNELS_MIRROR:-$(host_mirror)}
	[ -n "$mirror" ] || kernels_skip "no Debian mirror found in /etc/apt/sources.list.d: cannot fetch a kernel"
	printf '%s' "$mirror"
}

# A mirror that sends nothing for this time, twice, does not answer.
readonly MIRROR_LIMIT_S=10

# apt_in SUITE ARCH COMMAND...: runs apt-get or apt-cache with a private source list and state in the cache folder. It
# neither reads nor changes the host's configuration of apt.
apt_in() {
	local suite=$1 arch=$2 state=$HEARTH_KERNELS_CACHE/apt/$1-$2 mirror
	shift 2
	if [ ! -e "$state/apt.conf" ]; then
		mirror=$(kernel_mirror) || exit
		[ "$suite" = "${suite%-security}" ] || mirror=$mirror-security
		mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
		: >"$state/status"
		printf 'deb [arch=%s signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' \
			"$arch" "$mirror" "$suite" >"$state/sources.list"
		cat >"$state/apt.conf" <<-END
			Dir::Etc::SourceList "$state/sources.list";
			Dir::Etc::SourceParts "/dev/null";
			Dir::State "$state";
			Dir::State::status "$state/status";
			Dir::Cache "$state/cache";
			APT::Architecture "$arch";
			APT::Architectures { "$arch"; };
			APT::Sandbox::User "root";
			Acquire::Languages "none";
			Acquire::Retries "1";
			Acquire::http::Timeout "$MIRROR_LIMIT_S";
			Acquire::https::Timeout "$MIRROR_LIMIT_S";
		END
	fi
	APT_CONFIG=$state/apt.conf "$@"
}

# update_suite SUITE ARCH: downloads the suite's list of packages, once in a run.
declare -A updated_suites
update_suite() {
	[ -z "${updated_suites[$1/$2]:-}" ] || return 0
	apt_in "$1" "$2" apt-get -qq --error-on=any update >&2 || return 1
	updated_suites[$1/$2]=1
}

# fetch_package SUITE ARCH NAME FOLDER: unpacks the package's files into FOLDER.
fetch_package() {
	local suite=$1 arch=$2 name=$3 folder=$4 download
	update_suite "$suite" "$arch" || return 1
	mkdir -p "$folder"
	download=$(unfinished_folder)
	(cd "$download" && apt_in "$suite" "$arch" apt-get -qq download "$name" >&2) &&
		dpkg-deb --extract "$download"/*.deb "$folder"
	local status=$?
	rm -rf -- "$download"
	return $status
}

# fetch_kernel NAME: writes $HEARTH_KERNELS_CACHE/NAME/vmlinuz and, if the package has modules, lib/modules. Keeps a kernel
# that is in the cache; remove it to get a newer one.
fetch_kernel() {
	local name=$1 arch suite pattern package folder=$HEARTH_KERNELS_CACHE/$1 unpacked
	[ ! -e "$folder/vmlinuz" ] || return 0
	arch=$(kernel_field "$name" 2) suite=$(kernel_field "$name" 3) pattern=$(kernel_field "$name" 4)
	[ -n "$arch" ] || kernels_fail "no kernel '$name' in kernels.txt; kernels: $(kernel_names | tr '\n' ' ')"
	update_suite "$suite" "$arch" ||
		kernels_skip "the mirror $(kernel_mirror) does not provide the list of packages of $suite for $arch"
	package=$(apt_in "$suite" "$arch" apt-cache pkgnames | grep -xE "$pattern" | sort -V | tail -n 1)
	[ -n "$package" ] || kernels_fail "no package of $suite is named $pattern"
	unpacked=$(unfinished_folder)
	fetch_package "$suite" "$arch" "$package" "$unpacked" ||
		kernels_skip "the mirror $(kernel_mirror) does not provide the package $package"
	find "$unpacked" -name 'vmlinuz*' -type f -exec mv {} "$unpacked/vmlinuz" \;
	[ -e "$unpacked/vmlinuz" ] || kernels_fail "no vmlinuz in $package"
	printf '%s\n' "$package" >"$unpacked/package"
	rm -rf -- "$folder"
	mv "$unpacked" "$folder"
}

# ---- initramfs ------------------------------------------------------------------------------------------------------

readonly HOST_ARCH=$(dpkg --print-architecture)

# sysroot_of ARCH: the folder with programs and libraries of ARCH. For a foreign architecture it is a Debian root.
sysroot_of() {
	if [ "$1" = "$HOST_ARCH" ]; then
		printf ''
	else
		printf '%s' "$HEARTH_KERNELS_CACHE/sysroot-$1"
	fi
}

# build_of ARCH: the build folder for ARCH: HEARTH_BUILD for this machine's architecture, HEARTH_BUILD_<ARCH> for another.
build_of() {
	local variable=HEARTH_BUILD_${1^^}
	if [ "$1" = "$HOST_ARCH" ]; then
		printf '%s' "$HEARTH_BUILD"
	else
		printf '%s' "${!variable:-$HEARTH_BUILD-$1}"
	fi
}

gnu_triplet() {
	case $1 in
	amd64) printf 'x86_64-linux-gnu' ;;
	arm64) printf 'aarch64-linux-gnu' ;;
	*) kernels_fail "unknown architecture '$1'" ;;
	esac
}

# find_library ARCH NAME: prints its path inside the sysroot.
find_library() {
	local sysroot folder triplet
	sysroot=$(sysroot_of "$1") triplet=$(gnu_triplet "$1")
	for folder in "/lib/$triplet" "/usr/lib/$triplet" /lib /lib64 /usr/lib "/usr/lib/$triplet/systemd"; do
		if [ -e "$sysroot$folder/$2" ]; then
			printf '%s' "$folder/$2"
			return 0
		fi
	done
	return 1
}

# needed_by FILE: prints the names of the shared libraries, and the path of the dynamic loader.
needed_by() {
	readelf -dlW "$1" 2>/dev/null | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p; s/.*program interpreter: (.*)\]/\1/p'
}

# copy_libraries ARCH ROOT FILE: copies the libraries that FILE needs, and those that they need.
copy_libraries() {
	local arch=$1 root=$2 name path sysroot
	sysroot=$(sysroot_of "$arch")
	while read -r name; do
		case $name in
		/*) path=$name ;;
		*)
			# A library of our build, which is copied with the build.
			[ ! -e "$(build_of "$arch")/workloads/$name" ] || continue
			path=$(find_library "$arch" "$name") || kernels_fail "no '$name' for $3 in '${sysroot:-/}'"
			;;
		esac
		[ ! -e "$root$path" ] || continue
		mkdir -p "$root$(dirname "$path")"
		cp -L "$sysroot$path" "$root$path"
		copy_libraries "$arch" "$root" "$sysroot$path"
	done < <(needed_by "$3")
}

# copy_program ARCH ROOT FILE PATH: copies FILE to PATH in the guest, with its libraries.
copy_program() {
	mkdir -p "$2$(dirname "$4")"
	cp -L "$3" "$2$4"
	copy_libraries "$1" "$2" "$3"
}

# copy_tool ARCH ROOT NAME: copies a Debian program, found in the PATH of the sysroot.
copy_tool() {
	local sysroot folder
	sysroot=$(sysroot_of "$1")
	for folder in /usr/bin /bin /usr/sbin /sbin; do
		if [ -e "$sysroot$folder/$3" ]; then
			copy_program "$1" "$2" "$sysroot$folder/$3" "/usr/bin/$3"
			return 0
		fi
	done
	kernels_fail "no program '$3' for $1"
}

# Programs in every guest besides busybox: tests/e2e/lib.sh uses them.
readonly GUEST_TOOLS="bash mawk setpriv"

# The workloads of the checks, with their libraries.
readonly GUEST_WORKLOADS="shares deep unwound syscalls short off_cpu_waits cpu_cycles"

# build_initramfs ARCH FILE [TOOL...]: packs our programs, the workloads, the checks and their functions, and some Debian
# tools.
build_initramfs() {
	local arch=$1 file=$2 root program build tool
	shift 2
	build=$(build_of "$arch")
	[ -x "$build/bin/hearth-agent" ] || kernels_fail "no programs for $arch in '$build'"
	root=$(unfinished_folder)
	chmod 755 "$root"
	mkdir -p "$root"/{proc,sys,dev,run,tmp,var/lib,etc,root,usr/{bin,sbin},hearth/tests} "$root/hearth/build"
	ln -s usr/bin "$root/bin"
	ln -s usr/sbin "$root/sbin"
	copy_tool "$arch" "$root" busybox
	for tool in $GUEST_TOOLS "$@"; do
		copy_tool "$arch" "$root" "$tool"
	done
	ln -s mawk "$root/usr/bin/awk"
	for program in hearth-agent hearth-symbolizer hearth; do
		copy_program "$arch" "$root" "$build/bin/$program" "/hearth/build/bin/$program"
	done
	# Helpers that our programs execute are in the same folder.
	for program in "$build"/bin/hearth-*; do
		[ -e "$root/hearth/build/bin/${program##*/}" ] ||
			copy_program "$arch" "$root" "$program" "/hearth/build/bin/${program##*/}"
	done
	for program in $GUEST_WORKLOADS; do
		[ -e "$build/workloads/$program" ] || kernels_fail "the workload '$program' is not built in $build/workloads"
		copy_program "$arch" "$root" "$build/workloads/$program" "/hearth/build/workloads/$program"
	done
	# Workloads load their libraries from the path at which they were linked.
	mkdir -p "$root$(dirname "$build")"
	[ -e "$root$build" ] || ln -s /hearth/build "$root$build"
	mkdir -p "$root/hearth/tests/e2e" "$root/hearth/tests/kernels"
	cp "$kernels_root"/tests/e2e/*.sh "$root/hearth/tests/e2e/"
	cp -r "$kernels_dir"/{guest,checks} "$root/hearth/tests/kernels/"
	[ -z "${command:-}" ] || printf '. /hearth/tests/kernels/guest/lib.sh\nset +e\n%s\n' "$command" \
		>"$root/hearth/tests/kernels/checks/00-command.sh"
	printf 'root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/false\n' >"$root/etc/passwd"
	printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
	printf '%s\n' 00000000000000000000000000000001 >"$root/etc/machine-id"
	cp "$kernels_dir/guest/init" "$root/init"
	chmod 755 "$root/init"
	(cd "$root" && find . -print0 | sort -z | cpio --null --create --format=newc --owner=0:0 --quiet) >"$file.new"
	mv "$file.new" "$file"
	rm -rf -- "$root"
}

# ---- boot -----------------------------------------------------------------------------------------------------------

# start_machine ARCH VMLINUZ INITRAMFS CPUS MEMORY_MIB COMMAND_LINE: replaces the shell by the machine. The console of the
# machine is standard output.
#
# The clock of a machine with one CPU counts instructions, 4 ns each, and skips idle time: load on this host makes the
# machine slower, but does not change its results. With more CPUs QEMU 7.2 does not schedule the other CPUs under that
# clock. Such a machine uses the host's clock, and its checks must tolerate time that passes while it does not run.
start_machine() {
	local machine console line clock=(-accel tcg -icount "shift=2,sleep=off")
	case $1 in
	amd64) machine=(qemu-system-x86_64 -M q35 -cpu max,la57=off) console=ttyS0 ;;
	arm64) machine=(qemu-system-aarch64 -M virt -cpu max,pauth-impdef=on) console=ttyAMA0 ;;
	*) kernels_fail "unknown architecture '$1'" ;;
	esac
	[ "$4" = 1 ] || clock=(-accel "tcg,thread=multi")
	line="console=$console panic=-1 no_timer_check nowatchdog rcupdate.rcu_cpu_stall_suppress=1 quiet loglevel=4 $6"
	exec "${machine[@]}" "${clock[@]}" -smp "$4" -m "$5" -kernel "$2" -initrd "$3" -no-reboot -nodefaults -nographic \
		-serial stdio -append "$line" </dev/null
}

# boot NAME INITRAMFS LOG CPUS MEMORY_MIB COMMAND_LINE CHECK...: boots the kernel, runs the checks in it, and returns when
# the machine is off. Writes the console to LOG. Returns 124 if the machine still runs after $GUEST_LIMIT_S.
boot() {
	local name=$1 initramfs=$2 log=$3 cpus=$4 memory=$5 line=$6 arch checks
	shift 6
	arch=$(kernel_field "$name" 2)
	checks=$(printf '%s,' "$@")
	export kernels_dir kernels_root HEARTH_BUILD HEARTH_KERNELS_CACHE
	# --foreground: the machine stays in the process group that a time limit of this script ends.
	timeout --foreground --kill-after=10 "$GUEST_LIMIT_S" bash -c '. "$0/lib.sh"; start_machine "$@"' "$kernels_dir" \
		"$arch" "$HEARTH_KERNELS_CACHE/$name/vmlinuz" "$initramfs" "$cpus" "$memory" \
		"$line hearth.lacks=$(kernel_field "$name" 5) hearth.checks=${checks%,}" >"$log" 2>&1 &
	machine_pid=$!
	wait "$machine_pid"
}

# end_machine: when the script exits, for whatever reason, its machine ends too.
machine_pid=
end_machine() { [ -z "$machine_pid" ] || kill "$machine_pid" 2>/dev/null; }

# result_of LOG CHECK: prints "ok", "skipped REASON" or "FAILED REASON"; FAILED if the log has no result of the check.
result_of() {
	local line
	line=$(tr -d '\r' <"$1" | sed -n "s/^@@result $2 //p" | head -n 1)
	printf '%s\n' "${line:-FAILED the machine ended before this check reported}"
}

# figures_of LOG CHECK: prints the figures that the check measured, and its start time by the guest's clock.
figures_of() {
	tr -d '\r' <"$1" | sed -nE "/^---- $2, at/,/^@@result $2 /{s/^---- $2, (at .*)/\\1/p; s/^\\[[0-9:]+\\] //p}"
}

# ---- checks ---------------------------------------------------------------------------------------------------------

all_checks() {
	local file
	for file in "$kernels_dir"/checks/[0-9][0-9]-*.sh; do
		file=${file##*/}
		printf '%s\n' "${file%.sh}"
	done
}

# check_header CHECK KEY: prints the value of "# KEY: VALUE" in the first lines of a check. Keys: boot (words for the
# kernel's command line), cpus, memory (MiB), tools (Debian programs needed in the guest), ci (the kernels on which CI runs
# the check, or "none"; without it all kernels of CI).
check_header() { sed -n "2,20s/^# $2: //p" "$kernels_dir/checks/$1.sh" | head -n 1; }

# machine_of CHECK: prints the machine that a check requests. Checks with the same machine share a boot. The default is one
# CPU and lockdown in the mode `integrity`, as on a Debian host with Secure Boot.
machine_of() {
	local cpus memory boot
	cpus=$(check_header "$1" cpus) memory=$(check_header "$1" memory) boot=$(check_header "$1" boot)
	printf '%s|%s|%s\n' "${cpus:-1}" "${memory:-1024}" "${boot:-lockdown=integrity}"
}
