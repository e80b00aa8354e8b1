/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads /proc/kallsyms line by line through a fixed buffer, so that the agent never holds the whole
 * file (up to 10 MB). The symbols of the image come first, in order of address. The symbols of
 * modules, BPF programs and trampolines follow, each with the name of its owner.
 */

#include "common/base.h"

/* KSYM_NAME_LEN is 512 since Linux 6.1 (b8a94bfb3395), 128 before. */
#define KALLSYMS_NAME_SIZE 512

/* MODULE_NAME_LEN is 56 on 64-bit kernels. */
#define KALLSYMS_OWNER_SIZE 64

struct kallsyms_symbol {
	uint64_t address; /* 0: the kernel hides addresses from this process */
	char type;        /* as nm prints it: t T w W d D ... */
	char name[KALLSYMS_NAME_SIZE];
	char owner[KALLSYMS_OWNER_SIZE]; /* module, "bpf", "__builtin__ftrace"; "" for the image */
};

struct kallsyms;

/* @path is "/proc/kallsyms" except in tests. 0 or negative errno. */
int kallsyms_open(const char *path, struct kallsyms **ret_kallsyms);
struct kallsyms *kallsyms_close(struct kallsyms *kallsyms);

/* 1: *ret_symbol; 0: end of file. Skips malformed lines. Negative errno if reading fails. */
int kallsyms_next(struct kallsyms *kallsyms, struct kallsyms_symbol *ret_symbol);

/* t, T, w, W. */
bool kallsyms_is_text(const struct kallsyms_symbol *symbol);

#include "common/scoped.h"
DEFINE_SCOPED(struct kallsyms *, kallsyms_close);
