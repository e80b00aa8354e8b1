/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Code that the kernel generated at run time: BPF programs, trampolines, modules loaded after the
 * layout was read. It has no build-ID, only names in /proc/kallsyms. Reading it takes tens of
 * milliseconds, so callers keep the result and read rarely.
 */

#include "agent/executable/kernel_layout.h"
#include "common/vec.h"

struct kernel_code_symbol {
	uint64_t start;
	char name[96]; /* longer names are truncated */
};

VEC_DEFINE(kernel_code_vec, struct kernel_code_symbol);

struct kernel_code {
	struct kernel_code_vec symbols; /* in ascending order of start */
	uint64_t n_left_out;            /* symbols omitted because there was no room, in total */
};

/* Replaces the content of @code by the current code outside the image and modules of @layout. */
int kernel_code_read(struct kernel_code *code, const struct kernel_layout *layout);
void kernel_code_release(struct kernel_code *code);

/* The kernel generated code at @start, or freed it. 0 or -ENOMEM. */
int kernel_code_add(struct kernel_code *code, uint64_t start, const char *name);
void kernel_code_remove(struct kernel_code *code, uint64_t start);

/* The name of the code at @pc, or NULL. */
const char *kernel_code_find(const struct kernel_code *code, uint64_t pc);
