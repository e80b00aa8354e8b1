/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Code objects of this run of the agent: code that has no executable, such as functions of
 * interpreters, or BPF programs and trampolines in the kernel. Equal contents have one number. Like
 * the numbers of stacks, numbers begin with 1 and are never used for something else. Objects that
 * were not used for a while are removed when there are many.
 *
 * Used by the agent's main thread.
 */

#include "common/bytes.h"
#include "common/scoped.h"

struct code_objects;

/* Texts that are not known are NULL. */
struct code_content {
	const char *language;
	const char *function;
	const char *qualified_name;
	const char *file;
	uint32_t first_line;          /* 0: unknown */
	struct bytes_view line_table; /* at most MAX_LINE_TABLE_BYTES */
};

struct code_object {
	uint32_t number;
	struct code_content content; /* owned by the object */
	uint64_t first_sent_sequence;
	uint64_t last_window;
	uint64_t hash;
};

int code_objects_new(struct code_objects **ret_objects);
struct code_objects *code_objects_free(struct code_objects *objects);

/*
 * Finds or adds the object with this content, which is copied. 1: *ret_number; 0: it is not
 * recorded, because there are too many in use or the content is too large; -ENOMEM.
 */
int code_objects_find(struct code_objects *objects, const struct code_content *content,
		      uint32_t *ret_number);

/* NULL: it was removed. Valid until code_objects_begin_window(). */
struct code_object *code_objects_get(const struct code_objects *objects, uint32_t number);

/* Marks an object as used in the current window, so that it is kept. */
void code_objects_use(struct code_objects *objects, uint32_t number);

/* Removes objects that were not used in recent windows, if there are many. */
void code_objects_begin_window(struct code_objects *objects, uint64_t window);

/* Marks objects as not sent whose first batch is after @acknowledged_sequence. */
void code_objects_forget_sendings(struct code_objects *objects, uint64_t acknowledged_sequence);

/* Code that got no object because there were too many. */
uint64_t code_objects_lost(const struct code_objects *objects);

DEFINE_SCOPED(struct code_objects *, code_objects_free);
