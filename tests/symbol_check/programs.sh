#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Gets the programs of the table in docs/symbols.md.
#
#   tests/symbol_check/programs.sh FOLDER      unpacks and builds missing programs, prints arguments for run.sh
#
# Packages of Debian 12 with debug files are downloaded by apt-get and unpacked in FOLDER; nothing is installed. Programs
# built here: C++ by g++ and clang++ with LTO, split DWARF and DWARF 4; Rust; Go; C. Needs g++, clang, lld, dwz, cargo,
# golang-go; 6 GB and half an hour, most of it for ceph-osd and the kernel.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
[ $# -eq 1 ] || {
	sed -n '4,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
	exit 2
}
mkdir -p "$1/deb" "$1/x" "$1/bin"
folder=$(cd "$1" && pwd)
x=$folder/x
bin=$folder/bin

# unpack PACKAGE...: downloads each package once and unpacks it to x/.
unpack() {
	local package
	for package in "$@"; do
		[ -e "$folder/deb/$package.done" ] && continue
		(cd "$folder/deb" && apt-get download "$package" >&2)
		dpkg -x "$folder/deb/${package}"_*.deb "$x"
		rm "$folder/deb/${package}"_*.deb
		touch "$folder/deb/$package.done"
	done
}

# The debug file of an ELF file, by its build-ID.
debug_file_of() {
	local id
	id=$(readelf -n "$1" 2>/dev/null | sed -n 's/.*Build ID: //p')
	echo "$x/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
}

debian_programs() {
	local kernel
	kernel=$(apt-cache depends linux-image-amd64-dbg | sed -n 's/.*Depends: //p')
	unpack ceph-osd ceph-osd-dbg "$kernel" libc6 libc6-dbg python3.11-minimal python3.11-dbg \
		openjdk-17-jre-headless openjdk-17-dbg
	debug_file_of "$x/usr/bin/ceph-osd"
	echo "$x"/usr/lib/debug/boot/vmlinux-*
	debug_file_of "$x/lib/x86_64-linux-gnu/libc.so.6"
	debug_file_of "$x/usr/bin/python3.11"
	debug_file_of "$x/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so"
	echo "$x/usr/bin/python3.11d"
}

# build NAME COMPILER FLAG...: compiles both units of the C++ program separately, as a build system does, and links them.
build() {
	local name=$1 compiler=$2 objects=$folder/o/$1
	shift 2
	[ -e "$bin/$name" ] && return
	mkdir -p "$objects"
	for unit in text matrix; do
		(cd "$objects" && "$compiler" -std=c++17 -g -isystem "$x/usr/include" -isystem "$x/usr/include/eigen3" "$@" \
			-c "$here/programs/$unit.cc" -o "$unit.o")
	done
	(cd "$objects" && "$compiler" -g "$@" text.o matrix.o -o "$bin/$name")
}

cxx_programs() {
	unpack nlohmann-json3-dev libeigen3-dev libfmt-dev
	build gcc-lto g++ -O2 -flto
	build gcc-dwarf4-types g++ -O2 -gdwarf-4 -fdebug-types-section
	build clang-thinlto clang++ -O2 -flto=thin -fuse-ld=lld -Wno-unused-command-line-argument
	build clang-dwarf4 clang++ -O2 -gdwarf-4
	# binutils' dwp of Debian 12 crashes on DWARF 5.
	build gcc-split g++ -O2 -gsplit-dwarf -gdwarf-4
	[ -e "$bin/gcc-split.dwp" ] || (cd "$folder/o/gcc-split" && dwp -e "$bin/gcc-split" -o "$bin/gcc-split.dwp")
	build clang-split clang++ -O2 -gsplit-dwarf -gdwarf-5
	[ -e "$bin/clang-split.dwp" ] ||
		(cd "$folder/o/clang-split" && llvm-dwp -e "$bin/clang-split" -o "$bin/clang-split.dwp")
	build gcc-plain g++ -O2
	[ -e "$bin/gcc-dwz" ] || {
		cp "$bin/gcc-plain" "$bin/gcc-dwz"
		dwz "$bin/gcc-dwz"
	}
	printf '%s\n' "$bin/gcc-lto" "$bin/gcc-dwarf4-types" "$bin/gcc-dwz" "$bin/clang-thinlto" "$bin/clang-dwarf4" \
		"$bin/gcc-split,split=$bin/gcc-split.dwp" "$bin/clang-split,split=$bin/clang-split.dwp"
}

rust_program() {
	unpack librust-regex-dev librust-regex-syntax-dev librust-aho-corasick-dev librust-memchr-dev \
		librust-serde-json-dev librust-serde-dev librust-itoa-dev librust-ryu-dev
	[ -e "$bin/rust" ] || {
		mkdir -p "$folder/o/rust"
		cp -r "$here/programs/rust/." "$folder/o/rust/"
		(cd "$folder/o/rust" &&
			cargo build --release --offline --jobs 1 --config 'source.crates-io.replace-with="debian"' \
				--config "source.debian.directory=\"$x/usr/share/cargo/registry\"" >&2)
		cp "$folder/o/rust/target/release/symbol_check_program" "$bin/rust"
	}
	echo "$bin/rust"
}

go_program() {
	[ -e "$bin/go-compile" ] || go build -o "$bin/go-compile" cmd/compile
	echo "$bin/go-compile"
}

c_program() {
	[ -e "$bin/c-lto" ] || {
		cmake -S "$root" -B "$folder/o/c" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
			-DCMAKE_C_FLAGS='-flto=1' >/dev/null
		cmake --build "$folder/o/c" --parallel 1 --target hearth-symbolizer >/dev/null
		cp "$folder/o/c/bin/hearth-symbolizer" "$bin/c-lto"
	}
	echo "$bin/c-lto"
}

debian_programs
cxx_programs
rust_program
go_program
c_program
