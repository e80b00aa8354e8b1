/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From FDEs that may overlap to rows that do not: at each address the FDE that was added first
 * counts. Gaps between FDEs get a row of their own, unless they are padding.
 */

#include "agent/unwind/unwind_packer.h"

struct sweep_row {
	uint32_t address;
	uint16_t rule;
};

/* FDEs that were added earlier have lower rows: first_row is their rank as well. */
struct sweep_fde {
	uint32_t start;
	uint32_t end;
	uint32_t first_row;
	uint32_t n_rows;
};

void unwind_sweep_sort(struct sweep_fde *fdes, size_t n_fdes);

/* Of sorted FDEs, whose ranges change. 0 or -ENOMEM. */
int unwind_sweep(struct sweep_fde *fdes, size_t n_fdes, const struct sweep_row *rows,
		 struct unwind_packer *packer);
