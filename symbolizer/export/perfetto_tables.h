/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The interned data of a Perfetto trace: names, files, frames, stacks and threads. Each row is
 * written when it is numbered for the first time, in a packet of its own: a trace is a list of
 * packets, so that it never exists as a whole. iids begin at 1.
 */

#include "common/string_table.h"
#include "common/vec.h"
#include "proto/perfetto.pb-c.h"
#include "symbolizer/export/frame_text.h"

VEC_DEFINE(perfetto_iid_vec, uint64_t);

struct perfetto_tables {
	struct bytes *out;
	struct bytes text; /* the text that is cleaned */
	struct string_table *functions;
	struct string_table *sources;
	struct hash_table *mappings; /* ID of an executable -> uint32_t */
	struct hash_table *frames;   /* -> uint32_t */
	struct hash_table *tasks;    /* -> uint32_t */
	struct perfetto_iid_vec stack, last_stack;
	uint64_t n_stacks;
	bool total;
};

/* All functions return 0, or a negative errno: -EFBIG if the output has no room, -ENOMEM. Release
 * the tables also after an error. */
int perfetto_tables_init(struct perfetto_tables *tables, struct bytes *out, bool total);
void perfetto_tables_release(struct perfetto_tables *tables);

/* Appends a packet. Sets its sequence and its flags. */
int perfetto_write(struct perfetto_tables *tables, Perfetto__TracePacket *packet);

/* Numbers the frames of a stack. Equal stacks that follow each other have one number. 0: the
 * stack has neither frames nor levels. */
int perfetto_number_stack(struct perfetto_tables *tables, const struct resolved_stacks *stacks,
			  const struct resolved_stack *stack, uint64_t *ret_iid);

/* Numbers the thread of a stack. */
int perfetto_number_task(struct perfetto_tables *tables, const struct resolved_stacks *stacks,
			 const struct resolved_stack *stack, uint64_t *ret_iid);
