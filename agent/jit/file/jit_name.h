/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Splits the name that a runtime writes for generated code into function, file and line:
 *
 *   V8        "LazyCompile:*foo /app/x.js:12:3", "JS:~foo file:///app/x.mjs:12:3"
 *   HotSpot   "int com.example.Shop.price(int, long)", perf-map-agent: "Lcom/example/Shop;::price"
 *   .NET      "int32 [shop] Shop::Price(int32)[OptimizedTier1]"
 *   CPython   "py::Shop.price:/app/shop.py"
 *
 * Another name is the function as it is. The state of optimisation (~ * ^ + of V8, the tier of
 * .NET) is dropped, because it changes while the program runs, and the function is the same.
 */

#include "common/bytes.h"

/* Longer texts are cut. */
#define JIT_TEXT_BYTES 1024

struct jit_name {
	const char *language;
	char function[JIT_TEXT_BYTES];
	char file[JIT_TEXT_BYTES];
	uint32_t first_line; /* 0: not known */
};

/* The result is valid UTF-8 without control characters. */
void jit_name_parse(struct bytes_view text, struct jit_name *ret_name);

/* Copies a text into ret_copy[JIT_TEXT_BYTES], repaired as above. */
void jit_text_copy(struct bytes_view text, char *ret_copy);
