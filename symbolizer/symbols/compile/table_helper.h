/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The helper: a process that compiles one symbol table, or decodes the machine code of one
 * function, and exits. It executes the server's program with the work as first argument, so it has
 * nothing of the server's memory, and gets its files as descriptors of fixed numbers. It enters a
 * sandbox (common/sandbox.h) before it reads a byte of the files. It writes its result, the stored
 * form of a table (symbol_pack.h) or an answer of code_exchange.h, and then struct
 * table_helper_report. The server trusts neither, because a hostile file may have taken over the
 * helper.
 *
 *   PROGRAM WORK PARENT-PID INPUTS ADDRESS-SPACE WRITTEN-BYTES CPU-SECONDS
 *
 * WORK: TABLE_HELPER_ARGUMENT, or CODE_HELPER_ARGUMENT with the request of code_exchange.h as main
 * file.
 *
 * INPUTS: a decimal number with the bits 1 << enum table_input of the files that are given.
 */

#include "symbolizer/symbols/compile/symbol_compile.h"

#define TABLE_HELPER_ARGUMENT  "--make-symbol-table"
#define CODE_HELPER_ARGUMENT   "--decode-code"
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
	int32_t result; /* of symbol_compile() or decode_code() */
	uint32_t lacks; /* enum sandbox_fence: what the kernel does not have */
	struct symbol_compile_report compile;
};

/*
 * Returns whether this process was started as a helper. main() checks it before it parses options.
 */
bool table_helper_is_asked(int argc, char **argv);

/*
 * Does the work, and ends the process without running exit handlers: the sandbox kills the
 * process at the system calls of LeakSanitizer's handler.
 */
_Noreturn void table_helper_run(int argc, char **argv);
