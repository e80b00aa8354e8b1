/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Encodes small lists into one column: numbers as varints, texts as a length and bytes. Pure
 * functions.
 *
 * Encoders append to a buffer, which keeps the error (bytes_error()). Decoders copy into an arena
 * and return -EBADMSG for bytes that no encoder writes.
 */

#include "common/arena.h"
#include "common/bytes.h"
#include "symbolizer/store/store.h"

/* The path from which a process maps an executable (store ID). */
struct stored_path {
	uint32_t executable;
	const char *path;
};

int codec_read_labels(struct bytes_view in, struct arena *arena, struct label **ret_labels,
		      uint32_t *ret_count);

void codec_add_paths(struct bytes *out, const struct stored_path *paths, uint32_t count);

/* Returns 1 if found, 0 if not. */
int codec_find_path(struct bytes_view in, uint32_t executable, struct arena *arena,
		    const char **ret_path);

void codec_add_segments(struct bytes *out, const struct load_segment *segments, uint32_t count);
int codec_read_segments(struct bytes_view in, struct arena *arena,
			const struct load_segment **ret_segments, uint32_t *ret_count);

/*
 * Reads the counters of a block in a day file of format 1: for each counter a text and its value.
 * Calls @function for each counter, in order. A negative result of @function ends the walk with
 * it. The whole column is checked before the first call; nothing is allocated.
 */
typedef int (*codec_counter_function)(void *arg, struct bytes_view name, uint64_t value);
int codec_walk_counters(struct bytes_view in, codec_counter_function function, void *arg);

/* All attributes of a host except its times. */
int codec_read_host(struct bytes_view in, struct arena *arena, struct store_host *ret_host);
