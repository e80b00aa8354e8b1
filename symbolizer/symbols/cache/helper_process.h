/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Runs a table helper (table_helper.h) to its end and says what became of it. However it ends, by
 * its own fault, by a limit or killed by somebody, that is an answer and not an error of ours.
 */

#include "common/scoped.h"
#include "symbolizer/symbols/compile/table_helper.h"

struct helper_limits {
	uint64_t address_space_bytes;
	uint64_t written_bytes;
	uint64_t cpu_s;
	uint64_t wall_s;
};

/* What files of so many bytes together may cost: several times what honest ones take. */
struct helper_limits helper_limits_for(uint64_t input_bytes);

struct helper_job {
	const char *program; /* what to execute */
	struct symbol_compile_input input;
	struct helper_limits limits;
	int stop_fd; /* readable: kill it and return -ECANCELED */
};

#define HELPER_WHY_SIZE 320

enum helper_outcome {
	HELPER_MADE_TABLE,
	HELPER_REFUSED, /* the files are what failed; they will again */
	HELPER_DIED,    /* killed, or a limit was reached: may end otherwise another time */
};

struct helper_result {
	enum helper_outcome outcome;
	char why[HELPER_WHY_SIZE]; /* one line; with a table, what of the files could not be used */
	struct symbol_compile_report report;
	unsigned int lacks; /* enum sandbox_fence */
	int stored_fd;      /* HELPER_MADE_TABLE: the stored form, from offset 0; else -1 */
	uint64_t stored_bytes;
};

/*
 * Returns when the helper is gone. 0: see ret_result, to be released with helper_result_release().
 * -ECANCELED by stop_fd; other errors: no helper could be started.
 */
int helper_run(const struct helper_job *job, struct helper_result *ret_result);

void helper_result_release(struct helper_result *result);
