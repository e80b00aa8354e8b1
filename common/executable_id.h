/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The identity of an executable, everywhere the same: on the wire, in the store, in URLs and in
 * logs. The last column is its text form.
 *
 *   GNU    the NT_GNU_BUILD_ID note's bytes                          hex, e.g. "4a5a9b0a..."
 *   GO     the bytes of the Go build ID (".note.go.buildid")         "go-" + hex
 *   TEXT   XXH3-128 over the .text section's bytes (survives strip)  "text-" + hex
 *
 * The kernel, its modules and the vDSO have GNU build-IDs and are no special case here.
 */

#include "common/base.h"

enum executable_id_kind {
	EXECUTABLE_ID_NONE = 0, /* not known (anonymous memory, a file that vanished) */
	EXECUTABLE_ID_GNU = 1,
	EXECUTABLE_ID_GO = 2,
	EXECUTABLE_ID_TEXT = 3,
};

/* Go build IDs have 83 bytes; GNU ones are 8 to 32 in practice. */
#define EXECUTABLE_ID_MAX_BYTES 96
#define EXECUTABLE_ID_TEXT_SIZE (sizeof("text-") + 2 * EXECUTABLE_ID_MAX_BYTES)

struct executable_id {
	uint8_t kind; /* enum executable_id_kind */
	uint8_t size;
	/* zero beyond @size, so that ids can be hash keys */
	uint8_t bytes[EXECUTABLE_ID_MAX_BYTES];
};

/* -EINVAL for an unknown kind, no bytes, fewer than 4 (GNU), or too many. */
int executable_id_set(struct executable_id *id, unsigned int kind, const void *bytes, size_t size);

bool executable_id_equal(const struct executable_id *a, const struct executable_id *b);

/* "" for NONE. */
void executable_id_format(const struct executable_id *id, char ret_text[EXECUTABLE_ID_TEXT_SIZE]);

/* 0 or -EINVAL. Accepts upper-case hex; refuses anything else, above all '/' and '.'. */
int executable_id_parse(const char *text, struct executable_id *ret_id);
