/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads code of Perl from the memory of a process: subs (CV), with name, package, file and first
 * line, and names of files. The process may have freed them, or may have prepared false ones: types
 * are checked, everything is bounded.
 */

#include "agent/interpreter/perl/perl_layout.h"
#include "agent/interpreter/runtime/read_code.h"

struct perl_memory {
	const struct perl_layout *layout; /* of the version of Perl in the process */
	bool has_threads;                 /* of the build */
	memory_read read;
	void *arg;
};

/*
 * Reads the code at @address, as python_code_read(). Address and marks are those of a frame of the
 * kind PERL (bpf/abi/interpreter.h). The qualified name is that of caller(): "Shop::price",
 * "main::__ANON__". A closure is "__ANON__"; code without a sub is "{main}", "{eval}" or "{block}".
 */
int perl_code_read(const struct perl_memory *memory, uint64_t address, uint64_t known_mark,
		   struct read_code *ret_code, uint8_t *content);
