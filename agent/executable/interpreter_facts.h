/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the file of an interpreter says about it (agent/interpreter/python/find_python.h). A parser
 * reads it together with the identity of the file, and the executable keeps it.
 */

#include "bpf/abi/interpreter.h"
#include "common/base.h"

#define INTERPRETER_SYMBOLS 12

struct interpreter_facts {
	uint32_t runtime; /* enum interpreter_runtime; INTERPRETER_NONE: the file has none */
	uint32_t version; /* major << 8 | minor */
	/* Python: _PyRuntime; V8: pointer to the group of isolates, 0 if it is not needed */
	uint64_t runtime_addr;
	uint64_t has_loop_registers;  /* PHP: the loop has its frame in registers */
	uint64_t vm_addr, tls_offset; /* of CRuby (struct abi_ruby_layout) */
	struct abi_perl_layout perl;  /* addresses of the file and code of Perl; else 0 */
	uint32_t dispatch_table;      /* V8: offset in the group of the pointer to the table */
	uint32_t zero;
	union {
		struct {
			struct abi_code_range loop[ABI_LOOP_PARTS];
			struct abi_code_piece unlinked[ABI_UNLINKED_PIECES];
		};
		/* HotSpot: ELF addresses (agent/interpreter/hotspot/hotspot_layout.h) */
		uint32_t symbols[INTERPRETER_SYMBOLS];
	};
};
