/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * UTF-8 as Unicode 15 has it (table 3-7): no overlong forms, no surrogates, nothing above U+10FFFF.
 * Protocol Buffers requires it of every string; names of threads, files and cgroups may hold any
 * bytes.
 */

#include "common/base.h"

/* U+FFFD, which stands for bytes that are no character. */
#define UTF8_REPLACEMENT      "\xef\xbf\xbd"
#define UTF8_REPLACEMENT_SIZE (sizeof(UTF8_REPLACEMENT) - 1)

/* Bytes of the character at @text, of which @size > 0 bytes are there; 0: it is none. */
size_t utf8_sequence_length(const uint8_t *text, size_t size);

/* Bytes at the beginning of @text that are whole characters. */
size_t utf8_valid_length(const char *text, size_t size);

/*
 * Copies @text, each byte that belongs to no character replaced by U+FFFD, to @to, of which at most
 * @capacity bytes are written, whole characters only. Returns the bytes written; 3 * @size is
 * always enough room.
 */
size_t utf8_repair(const char *text, size_t size, char *to, size_t capacity);
