/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/jit/file/jit_name.h"

#include "common/utf8.h"
#include "tests/support/unit.h"

static void names_of_runtimes_are_split(void **state)
{
	static const struct {
		const char *text, *language, *function, *file;
		uint32_t line;
	} cases[] = {
		{ "LazyCompile:*foo /app/x.js:12:3", "javascript", "foo", "/app/x.js", 12 },
		{ "LazyCompile:~foo /app/x.js:12", "javascript", "foo", "/app/x.js", 12 },
		{ "JS:'foo /app/x.js:12:3", "javascript", "foo", "/app/x.js", 12 },
		{ "JS:*foo file:///app/x.mjs:12:3", "javascript", "foo", "/app/x.mjs", 12 },
		{ "JS:^Shop.price /my app/x.js:1:9", "javascript", "Shop.price", "/my app/x.js",
		  1 },
		{ "JS:+get size node:internal/fs:70:20", "javascript", "get size",
		  "node:internal/fs", 70 },
		{ "JS:~ /app/x.js:12:3", "javascript", "(anonymous)", "/app/x.js", 12 },
		{ "Script:~ /app/x.js:1:1", "javascript", "(script)", "/app/x.js", 1 },
		{ "JS:~foo", "javascript", "foo", "", 0 },
		{ "JS:~foo evalmachine.<anonymous>:1:1", "javascript", "foo",
		  "evalmachine.<anonymous>", 1 },
		{ "JS:", "javascript", "(anonymous)", "", 0 },
		{ "Builtin:ArrayForEach", "javascript", "Builtin:ArrayForEach", "", 0 },
		{ "RegExp:[a c]", "javascript", "RegExp:[a c]", "", 0 },
		{ "Lcom/example/Shop;::price", "java", "com.example.Shop.price", "", 0 },
		{ "double com.example.Shop.price(int, java.lang.String)", "java",
		  "com.example.Shop.price", "", 0 },
		{ "void java.lang.Object.<init>()", "java", "java.lang.Object.<init>", "", 0 },
		{ "com.example.Shop::price", "jit", "com.example.Shop::price", "", 0 },
		{ "int32 [shop] Shop::Price(int32)[OptimizedTier1]", "dotnet", "Shop::Price", "",
		  0 },
		{ "py::Shop.price:/app/shop.py", "python", "Shop.price", "/app/shop.py", 0 },
		{ "int shop::price(int)", "jit", "int shop::price(int)", "", 0 },
		{ "Interpreter", "jit", "Interpreter", "", 0 },
		{ "TRACE_1::shop.lua:12", "jit", "TRACE_1::shop.lua:12", "", 0 },
		{ "", "jit", "", "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct jit_name name;

		jit_name_parse((struct bytes_view){ (const uint8_t *)cases[i].text,
						    strlen(cases[i].text) },
			       &name);
		assert_string_equal(name.language, cases[i].language);
		assert_string_equal(name.function, cases[i].function);
		assert_string_equal(name.file, cases[i].file);
		assert_int_equal(name.first_line, cases[i].line);
	}
}

static void texts_are_valid_and_bounded(void **state)
{
	static const char *const beginnings[] = { "", "JS:~", "JS:~ /", "py::", "L", "Script: " };
	uint8_t bytes[4 * JIT_TEXT_BYTES];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++) {
		struct jit_name name;

		for (size_t at = 0; at < sizeof(bytes); at++)
			bytes[at] = (uint8_t)(at * 7 + i);
		memcpy(bytes, beginnings[i], strlen(beginnings[i]));
		jit_name_parse((struct bytes_view){ bytes, sizeof(bytes) }, &name);
		assert_in_range(strlen(name.function), 1, JIT_TEXT_BYTES - 1);
		for (const char *at = name.function; *at; at++)
			assert_true((unsigned char)*at >= ' ' && *at != 0x7f);
	}
	/* A character is not cut. */
	for (size_t at = 0; at < sizeof(bytes); at += 3)
		memcpy(bytes + at, "\xe2\x82\xac", MIN(sizeof(bytes) - at, (size_t)3));
	for (size_t size = JIT_TEXT_BYTES - 6; size < JIT_TEXT_BYTES + 6; size++) {
		struct jit_name name;

		jit_name_parse((struct bytes_view){ bytes, size }, &name);
		assert_int_equal(utf8_valid_length(name.function, strlen(name.function)),
				 strlen(name.function));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_runtimes_are_split),
		cmocka_unit_test(texts_are_valid_and_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
