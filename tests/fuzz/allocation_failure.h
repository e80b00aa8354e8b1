/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fuzz targets also run as tests in which allocations fail (tests/alloc_failure). In these tests a
 * parser may return -ENOMEM where a fuzz target would assert success.
 */

#include <stdbool.h>

/*
 * Returns whether an allocation has failed in the current run. Only tests/alloc_failure defines it.
 */
bool fuzz_allocation_failed(void) __attribute__((weak));

static inline bool allocation_failed(void)
{
	return fuzz_allocation_failed && fuzz_allocation_failed();
}
