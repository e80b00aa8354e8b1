/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Checks and repairs UTF-8 as defined by Unicode 15 (table 3-7): no overlong forms, no surrogates,
 * nothing above U+10FFFF. Protocol Buffers requires valid UTF-8 in every string, but names of
 * threads, files and cgroups may contain any bytes.
 */

#include "common/base.h"

/* U+FFFD, which replaces invalid bytes. */
#define UTF8_REPLACEMENT      "\xef\xbf\xbd"
#define UTF8_REPLACEMENT_SIZE (sizeof(UTF8_REPLACEMENT) - 1)

/*
 * Writes @character as UTF-8 and returns its size, 1 to 4. NUL, surrogates and numbers that are no
 * characters become '?'.
 */
size_t utf8_encode(uint32_t character, uint8_t to[4]);

/* Bytes of the character at @text, which has @size > 0 bytes. 0: invalid. */
size_t utf8_sequence_length(const uint8_t *text, size_t size);

/* Length of the longest valid prefix of @text. */
size_t utf8_valid_length(const char *text, size_t size);

/*
 * Copies @text to @to and replaces each invalid byte by U+FFFD. Writes at most @capacity bytes, and
 * whole characters only. Returns the number of bytes written. A capacity of 3 * @size is always
 * enough.
 */
size_t utf8_repair(const char *text, size_t size, char *to, size_t capacity);
