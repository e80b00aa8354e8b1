/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The identity of an executable, as used on the wire, in the store, in URLs and in logs.
 *
 *   GNU    the bytes of the NT_GNU_BUILD_ID note                     hex, such as "4a5a9b0a..."
 *   GO     the bytes of the Go build ID (".note.go.buildid")         "go-" + hex
 *   TEXT   XXH3-128 over the .text section's bytes (survives strip)  "text-" + hex
 *   HTLHASH  of the bytes at both ends of the file and its length    "htlhash-" + hex
 *
 * HTLHASH is the ID by which OpenTelemetry's eBPF profiler names files: the first half of the
 * SHA-256 over the first 4096 bytes, the last 4096 bytes and the length of the file (8 bytes, big-
 * endian). It is an alias: uploads of files have one of the others.
 *
 * The kernel, its modules and the vDSO have GNU build-IDs.
 */

#include "common/base.h"

enum executable_id_kind {
	EXECUTABLE_ID_NONE = 0, /* unknown (anonymous memory, a deleted file) */
	EXECUTABLE_ID_GNU = 1,
	EXECUTABLE_ID_GO = 2,
	EXECUTABLE_ID_TEXT = 3,
	EXECUTABLE_ID_HTLHASH = 4,
	EXECUTABLE_ID_KIND_END,
};

#define EXECUTABLE_ID_HTLHASH_BYTES 16

/* Go build IDs have 83 bytes; GNU ones are 8 to 32 in practice. */
#define EXECUTABLE_ID_MAX_BYTES 96
#define EXECUTABLE_ID_TEXT_SIZE (sizeof("text-") + 2 * EXECUTABLE_ID_MAX_BYTES)

struct executable_id {
	uint8_t kind; /* enum executable_id_kind */
	uint8_t size;
	/* zero beyond @size, because IDs are keys of hash tables */
	uint8_t bytes[EXECUTABLE_ID_MAX_BYTES];
};

/* 0, or -EINVAL: unknown kind, no bytes, fewer than 4 (GNU), not 16 (HTLHASH), or too many. */
int executable_id_set(struct executable_id *id, unsigned int kind, const void *bytes, size_t size);

bool executable_id_equal(const struct executable_id *a, const struct executable_id *b);

/* "" for NONE. */
void executable_id_format(const struct executable_id *id, char ret_text[EXECUTABLE_ID_TEXT_SIZE]);

/*
 * 0 or -EINVAL. Accepts a prefix and hex digits of either case, so an accepted text contains no '/'
 * or '.' and is safe in a path.
 */
int executable_id_parse(const char *text, struct executable_id *ret_id);
