/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/perl/perl_layout.h"

#include <pthread.h>

#include "tests/support/unit.h"

#if defined(HAS_HEADERS)
#include "tests/unit/agent/interpreter/perl/perl_headers.h"

static void expect_row(const struct perl_headers *headers, const struct perl_layout *layout)
{
	if (headers->has_threads) {
		assert_int_equal(layout->walk.statement, headers->cop);
		assert_int_equal(layout->walk.stack, headers->stack);
		assert_int_equal(layout->walk.instruction, headers->instruction);
	}
	assert_int_equal(layout->walk.stack_kind, headers->stack_kind);
	assert_int_equal(layout->walk.context_bytes, headers->context_bytes);
	assert_int_equal(layout->walk.context_cv, headers->context_cv);
	assert_int_equal(layout->walk.eval_string, headers->eval_string);
	assert_int_equal(layout->next_state, headers->next_state);
	assert_int_equal(layout->eval_block, headers->eval_block);
	assert_int_equal(layout->stash_has_names, headers->stash_has_names);
}

/* The offsets and values that bpf/include/perl_walk.bpf.h and perl_code.c have for all versions. */
static void offsets_are_those_of_the_headers(void **state)
{
	const struct perl_headers headers = perl_headers_read();
	const struct perl_layout *layout = perl_layout_of(headers.version);
	const uint32_t pairs[][2] = {
		{ headers.contexts, 8 },         { headers.previous, 16 },
		{ headers.context_index, 32 },   { headers.context_cop, 16 },
		{ headers.context_return, 48 },  { headers.eval_return, 48 },
		{ headers.kind_sub, 9 },         { headers.kind_format, 10 },
		{ headers.kind_eval, 11 },       { headers.kind_block, 0 },
		{ headers.called_from_c, 0x10 }, { headers.eval_is_block, 0x40 },
		{ headers.stack_main, 1 },       { headers.cop_line, 36 },
		{ headers.cop_file, 48 },        { headers.type_glob, 9 },
		{ headers.type_hash, 12 },       { headers.type_sub, 13 },
		{ headers.type_format, 14 },     { headers.has_names, 0x02000000 },
		{ headers.sub_stash, 32 },       { headers.sub_start, 40 },
		{ headers.sub_glob, 56 },        { headers.sub_file, 64 },
		{ headers.sub_flags, 92 },       { headers.is_c, 0x0008 },
		{ headers.is_named, 0x8000 },    { headers.is_lexical, 0x10000 },
		{ headers.is_copy, 0x40 },       { headers.is_anonymous, 0x80 },
		{ headers.glob_name, 32 },       { headers.glob_stash, 40 },
		{ headers.hash_max, 24 },        { headers.names_count, 28 },
		{ headers.name_length, 4 },      { headers.name_text, 8 },
	};

	(void)state;
	if (!layout)
		skip();
	expect_row(&headers, layout);
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		assert_int_equal(pairs[i][0], pairs[i][1]);
}
#else
static void offsets_are_those_of_the_headers(void **state)
{
	(void)state;
	skip();
}
#endif

static void each_version_fits_what_is_read(void **state)
{
	static const uint32_t versions[] = {
		0x051c, 0x051e, 0x0520, 0x0522, 0x0524, 0x0526, 0x0528
	};

	(void)state;
	assert_null(perl_layout_of(0));
	assert_null(perl_layout_of(0x051a));
	assert_ptr_equal(perl_layout_of(PERL_VERSION_NO_THREADS | 0x0524), perl_layout_of(0x0524));
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		const struct perl_layout *layout = perl_layout_of(versions[i]);

		assert_non_null(layout);
		/* bpf/include/perl_walk.bpf.h reads 6 words of a stack and 10 of a context. */
		assert_in_range(layout->walk.stack_kind, 0, 44);
		assert_int_equal(layout->walk.context_cv % 8, 0);
		assert_in_range(layout->walk.context_cv, 56, 72);
		assert_in_range(layout->walk.context_bytes, 80, 256);
		assert_in_range(layout->next_state, 1, 510);
	}
}

#if defined(__x86_64__) && defined(__GLIBC__)
/* pthread_getspecific() by the offsets of bpf/include/perl_walk.bpf.h. */
static void values_of_keys_are_where_they_are_read(void **state)
{
	const uintptr_t self = (uintptr_t)pthread_self();
	pthread_key_t keys[70];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		uintptr_t values = self + 0x310, value[2];

		assert_ok(pthread_key_create(&keys[i], NULL));
		assert_ok(pthread_setspecific(keys[i], &keys[i]));
		if (keys[i] >= 32)
			memcpy(&values, (void *)(self + 0x510 + keys[i] / 32 * 8), sizeof(values));
		memcpy(value, (void *)(values + keys[i] % 32 * 16), sizeof(value));
		assert_int_equal(value[0] & 1, 1);
		assert_ptr_equal((void *)value[1], &keys[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		assert_ok(pthread_key_delete(keys[i]));
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_are_those_of_the_headers),
		cmocka_unit_test(each_version_fits_what_is_read),
#if defined(__x86_64__) && defined(__GLIBC__)
		cmocka_unit_test(values_of_keys_are_where_they_are_read),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
