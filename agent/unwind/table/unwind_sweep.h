/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Converts FDEs that may overlap to rows that do not. At each address, the FDE that was added first
 * wins. A gap between FDEs gets a row, unless it is padding.
 */

#include "agent/unwind/table/unwind_packer.h"

struct sweep_row {
	uint32_t address;
	uint16_t rule;
};

/* An FDE that was added earlier has a lower first_row, which is its rank. */
struct sweep_fde {
	uint32_t start;
	uint32_t end;
	uint32_t first_row;
	uint32_t n_rows;
};

void unwind_sweep_sort(struct sweep_fde *fdes, size_t n_fdes);

/* @fdes are sorted. Their fields are changed. 0 or -ENOMEM. */
int unwind_sweep(struct sweep_fde *fdes, size_t n_fdes, const struct sweep_row *rows,
		 struct unwind_packer *packer);
