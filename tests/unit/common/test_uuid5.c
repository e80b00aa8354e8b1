/* SPDX-License-Identifier: Apache-2.0 */
#include "common/uuid5.h"

#include "tests/support/unit.h"

/* From another implementation of RFC 4122, and from answers of DeepFlow. */
static void ids_equal_those_of_other_implementations(void **state)
{
	static const struct {
		const char *name, *uuid;
	} cases[] = {
		{ "[p] process-exporte", "9d3c5fd3-4cd2-5d04-be22-e0f27144f638" },
		{ "[p] deepflow-agent", "1762633e-a955-5c80-a5be-22529903b0bf" },
		{ "[p] deepflow-agent;[t] stats-collector",
		  "99e8ce53-e3bf-5b33-a63d-aa47e00e2ff4" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[UUID_TEXT_SIZE];

		uuid5_oid(cases[i].name, strlen(cases[i].name), text);
		assert_string_equal(text, cases[i].uuid);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_equal_those_of_other_implementations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
