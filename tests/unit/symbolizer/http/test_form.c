/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/http/form.h"

#include "common/limits.h"
#include "tests/support/unit.h"

static int parse(const char *text, size_t size, struct arena *arena, struct form *ret_form)
{
	return form_parse((struct bytes_view){ (const uint8_t *)text, size }, arena, ret_form);
}

static void fields_are_decoded(void **state)
{
	static const struct {
		const char *text, *name, *value;
	} cases[] = {
		{ "sql=show+databases&db=profile", "sql", "show databases" },
		{ "sql=show+databases&db=profile", "db", "profile" },
		{ "sql=show%20tags", "sql", "show tags" },
		{ "a=%27x%27%2b%2B+y", "a", "'x'++ y" },
		{ "a%20b=%C3%a4", "a b", "\xc3\xa4" },
		{ "a=1&a=2", "a", "1" },
		{ "a=b=c", "a", "b=c" },
		{ "&&a=1&&", "a", "1" },
		/* absent */
		{ "a=", "a", NULL },
		{ "a", "a", NULL },
		{ "b=1", "a", NULL },
		{ "", "a", NULL },
		{ "{\"sql\":\"show databases\"}", "sql", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(arena_freep) struct arena *arena = NULL;
		struct form form;
		const char *value;

		assert_ok(arena_new(MIB, &arena));
		assert_ok(parse(cases[i].text, strlen(cases[i].text), arena, &form));
		value = form_value(&form, cases[i].name);
		if (!value != !cases[i].value || (value && strcmp(value, cases[i].value) != 0))
			fail_msg("%s: '%s'", cases[i].text, value ? value : "(absent)");
	}
}

static void bodies_that_are_no_form_are_refused(void **state)
{
#define TEXT(text)                                                                                 \
	{                                                                                          \
		text, sizeof(text) - 1                                                             \
	}
	static const struct {
		const char *text;
		size_t size;
	} cases[] = {
		TEXT("a=%"),
		TEXT("a=%2"),
		TEXT("a=%2&b=0"),
		TEXT("a=%zz"),
		TEXT("a=%+1"),
		TEXT("a=%00"),
		TEXT("a=b\0c"),
		TEXT("a\0=b"),
		/* 17 fields */
		TEXT("1=&2=&3=&4=&5=&6=&7=&8=&9=&10=&11=&12=&13=&14=&15=&16=&17="),
	};
#undef TEXT

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(arena_freep) struct arena *arena = NULL;
		struct form form;

		assert_ok(arena_new(MIB, &arena));
		assert_errno(parse(cases[i].text, cases[i].size, arena, &form), -EINVAL);
	}
}

static void a_form_that_exceeds_its_memory_is_an_error(void **state)
{
	scoped(arena_freep) struct arena *arena = NULL;
	scoped_free char *text = calloc(1, 2 * MIB);
	struct form form;

	(void)state;
	assert_non_null(text);
	memset(text, 'a', 2 * MIB);
	assert_ok(arena_new(MIB, &arena));
	assert_errno(parse(text, 2 * MIB, arena, &form), -ENOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_decoded),
		cmocka_unit_test(bodies_that_are_no_form_are_refused),
		cmocka_unit_test(a_form_that_exceeds_its_memory_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
