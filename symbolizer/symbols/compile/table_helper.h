/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A process that compiles one symbol table and ends. It is the server's own program, started anew
 * with TABLE_HELPER_ARGUMENT as first argument (so that nothing of the server's memory is in it)
 * and descriptors at fixed numbers; it enters a sandbox (common/sandbox.h) before it reads a byte
 * of the files. What it writes is the stored form (symbol_pack.h) and then struct
 * table_helper_report; both are to be distrusted like the files themselves.
 *
 *   PROGRAM TABLE_HELPER_ARGUMENT PARENT-PID INPUTS ADDRESS-SPACE WRITTEN-BYTES CPU-SECONDS
 *
 * INPUTS: a digit of bits, 1 << enum table_input.
 */

#include "symbolizer/symbols/compile/symbol_compile.h"

#define TABLE_HELPER_ARGUMENT  "--make-symbol-table"
#define TABLE_HELPER_ARGUMENTS 7

enum table_input {
	TABLE_INPUT_MAIN,
	TABLE_INPUT_EXECUTABLE,
	TABLE_INPUT_ALT,
	TABLE_INPUT_SPLIT,
	N_TABLE_INPUTS,
};

#define TABLE_HELPER_OUT_FD          3
#define TABLE_HELPER_INPUT_FD(i)     (4 + (i))
#define TABLE_HELPER_FIRST_UNUSED_FD TABLE_HELPER_INPUT_FD(N_TABLE_INPUTS)

#define TABLE_HELPER_MAGIC "HrthSymR"

struct table_helper_report {
	char magic[8];
	int32_t result; /* 0, or what symbol_compile() failed with */
	uint32_t lacks; /* enum sandbox_fence */
	struct symbol_compile_report compile;
};

/* Whether this process was started as a helper: to be asked before any option is read. */
bool table_helper_is_asked(int argc, char **argv);

/* Does its work; the exit status. */
int table_helper_main(int argc, char **argv);
