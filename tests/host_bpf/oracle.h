/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Somebody else's opinion on a stack: libdw's unwinder (elfutils), over the same stopped process.
 */

#include "tests/host_bpf/target.h"

struct oracle_frame {
	uint64_t address;  /* pc; of a return address: the byte before */
	uint64_t elf_addr; /* of a module; else as address */
	bool in_module;
	char function[64]; /* "" not known */
};

VEC_DEFINE(oracle_frame_vec, struct oracle_frame);

/* A word of memory that was needed. */
typedef void (*oracle_on_read)(void *argument, uint64_t address);

struct oracle;

/* @target is borrowed. 0, -ENOMEM, -EIO: libdw refuses, and says why on standard error. */
int oracle_new(const struct target *target, struct oracle **ret_oracle);
struct oracle *oracle_free(struct oracle *oracle);

/* Called for whatever is read from now on. */
void oracle_watch_reads(struct oracle *oracle, oracle_on_read on_read, void *argument);

/* Replaces @frames by the stack as it is now, leaf first. 0, -ENOMEM. */
int oracle_frames(struct oracle *oracle, bool with_names, struct oracle_frame_vec *frames);

DEFINE_SCOPED(struct oracle *, oracle_free);
