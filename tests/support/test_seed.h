/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Seeds for tests with random input. Each run has a new seed, which is printed, so that a failed
 * run can be repeated with HEARTH_TEST_SEED=NUMBER.
 */

#include <inttypes.h>
#include <sys/random.h>

#include "tests/support/unit.h"

/* Returns HEARTH_TEST_SEED, or a new seed. Never 0, which xorshift generators cannot leave. */
static inline uint64_t test_seed(void)
{
	const char *text = getenv("HEARTH_TEST_SEED");
	uint64_t seed;

	if (text && *text) {
		char *end;

		errno = 0;
		seed = strtoull(text, &end, 0);
		if (errno != 0 || *end != '\0')
			fail_msg("HEARTH_TEST_SEED is no number: '%s'", text);
	} else {
		assert_int_equal(getrandom(&seed, sizeof(seed), 0), sizeof(seed));
	}
	seed |= 1;
	print_message("HEARTH_TEST_SEED=%" PRIu64 "\n", seed);
	return seed;
}
