/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The BPF maps that hold unwind tables, as this process sees them: three long arrays, mapped into memory, and the hash
 * that says where the table of an executable is.
 */

#include "bpf/abi/unwind_maps.h"
#include "common/base.h"

struct bpf_programs;

struct unwind_arrays {
	struct abi_unwind_row *rows;
	uint32_t *page_first;
	struct abi_unwind_rule *rules;
	uint32_t n_rows, n_pages, n_rules; /* what they hold */
};

/* Maps the arrays; they live as long as @programs. */
int bpf_programs_map_unwind_arrays(struct bpf_programs *programs, struct unwind_arrays *ret_arrays);

int bpf_programs_put_unwind_table(struct bpf_programs *programs, uint32_t executable,
				  const struct abi_unwind_info *info);
void bpf_programs_remove_unwind_table(struct bpf_programs *programs, uint32_t executable);
