/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* For tests that link table_helper.c: the test program compiles symbol tables itself. */

#include "symbolizer/symbols/resolver.h"
#include "tests/support/unit.h"

/* The tables are in @folder. */
static inline struct resolver *table_helper_resolver(struct debuginfo_store *debuginfo,
						     const struct clock *clock, const char *folder)
{
	const struct symbol_cache_options options = { .debuginfo = debuginfo,
						      .clock = clock,
						      .folder = folder,
						      .helper = "/proc/self/exe",
						      .max_bytes = 16 * MIB,
						      .stored_bytes = GIB };
	struct resolver *resolver = NULL;

	assert_ok(resolver_new(&options, &resolver));
	return resolver;
}
