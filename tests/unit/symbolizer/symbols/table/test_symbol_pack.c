/* SPDX-License-Identifier: Apache-2.0 */
/* The stored form expands to the same table, or is refused as damaged. */

#include "symbolizer/symbols/table/symbol_layout.h"
#include "tests/unit/symbolizer/symbols/tables.h"

static struct bytes packed(const struct compiled *compiled)
{
	struct bytes stored = BYTES_INIT(64 * MIB);

	assert_ok(symbol_pack(bytes_view_of(&compiled->flat), &stored));
	return stored;
}

static int unpack(const struct bytes *stored, struct bytes *flat)
{
	bytes_clear(flat);
	return symbol_unpack(bytes_view_of(stored), flat);
}

static void a_stored_table_expands_to_the_same_bytes(void **state)
{
	static const struct {
		const char *compiler, *suffix, *source, *flags;
	} cases[] = {
		{ "gcc", "c", program_c, "-O1 -g" },
		{ "gcc", "c", program_c, "-O1" },
		{ "g++", "cc", program_cpp, "-O2 -g" },
		{ "gcc", "c", "void _start(void) {}", "-nostdlib -static -s" },
		{ "gcc", "c", program_c, "-O1 -s" },
		{ "gcc", "c", program_c, "-O1 -static -s" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped_free char *path = compile(*state, "program", cases[i].compiler,
						 cases[i].suffix, cases[i].source, cases[i].flags);
		scoped_compiled struct compiled compiled = compiled_of(path);
		struct bytes flat = BYTES_INIT(64 * MIB);
		struct bytes stored = packed(&compiled);
		uint64_t size;

		assert_ok(symbol_pack_flat_bytes(bytes_view_of(&stored), &size));
		assert_int_equal(size, compiled.flat.size);
		assert_ok(unpack(&stored, &flat));
		assert_int_equal(flat.size, compiled.flat.size);
		assert_memory_equal(flat.data, compiled.flat.data, flat.size);
		bytes_release(&flat);
		bytes_release(&stored);
	}
}

static void the_stored_form_is_several_times_smaller(void **state)
{
	scoped_free char *path = compile(*state, "cpp", "g++", "cc", program_cpp, "-O2 -g");
	scoped_compiled struct compiled compiled = compiled_of(path);
	struct bytes stored = packed(&compiled);

	assert_true(stored.size * 4 < compiled.flat.size);
	bytes_release(&stored);
}

/* A byte that zstd does not use may change, but the table must not. */
static void a_damaged_stored_table_does_not_expand_to_another_table(void **state)
{
	scoped_free char *path = compile(*state, "c", "gcc", "c", program_c, "-O1 -g");
	scoped_compiled struct compiled compiled = compiled_of(path);
	struct bytes flat = BYTES_INIT(64 * MIB);
	struct bytes stored = packed(&compiled);
	size_t refused = 0;

	for (size_t i = 0; i < stored.size; i++) {
		int r;

		stored.data[i] ^= 0x11;
		r = unpack(&stored, &flat);
		if (r < 0) {
			refused++;
		} else {
			assert_int_equal(flat.size, compiled.flat.size);
			assert_memory_equal(flat.data, compiled.flat.data, flat.size);
		}
		stored.data[i] ^= 0x11;
	}
	assert_true(refused > stored.size * 9 / 10);
	bytes_release(&flat);
	bytes_release(&stored);
}

static void a_truncated_stored_table_is_refused(void **state)
{
	scoped_free char *path = compile(*state, "c", "gcc", "c", program_c, "-O1 -g");
	scoped_compiled struct compiled compiled = compiled_of(path);
	struct bytes flat = BYTES_INIT(64 * MIB);
	struct bytes stored = packed(&compiled);
	const size_t whole = stored.size;

	for (stored.size = 0; stored.size < whole; stored.size++)
		assert_errno(unpack(&stored, &flat), -EBADMSG);
	bytes_release(&flat);
	bytes_release(&stored);
}

static void a_table_beyond_the_ceiling_is_refused(void **state)
{
	scoped_free char *path = compile(*state, "c", "gcc", "c", program_c, "-O1 -g");
	scoped_compiled struct compiled compiled = compiled_of(path);
	struct bytes flat = BYTES_INIT(compiled.flat.size - 1);
	struct bytes stored = packed(&compiled);

	assert_errno(unpack(&stored, &flat), -EFBIG);
	bytes_release(&flat);
	bytes_release(&stored);
}

static void a_stored_table_of_another_version_is_stale(void **state)
{
	scoped_free char *path = compile(*state, "c", "gcc", "c", program_c, "-O1 -g");
	scoped_compiled struct compiled compiled = compiled_of(path);
	struct bytes flat = BYTES_INIT(64 * MIB);
	struct bytes stored = packed(&compiled);

	((struct symbol_header *)(void *)stored.data)->version++;
	assert_errno(unpack(&stored, &flat), -ESTALE);
	bytes_release(&flat);
	bytes_release(&stored);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_stored_table_expands_to_the_same_bytes),
		in_folder(the_stored_form_is_several_times_smaller),
		in_folder(a_damaged_stored_table_does_not_expand_to_another_table),
		in_folder(a_truncated_stored_table_is_refused),
		in_folder(a_table_beyond_the_ceiling_is_refused),
		in_folder(a_stored_table_of_another_version_is_stale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
