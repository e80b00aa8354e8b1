/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Runs a helper (table_helper.h), waits for its end, and reports the outcome. A helper that
 * crashes, exceeds a limit or is killed is an outcome, not an error of helper_run().
 */

#include "common/scoped.h"
#include "symbolizer/symbols/compile/table_helper.h"

struct helper_limits {
	uint64_t address_space_bytes;
	uint64_t written_bytes;
	uint64_t cpu_s;
	uint64_t wall_s;
};

/* Limits of a helper that reads @input_bytes in total. Real files need several times less. */
struct helper_limits helper_limits_for(uint64_t input_bytes);

/* Limits of a helper that decodes code. CODE_MAX_BYTES take a quarter of a second. */
struct helper_limits helper_limits_for_code(void);

enum helper_work {
	HELPER_COMPILES_TABLE,
	HELPER_DECODES_CODE, /* the main file is a request of code_exchange.h */
};

struct helper_job {
	const char *program;
	enum helper_work work;
	struct symbol_compile_input input;
	struct helper_limits limits;
	int stop_fd; /* readable: kill the helper and return -ECANCELED */
};

#define HELPER_WHY_SIZE 320

enum helper_outcome {
	HELPER_MADE_TABLE, /* or decoded the code */
	HELPER_REFUSED,    /* the files cannot be compiled; trying again is useless */
	HELPER_DIED,       /* crashed, killed or reached a limit; another attempt may succeed */
};

struct helper_result {
	enum helper_outcome outcome;
	/* one line: why there is no table, or which parts of the files the table lacks */
	char why[HELPER_WHY_SIZE];
	struct symbol_compile_report report;
	unsigned int lacks; /* enum sandbox_fence, or-ed: the kernel does not have these */
	int stored_fd;      /* HELPER_MADE_TABLE: the result, from offset 0; else -1 */
	uint64_t stored_bytes;
};

/*
 * Runs a helper to its end. Returns 0 and fills *ret_result, which the caller releases. -ECANCELED:
 * stop_fd became readable; other errors: no helper could be started.
 */
int helper_run(const struct helper_job *job, struct helper_result *ret_result);

void helper_result_release(struct helper_result *result);
