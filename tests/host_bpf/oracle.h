/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The expected stack: libdw's unwinder (elfutils) run on the same stopped process.
 */

#include "tests/host_bpf/target.h"

struct oracle_frame {
	uint64_t address;  /* pc; for a return address the byte before it */
	uint64_t elf_addr; /* in a module; else the same as address */
	bool in_module;
	char function[64]; /* "": unknown */
};

VEC_DEFINE(oracle_frame_vec, struct oracle_frame);

/* Called for each word of memory that libdw reads. */
typedef void (*oracle_on_read)(void *argument, uint64_t address);

struct oracle;

/*
 * @target is borrowed. Returns 0, -ENOMEM, or -EIO if libdw fails; libdw prints the reason to
 * standard error.
 */
int oracle_new(const struct target *target, struct oracle **ret_oracle);
struct oracle *oracle_free(struct oracle *oracle);

/* Sets the function that is called for each further read. */
void oracle_watch_reads(struct oracle *oracle, oracle_on_read on_read, void *argument);

/* Replaces @frames by the current stack, leaf first. Returns 0 or -ENOMEM. */
int oracle_frames(struct oracle *oracle, bool with_names, struct oracle_frame_vec *frames);

DEFINE_SCOPED(struct oracle *, oracle_free);
