/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads from the memory of a process where its JVM keeps what the agent reads
 * (hotspot_fields.def), and the ranges of its generated code. The process may have prepared false
 * tables: everything is bounded, and offsets are checked.
 */

#include "agent/interpreter/hotspot/hotspot_fields.def"
#include "bpf/abi/jvm.h"
#include "common/base.h"

enum hotspot_symbol {
#define X(id, ...) HOTSPOT_SYMBOL_##id,
	HOTSPOT_SYMBOLS(X)
#undef X
		HOTSPOT_N_SYMBOLS,
};

enum hotspot_field {
#define X(id, ...) HOTSPOT_##id,
	HOTSPOT_FIELDS(X)
#undef X
		HOTSPOT_N_NEEDED_FIELDS,
	HOTSPOT_LAST_NEEDED_FIELD = HOTSPOT_N_NEEDED_FIELDS - 1,
#define X(id, ...) HOTSPOT_##id,
	HOTSPOT_FILE_FIELDS(X)
#undef X
		HOTSPOT_N_FIELDS,
};

/* To what a place is relative. */
enum hotspot_base {
	HOTSPOT_BASE_NONE, /* the field has an address */
	HOTSPOT_BASE_BLOB, /* the field is a number of bytes, as for the following ones */
#define X(id, ...) HOTSPOT_BASE_##id,
	HOTSPOT_BASES(X)
#undef X
		HOTSPOT_N_BASES,
};

enum hotspot_place_id {
	HOTSPOT_PLACE_CODE,    /* the instructions */
	HOTSPOT_PLACE_DEOPT,   /* where invalidated code continues */
	HOTSPOT_PLACE_METHODS, /* a list of Method, rounded up to a word */
	HOTSPOT_PLACE_SCOPES,  /* descriptions of positions (hotspot_frames.c) */
	HOTSPOT_PLACE_PCS,     /* a list of PcDesc */
	HOTSPOT_PLACE_PCS_END,
	HOTSPOT_N_PLACES,
};

enum hotspot_static {
#define X(id, ...) HOTSPOT_STATIC_##id,
	HOTSPOT_STATICS(X)
#undef X
		HOTSPOT_N_STATICS,
};

enum hotspot_size {
#define X(id, ...) HOTSPOT_SIZE_##id,
	HOTSPOT_SIZES(X)
#undef X
		HOTSPOT_N_SIZES,
};

/* No structure of a JVM is larger. */
#define HOTSPOT_MAX_OFFSET 4096

struct hotspot_place {
	uint16_t base;   /* enum hotspot_base */
	uint16_t offset; /* of a field in the code's header: an address, or a number of 32 bits */
};

/* The same for all processes that run one build of the JVM. */
struct hotspot_layout {
	uint16_t offset[HOTSPOT_N_FIELDS];
	uint16_t size[HOTSPOT_N_SIZES];
	uint16_t base[HOTSPOT_N_BASES]; /* offset of the field with the address, if it has one */
	struct hotspot_place place[HOTSPOT_N_PLACES];
	uint16_t excludes_zero; /* 1: compressed numbers have no byte 0 */
};

/* Copies [@address, @address + @size) to @buffer. 0, or a negative errno. */
struct hotspot_memory {
	const struct hotspot_layout *layout; /* not used by hotspot_layout_read() */
	int (*read)(void *arg, uint64_t address, void *buffer, size_t size);
	void *arg;
};

/*
 * Reads the layout, and into *ret_jvm what the unwinder needs, except the fields that identify the
 * process. @symbols: the addresses of HOTSPOT_SYMBOLS in the process. 1: read; 0: the JVM has not
 * finished its start; -ENOTSUP: it lacks a structure or a field; -EBADMSG: the tables are
 * malformed; or the negative errno of memory->read.
 */
int hotspot_layout_read(const struct hotspot_memory *memory,
			const uint64_t symbols[HOTSPOT_N_SYMBOLS],
			struct hotspot_layout *ret_layout, struct abi_jvm *ret_jvm);

/* Whether all offsets are in bounds, so that the readers may use the layout. */
bool hotspot_layout_is_valid(const struct hotspot_layout *layout);
