/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The executables of a segment, without code objects and without executables of unknown identity,
 * and the paths from which its processes map them.
 */

#include "common/executable_id.h"
#include "symbolizer/store/segment/segment_builder.h"

/* Texts are those of the segment. */
struct segment_executable {
	unsigned int class; /* enum executable_id_kind */
	uint64_t role;
	struct bytes_view id, name;
	struct bytes_view path; /* empty: unknown, or no file, as of the kernel */
};

/* A result < 0 ends the walk with it. */
typedef int (*segment_executable_function)(void *arg, const struct segment_executable *executable);

/*
 * @segment has all tables. An executable may be passed several times, because processes of
 * different agents may describe it differently. 0, -ENOMEM, or the result of the function.
 */
int segment_executables(const struct segment *segment, segment_executable_function function,
			void *arg);

/* The same for a segment that is not finished. */
int segment_builder_executables(const struct segment_builder *builder,
				segment_executable_function function, void *arg);

/*
 * Finds one executable, and adds the number of rows that were read to *n_rows: no rows if no text
 * of the builder has the bytes of the identity. 1 found, 0 unknown.
 */
int segment_builder_find_executable(const struct segment_builder *builder,
				    const struct executable_id *identity, size_t *n_rows,
				    struct segment_executable *ret_executable);
