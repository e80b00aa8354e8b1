/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds a row of a table by its values. The caller keeps the rows, in an array of u64 that it may
 * reallocate; the index has 8 bytes for each slot, so it needs much less memory than a hash table
 * whose keys are the rows. Hashes are seeded, because rows may be made of untrusted numbers. Not
 * thread-safe.
 */

#include "common/base.h"

struct row_index {
	unsigned int n_columns;
	uint64_t *slots; /* [slot_mask + 1] upper half: of the hash; lower half: row + 1, 0 free */
	size_t slot_mask, count;
	uint64_t seed;
};

/* Allocates nothing. */
void row_index_init(struct row_index *index, unsigned int n_columns);
void row_index_release(struct row_index *index);

/*
 * Finds the row that equals @values[n_columns] among @rows, or adds @new_row, which the caller then
 * stores. 1 added: the caller must store it, or call row_index_undo(); 0: *ret_row was found;
 * -ENOMEM.
 */
int row_index_add(struct row_index *index, const uint64_t *rows, const uint64_t *values,
		  uint32_t new_row, uint32_t *ret_row);

/* Removes the row that was added last. */
void row_index_undo(struct row_index *index, const uint64_t *values, uint32_t row);

size_t row_index_bytes(const struct row_index *index);
