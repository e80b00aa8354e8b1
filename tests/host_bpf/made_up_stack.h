/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An invented process: one executable, a table with rules that the test lists, and a stack with
 * words that the test writes.
 *
 *   code   [CODE_START, CODE_START + CODE_BYTES), executable 1 at bias CODE_BIAS; function i begins
 *          FUNCTION_BYTES * i after its start, and all of it has rule i of the table
 *   stack  [STACK_START, STACK_START + STACK_BYTES), of which the first @readable_bytes can be read
 */

#include "bpf/host/host_unwind.h"
#include "common/frame.h"
#include "tests/host_bpf/host_maps.h"
#include "tests/support/unit.h"

#define CODE_START     UINT64_C(0x555500010000)
#define CODE_BYTES     UINT64_C(0x10000)
#define CODE_BIAS      UINT64_C(0x555500000000)
#define FUNCTION_BYTES 256
#define OTHER_START    UINT64_C(0x7f0000000000) /* executable memory without a file */
#define OTHER_BYTES    UINT64_C(0x1000)
#define STACK_START    UINT64_C(0x7ffc00000000)
#define STACK_WORDS    1024
#define MAX_FUNCTIONS  16

struct made_up {
	uint64_t words[STACK_WORDS];
	size_t readable_bytes;
	struct host_maps maps;
	struct abi_config config;
	struct host_unwind_input input;
	struct host_unwind_output output;
};

/* Address of a word of the stack. */
#define at_word(index) (STACK_START + 8 * (uint64_t)(index))

/* An address in function @number that is not its first byte. */
static inline uint64_t in_function(unsigned int number)
{
	return CODE_START + number * FUNCTION_BYTES + 20;
}

static inline int read_made_up(void *argument, uint64_t address, void *buffer, size_t size)
{
	struct made_up *process = argument;

	if (address < STACK_START || address - STACK_START > process->readable_bytes ||
	    size > process->readable_bytes - (address - STACK_START))
		return -1;
	memcpy(buffer, (uint8_t *)process->words + (address - STACK_START), size);
	return 0;
}

static inline void made_up_map(struct made_up *process)
{
	const struct abi_mapping mappings[] = {
		{ .start = CODE_START,
		  .end = CODE_START + CODE_BYTES,
		  .bias = CODE_BIAS,
		  .executable = 1,
		  .kind = FRAME_NATIVE },
		{ .start = OTHER_START, .end = OTHER_START + OTHER_BYTES, .kind = FRAME_NATIVE },
	};

	assert_ok(host_maps_set_mappings(&process->maps, mappings, ARRAY_SIZE(mappings)));
	host_maps_describe(&process->maps, &process->input);
}

/*
 * Function i has rules[i]; addresses after the last function have rows without a rule. @rules NULL:
 * the executable has no table.
 */
static inline struct made_up *made_up_new(const struct abi_unwind_rule *rules, unsigned int n_rules)
{
	struct made_up *process = calloc(1, sizeof(*process));
	uint32_t page_first[CODE_BYTES / (UNWIND_PAGE_MASK + 1) + 1];
	struct abi_unwind_row rows[MAX_FUNCTIONS + CODE_BYTES / (UNWIND_PAGE_MASK + 1)];
	struct abi_unwind_rule all[MAX_FUNCTIONS + 1] = {};
	struct unwind_table table = { .base_address = CODE_START - CODE_BIAS,
				      .n_rules = n_rules + 1 };

	assert_non_null(process);
	assert_true(n_rules < MAX_FUNCTIONS &&
		    MAX_FUNCTIONS * FUNCTION_BYTES <= UNWIND_PAGE_MASK + 1);
	process->readable_bytes = sizeof(process->words);
	process->config.user_pc_mask = (UINT64_C(1) << 48) - 1;
	process->input.config = &process->config;
	process->input.read = read_made_up;
	process->input.read_argument = process;
	for (unsigned int i = 0; i < n_rules; i++) {
		rows[table.n_rows++] = (struct abi_unwind_row){ (uint16_t)(i * FUNCTION_BYTES),
								(uint16_t)(i + 1) };
		all[i + 1] = rules[i];
	}
	page_first[table.n_pages++] = 0;
	rows[table.n_rows++] = (struct abi_unwind_row){ (uint16_t)(n_rules * FUNCTION_BYTES), 0 };
	for (; table.n_pages < ARRAY_SIZE(page_first) - 1; table.n_pages++) {
		page_first[table.n_pages] = table.n_rows;
		rows[table.n_rows++] = (struct abi_unwind_row){};
	}
	page_first[table.n_pages] = table.n_rows;
	table.page_first = page_first;
	table.rows = rows;
	table.rules = all;
	if (rules)
		assert_ok(host_maps_add_table(&process->maps, 1, &table));
	made_up_map(process);
	return process;
}

static inline void made_up_free(struct made_up *process)
{
	host_maps_release(&process->maps);
	free(process);
}

/*
 * Checks that the stack ended for @reason, which was counted once, after frames at exactly these
 * pcs.
 */
static inline void expect_stack(const struct made_up *process, enum stack_cut cut,
				const uint64_t *pcs, size_t n_pcs)
{
	const struct host_unwind_output *output = &process->output;

	assert_int_equal(output->header.n_user_frames, n_pcs);
	for (size_t i = 0; i < n_pcs; i++) {
		bool in_code = pcs[i] >= CODE_START && pcs[i] < CODE_START + CODE_BYTES;
		bool is_known = in_code && !(output->header.flags & ABI_SAMPLE_UNKNOWN);

		assert_int_equal(output->frames[i].executable, is_known ? 1 : 0);
		assert_int_equal(output->frames[i].address, is_known ? pcs[i] - CODE_BIAS : pcs[i]);
	}
	assert_int_equal(output->header.cut, cut);
	if (cut != STACK_CUT_NONE)
		assert_int_equal(output->counters[ABI_COUNTER_CUT_DEPTH + cut - STACK_CUT_DEPTH],
				 1);
}

#define expect_frames(process, cut, ...)                                                           \
	do {                                                                                       \
		const uint64_t expected_pcs_[] = { __VA_ARGS__ };                                  \
		expect_stack((process), (cut), expected_pcs_, ARRAY_SIZE(expected_pcs_));          \
	} while (0)
