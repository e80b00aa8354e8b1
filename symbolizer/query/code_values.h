/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The values of one function by the addresses of its frames: self, of stacks whose innermost frame
 * is there, and total, of stacks with any frame there. The store keeps the exact addresses that
 * were sampled. Those of callers lie in the call: the agent subtracts one from a return address.
 *
 * A frame belongs to the function if the function itself or one inlined into it has the code. A
 * stack counts once for an address, and once for the function.
 */

#include "symbolizer/query/resolved_stacks.h"

/* A file with code of the function. Texts are in the arena. */
struct code_file {
	struct executable_id identity;
	const char *name;     /* "": not known */
	bool kernel_image;    /* addresses are relative to the symbol _text */
	uint64_t self, total; /* sums over its addresses, to rank files */
};

struct code_value {
	uint32_t file;        /* index in the files */
	bool inlined;         /* the innermost function there is another one, which is inlined */
	uint64_t address;     /* ELF address; relative to _text if file->kernel_image */
	uint64_t self, total; /* not rounded */
};

struct code_values;

/* @function is that of source_lines_new(), or the label of a function without a name. */
int code_values_new(const char *function, struct arena *arena, struct code_values **ret_values);
struct code_values *code_values_free(struct code_values *values);

/* Its visits return 0, -ENOMEM, or -EFBIG: there are more than CODE_VALUES_MAX addresses. */
struct stack_visitor code_values_visitor(struct code_values *values);

#define CODE_VALUES_MAX 100000

/* The values by file and address. No stack can be added afterwards. */
const struct code_value *code_values_sorted(struct code_values *values, size_t *ret_count);
const struct code_file *code_values_files(const struct code_values *values, size_t *ret_count);

struct code_sums {
	uint64_t self;    /* of the function, as in lists of functions */
	uint64_t inlined; /* self of the functions that are inlined into it */
	uint64_t total;
	uint64_t without_code; /* part of total: frames of interpreters and generated code */
};
struct code_sums code_values_sums(const struct code_values *values);

/* The name without prefix and suffix, to find the code; NULL: the function has no name. */
const char *code_values_name(const struct code_values *values);

DEFINE_SCOPED(struct code_values *, code_values_free);
