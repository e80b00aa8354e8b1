/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Code that the kernel made at run time: BPF programs, trampolines, modules loaded after the layout
 * was read. It has no build-ID, only names in /proc/kallsyms. One reading takes tens of
 * milliseconds: callers keep it and read seldom.
 */

#include "agent/executable/kernel_layout.h"
#include "common/vec.h"

struct kernel_code_symbol {
	uint64_t start;
	char name[96]; /* longer ones are cut */
};

VEC_DEFINE(kernel_code_vec, struct kernel_code_symbol);

struct kernel_code {
	struct kernel_code_vec symbols; /* by rising start */
	uint64_t n_left_out;            /* for which there was no room, in all */
};

/* Replaces @code by what runs now outside of image and modules of @layout. */
int kernel_code_read(struct kernel_code *code, const struct kernel_layout *layout);
void kernel_code_release(struct kernel_code *code);

/* The kernel has made code, or freed what is at @start. 0 or -ENOMEM. */
int kernel_code_add(struct kernel_code *code, uint64_t start, const char *name);
void kernel_code_remove(struct kernel_code *code, uint64_t start);

/* The name of the code at @pc, or NULL. */
const char *kernel_code_find(const struct kernel_code *code, uint64_t pc);
