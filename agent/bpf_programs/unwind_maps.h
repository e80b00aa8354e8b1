/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The BPF maps that hold unwind rows (bpf/abi/unwind_maps.h), as the agent writes them: parts of
 * the pool through a memory mapping, regions and tables by system calls.
 */

#include "bpf/abi/unwind_maps.h"
#include "common/vec.h"

struct bpf_programs;

VEC_DEFINE(unwind_part_vec, struct abi_unwind_slot *);

/* All parts that were created. All zero: none. */
struct unwind_parts {
	struct unwind_part_vec all;
};

/*
 * Creates an inner map, maps it into this process, and stores it in the map @pool_fd at index
 * @part. Storing it waits for a grace period of RCU, some 10 ms on an idle host; meanwhile samples
 * are taken. Returns 0 or a negative errno.
 */
int unwind_parts_add(struct unwind_parts *parts, int pool_fd, uint32_t part,
		     struct abi_unwind_slot **ret_slots);

/*
 * Removes @part from the map @pool_fd and frees it. The system call waits for a grace period of
 * RCU. Until it returns, this process's memory mapping keeps the part alive. This is necessary
 * before Linux 6.7, which would free an inner map when its last reference is dropped, while BPF
 * programs may still read it.
 */
void unwind_parts_remove(struct unwind_parts *parts, int pool_fd, uint32_t part,
			 struct abi_unwind_slot *slots);
void unwind_parts_release(struct unwind_parts *parts);

/* Kernel memory of all parts, in bytes. */
uint64_t unwind_parts_bytes(const struct unwind_parts *parts);

/* How many parts programs loaded with this budget can have in addition to those of rules. */
uint32_t unwind_parts_of_budget(uint64_t unwind_bytes);

/* The same operations on the maps of the loaded programs, which own the parts. */
int bpf_programs_add_unwind_part(struct bpf_programs *programs, uint32_t part,
				 struct abi_unwind_slot **ret_slots);
void bpf_programs_remove_unwind_part(struct bpf_programs *programs, uint32_t part,
				     struct abi_unwind_slot *slots);
uint64_t bpf_programs_unwind_pool_bytes(const struct bpf_programs *programs);
int bpf_programs_put_unwind_region(struct bpf_programs *programs, uint64_t key, uint32_t directory);
void bpf_programs_remove_unwind_region(struct bpf_programs *programs, uint64_t key);
int bpf_programs_put_unwind_table(struct bpf_programs *programs, uint32_t executable,
				  const struct abi_unwind_info *info);
void bpf_programs_remove_unwind_table(struct bpf_programs *programs, uint32_t executable);
