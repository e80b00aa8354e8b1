/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fills the BPF map `interpreters`: by it the unwinder finds the frames of functions in the memory
 * of a process (bpf/abi/interpreter.h).
 */

#include <stdint.h>

#include "agent/bpf_programs/bpf_programs.h"
#include "agent/process/process_table.h"

/* The owner sets @programs, which is borrowed, and @unwanted. All other fields begin as 0. */
struct interpreter_publisher {
	struct bpf_programs *programs;
	uint32_t unwanted;   /* 1 << enum interpreter_runtime: its functions are not shown */
	uint32_t logged;     /* 1 << enum interpreter_runtime: an unknown version was logged */
	uint16_t last_index; /* of the elements of the map */
	uint64_t n_left_out; /* the map was full */
};

/*
 * Writes the interpreters of these executables into the map, each once, and sets their
 * interpreter_index. It stays 0 if the structures of the version are not known.
 */
void interpreter_publisher_add(struct interpreter_publisher *publisher,
			       const struct process_mappings *mappings);
