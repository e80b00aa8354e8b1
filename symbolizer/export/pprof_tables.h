/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The tables of a pprof file: texts, functions, mappings and locations. Each row is written when it
 * is numbered for the first time. Protocol Buffers concatenates repeated fields of messages that
 * are written one after another, so that each row is a message of its own, and the profile never
 * exists as a whole.
 */

#include "common/string_table.h"
#include "proto/profile.pb-c.h"
#include "symbolizer/export/frame_text.h"
#include "symbolizer/export/gzip_stream.h"

struct pprof_tables {
	struct gzip_stream gzip;
	struct bytes pieces; /* that are not compressed yet */
	struct bytes text;   /* the text that is cleaned */
	struct string_table *strings;
	struct hash_table *locations; /* struct location_key -> uint32_t */
	struct hash_table *functions; /* struct function_key -> uint32_t */
	struct hash_table *mappings;  /* ID of an executable -> uint32_t */
};

/* All functions return 0, or a negative errno: -EFBIG if the output has no room, -ENOMEM. Release
 * the tables also after an error. */
int pprof_tables_init(struct pprof_tables *tables, struct bytes *out);
void pprof_tables_release(struct pprof_tables *tables);

/* Writes what is not compressed yet. Nothing can be written after it. */
int pprof_tables_finish(struct pprof_tables *tables);

/* Appends a message with some of the profile's fields. */
int pprof_write_piece(struct pprof_tables *tables, const Pprof__Profile *piece);

/* Numbers a text that is valid UTF-8; pprof_number_any_text() one with any bytes. */
int pprof_number_text(struct pprof_tables *tables, const char *text, size_t length,
		      int64_t *ret_id);
int pprof_number_any_text(struct pprof_tables *tables, const char *text, int64_t *ret_id);

/* A frame with the functions at its address. */
struct pprof_frame {
	const struct resolved_frame *functions; /* [n_functions], the innermost first */
	uint32_t n_functions;
};

/* Numbers the location of a frame in a stack of @process. */
int pprof_number_location(struct pprof_tables *tables, const struct resolved_stacks *stacks,
			  const struct store_process *process, const struct pprof_frame *frame,
			  uint64_t *ret_id);
