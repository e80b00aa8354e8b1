/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads objects of V8 from the memory of a process. The garbage collector may have moved an object
 * since, and a process may have prepared false ones: types are checked, everything is bounded, and
 * nothing else is believed.
 *
 * The functions return a negative errno of memory->read, or -EBADMSG: it is no such object.
 */

#include "agent/interpreter/runtime/read_code.h"
#include "agent/interpreter/v8/v8_layout.h"

struct v8_memory {
	const struct v8_layout *layout; /* of the version of V8 in the process */
	memory_read read;
	void *arg;
};

/* Instance types below this are those of strings. */
#define V8_FIRST_OTHER_TYPE 0x80

/* Bytes before the fields of any object: the pointer to the map. */
#define V8_MAP_BYTES 8

/* Smis are in the upper half of a word. */
static inline bool v8_is_smi(uint64_t word)
{
	return (word & 0xffffffff) == 0;
}

static inline uint32_t v8_smi(uint64_t word)
{
	return (uint32_t)(word >> 32);
}

/* Reads the first @n_words of the object to which @pointer points, and its instance type. 0. */
int v8_object_read(const struct v8_memory *memory, uint64_t pointer, uint64_t *words,
		   size_t n_words, uint16_t *ret_type);

/* The characters of a string: bytes of Latin-1, or units of UTF-16. */
struct v8_string {
	uint64_t address; /* of the first one */
	uint32_t length;  /* characters */
	bool has_two_bytes;
};

/*
 * Finds the characters of the string to which @pointer points. 0. -EBADMSG also for a string whose
 * characters are not in one piece: a concatenation that was not used yet.
 */
int v8_string_find(const struct v8_memory *memory, uint64_t pointer, struct v8_string *ret_string);

/* The number of characters of the string to which @pointer points; 0: it is no string. */
uint32_t v8_string_length(const struct v8_memory *memory, uint64_t pointer);

/*
 * Reads the string to which @pointer points as UTF-8, at most @max_bytes; more is cut. 0. -EBADMSG
 * also for a concatenation of many strings.
 */
int v8_string_read(const struct v8_memory *memory, uint64_t pointer, size_t max_bytes, uint8_t *to,
		   uint32_t *ret_bytes);
