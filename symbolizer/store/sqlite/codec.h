/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How small lists are kept inside of one column: varints, and texts as a length and bytes. Pure
 * functions.
 *
 * Encoders append to a buffer and report through bytes_error(). Decoders copy into an arena;
 * -EBADMSG for bytes that no encoder wrote.
 */

#include "common/arena.h"
#include "common/bytes.h"
#include "symbolizer/store/store.h"

/* Where a process maps an executable from, by the store's executable id. */
struct stored_path {
	uint32_t executable;
	const char *path;
};

void codec_add_labels(struct bytes *out, const struct label *labels, uint32_t count);
int codec_read_labels(struct bytes_view in, struct arena *arena, struct label **ret_labels,
		      uint32_t *ret_count);

void codec_add_paths(struct bytes *out, const struct stored_path *paths, uint32_t count);

/* 1 found, 0 not. */
int codec_find_path(struct bytes_view in, uint32_t executable, struct arena *arena,
		    const char **ret_path);

void codec_add_segments(struct bytes *out, const struct load_segment *segments, uint32_t count);
int codec_read_segments(struct bytes_view in, struct arena *arena,
			const struct load_segment **ret_segments, uint32_t *ret_count);

void codec_add_counters(struct bytes *out, const struct batch_counter *counters, uint32_t count);

/*
 * Calls @function for each counter, in order; it returns < 0 to stop with that error. Nothing is
 * allocated, whatever the column has: all of it is checked before the first call.
 */
int codec_walk_counters(struct bytes_view in, store_counter_function function, void *arg);

/* All that a host says of itself but its times. */
void codec_add_host(struct bytes *out, const struct batch_host *host);
int codec_read_host(struct bytes_view in, struct arena *arena, struct store_host *ret_host);
