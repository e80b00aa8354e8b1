/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For programs whose tests need a nursery:
 *
 *   return cmocka_run_group_tests(tests, start_nursery, end_nursery);
 */

#include "agent/helper/nursery.h"
#include "tests/support/unit.h"

static struct nursery *nursery;

static inline int start_nursery(void **state)
{
	static char name[] = "test";
	static char *arguments[] = { name, NULL };

	(void)state;
	return nursery_start(1, arguments, &nursery);
}

static inline int end_nursery(void **state)
{
	(void)state;
	nursery = nursery_free(nursery);
	return 0;
}
