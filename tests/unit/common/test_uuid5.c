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
		struct uuid5 name;

		uuid5_init(&name);
		uuid5_add(&name, cases[i].name, strlen(cases[i].name));
		uuid5_text(&name, text);
		assert_string_equal(text, cases[i].uuid);
	}
}

static void a_name_can_be_hashed_in_parts_and_copied(void **state)
{
	char first[UUID_TEXT_SIZE], second[UUID_TEXT_SIZE];
	struct uuid5 parent, child;

	(void)state;
	uuid5_init(&parent);
	uuid5_add(&parent, "[p] deepflow", 12);
	uuid5_add(&parent, "-agent", 6);
	child = parent;
	uuid5_add(&child, ";", 1);
	uuid5_add(&child, "[t] stats-collector", 19);
	uuid5_text(&child, first);
	assert_string_equal(first, "99e8ce53-e3bf-5b33-a63d-aa47e00e2ff4");
	/* The copy and the text leave the name as it is. */
	for (int i = 0; i < 2; i++) {
		uuid5_text(&parent, second);
		assert_string_equal(second, "1762633e-a955-5c80-a5be-22529903b0bf");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_equal_those_of_other_implementations),
		cmocka_unit_test(a_name_can_be_hashed_in_parts_and_copied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
