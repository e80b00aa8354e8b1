/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/hotspot/java_name.h"

#include "tests/support/unit.h"

static struct bytes_view view(const char *text)
{
	return (struct bytes_view){ .data = (const uint8_t *)text, .size = strlen(text) };
}

static void methods_are_written_as_in_java(void **state)
{
	static const struct {
		const char *class_name, *name, *descriptor, *expected;
	} cases[] = {
		{ "com/example/Shop", "price", "(ILjava/lang/String;[J)V",
		  "com.example.Shop.price(int, String, long[])" },
		{ "Main", "main", "([Ljava/lang/String;)V", "Main.main(String[])" },
		{ "Main", "<init>", "()V", "Main.<init>()" },
		{ "a/B$C", "f", "(BCDFSZ[[La/b/D$E;)I",
		  "a.B$C.f(byte, char, double, float, short, boolean, D$E[][])" },
		{ "p/Sum$$Lambda$14+0x0000000800c03000", "run", "()V", "p.Sum$$Lambda.run()" },
		{ "p/Sum$$Lambda$14/0x0000000800c03000", "run", "()V",
		  "p.Sum$$Lambda$14.0x0000000800c03000.run()" },
		{ "java/lang/invoke/LambdaForm$MH+0x0000000800c04000", "invoke", "(I)I",
		  "java.lang.invoke.LambdaForm$MH.invoke(int)" },
		{ "Stra\xc3\x9f"
		  "e",
		  "f", "()V",
		  "Stra\xc3\x9f"
		  "e.f()" },
		{ "A\xed\xa0\x80"
		  "B\n",
		  "f\xff", "()V", "A???B?.f?()" },
		/* Malformed descriptors. */
		{ "A", "f", "", "A.f" },
		{ "A", "f", "(", "A.f()" },
		{ "A", "f", "(Q)V", "A.f(?)" },
		{ "A", "f", "(I[", "A.f(int, ?)" },
		{ "A", "f", "(Ljava/lang/Object)V", "A.f(?)" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct java_method method = {
			.class_name = view(cases[i].class_name),
			.name = view(cases[i].name),
			.descriptor = view(cases[i].descriptor),
		};
		char text[128];
		size_t size = java_name_write(&method, (uint8_t *)text, sizeof(text) - 1);

		text[size] = '\0';
		assert_string_equal(text, cases[i].expected);
	}
}

static void a_name_that_does_not_fit_is_cut_between_characters(void **state)
{
	const struct java_method method = {
		.class_name = view("caf\xc3\xa9/Shop"),
		.name = view("price"),
		.descriptor = view("(Ljava/lang/String;)V"),
	};
	char whole[64];
	size_t whole_size = java_name_write(&method, (uint8_t *)whole, sizeof(whole));

	(void)state;
	assert_int_equal(whole_size, strlen("caf\xc3\xa9.Shop.price(String)"));
	for (size_t max = 0; max < whole_size; max++) {
		uint8_t text[64];
		size_t size = java_name_write(&method, text, max);

		assert_true(size <= max);
		assert_memory_equal(text, whole, size);
		/* Not between the two bytes of the character. */
		assert_true(size != 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(methods_are_written_as_in_java),
		cmocka_unit_test(a_name_that_does_not_fit_is_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
