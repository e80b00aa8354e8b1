/* SPDX-License-Identifier: Apache-2.0 */
/* Tests lookups in the flat form of a table, and that damaged and hostile tables are refused. */

#include <inttypes.h>

#include "symbolizer/symbols/table/symbol_layout.h"
#include "tests/unit/symbolizer/symbols/tables.h"

static void an_address_is_found_in_the_range_around_it(void **state)
{
	scoped_free char *path = compile(*state, "cpp", "g++", "cc", program_cpp, "-O2 -g");
	scoped_compiled struct compiled compiled = compiled_of(path);
	const struct symbol_file_info *info = symbol_file_info(compiled.file);

	assert_true(info->n_ranges > 100);
	for (uint32_t i = 0; i < info->n_ranges; i++) {
		struct symbol_range range;
		uint64_t addresses[3];
		uint32_t locations[3];

		symbol_file_range(compiled.file, i, &range);
		addresses[0] = range.start;
		addresses[1] = range.start + (range.end - range.start) / 2;
		addresses[2] = MAX(range.end, range.start + 1) - 1;
		symbol_file_find(compiled.file, addresses, 3, locations);
		for (size_t j = 0; j < 3; j++)
			assert_int_equal(locations[j], range.location);
	}
}

/* Whether the function is in the chain of the location. */
static bool is_in_chain(const struct symbol_file *file, uint32_t location, const char *function)
{
	while (location != SYMBOL_NO_LOCATION) {
		struct symbol_frame frame;

		location = symbol_file_frame(file, location, &frame);
		if (frame.function && strcmp(frame.function, function) == 0)
			return true;
	}
	return false;
}

/* Asserts that exactly the ranges within @around, and none beside it, have the function. */
static void assert_code_around(const struct symbol_file *file, uint32_t index,
			       const struct symbol_range *around, const char *function)
{
	const struct symbol_file_info *info = symbol_file_info(file);
	struct symbol_range range;

	for (uint32_t i = index; i < info->n_ranges; i++) {
		symbol_file_range(file, i, &range);
		assert_int_equal(is_in_chain(file, range.location, function),
				 range.start < around->end);
		if (range.start >= around->end)
			return;
	}
	fail_msg("the code of '%s' has no end", function);
}

static void the_code_around_an_address_is_that_of_the_function(void **state)
{
	scoped_free char *path = compile(*state, "cpp", "g++", "cc", program_cpp, "-O2 -g");
	scoped_compiled struct compiled compiled = compiled_of(path);
	const struct symbol_file_info *info = symbol_file_info(compiled.file);
	uint32_t n_inlined = 0;

	for (uint32_t i = 0; i < info->n_ranges; i++) {
		struct symbol_range range, around;
		struct symbol_frame frame;
		uint32_t location;

		symbol_file_range(compiled.file, i, &range);
		for (location = range.location; location != SYMBOL_NO_LOCATION;) {
			location = symbol_file_frame(compiled.file, location, &frame);
			if (!frame.function)
				continue;
			n_inlined += location != SYMBOL_NO_LOCATION;
			assert_int_equal(symbol_file_code_around(compiled.file, range.start,
								 frame.linkage_name, &around),
					 1);
			assert_true(around.start <= range.start && range.end <= around.end);
			assert_int_equal(around.location, range.location);
			assert_code_around(compiled.file, i, &around, frame.function);
		}
		assert_int_equal(
			symbol_file_code_around(compiled.file, range.start, "none", &around), 0);
	}
	assert_true(n_inlined > 10);
}

static void addresses_outside_of_code_have_no_location(void **state)
{
	scoped_free char *path = compile(*state, "c", "gcc", "c", program_c, "-O1 -g");
	scoped_compiled struct compiled compiled = compiled_of(path);
	const struct symbol_file_info *info = symbol_file_info(compiled.file);
	const uint64_t addresses[] = { 0,
				       1,
				       info->start - 1,
				       info->end,
				       info->end + 1,
				       UINT32_MAX,
				       UINT64_C(1) << 32,
				       UINT64_MAX / 2,
				       UINT64_MAX };
	uint32_t locations[ARRAY_SIZE(addresses)];

	symbol_file_find(compiled.file, addresses, ARRAY_SIZE(addresses), locations);
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
		assert_int_equal(locations[i], SYMBOL_NO_LOCATION);
}

static void a_batch_gives_the_answers_of_single_lookups(void **state)
{
	scoped_free char *path = compile(*state, "cpp", "g++", "cc", program_cpp, "-O2 -g");
	scoped_compiled struct compiled compiled = compiled_of(path);
	const struct symbol_file_info *info = symbol_file_info(compiled.file);
	uint64_t seed = test_seed();
	uint64_t addresses[1000];
	uint32_t together[1000], alone;

	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
		addresses[i] =
			info->start - 50 + next_random(&seed) % (info->end - info->start + 100);
	symbol_file_find(compiled.file, addresses, ARRAY_SIZE(addresses), together);
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		symbol_file_find(compiled.file, &addresses[i], 1, &alone);
		assert_int_equal(together[i], alone);
	}
}

static int open_bytes(const struct bytes *flat)
{
	scoped(symbol_file_freep) struct symbol_file *file = NULL;

	return symbol_file_open_memory(bytes_view_of(flat), &file);
}

static void every_damaged_byte_is_detected(void **state)
{
	scoped_free char *path = compile(*state, "c", "gcc", "c", program_c, "-O1 -g");
	scoped_compiled struct compiled compiled = compiled_of(path);

	for (size_t i = 0; i < compiled.flat.size; i++) {
		compiled.flat.data[i] ^= 0x40;
		assert_true(open_bytes(&compiled.flat) < 0);
		compiled.flat.data[i] ^= 0x40;
	}
	assert_int_equal(open_bytes(&compiled.flat), 0);
}

static void a_truncated_table_is_refused(void **state)
{
	scoped_free char *path = compile(*state, "c", "gcc", "c", program_c, "-O1 -g");
	scoped_compiled struct compiled compiled = compiled_of(path);
	const size_t whole = compiled.flat.size;

	for (compiled.flat.size = 0; compiled.flat.size < whole; compiled.flat.size += 7)
		assert_errno(open_bytes(&compiled.flat), -EBADMSG);
	compiled.flat.size = whole;
}

/* Invalid values that a hostile table may have, with a correct checksum. */
static void write_checksum(struct bytes *flat)
{
	struct symbol_header *header = (struct symbol_header *)(void *)flat->data;

	header->checksum = symbol_layout_checksum(bytes_view_of(flat));
}

enum hostile_change {
	CALLER_OF_ITSELF,
	CALLER_BEHIND,
	FUNCTION_BEYOND,
	PATH_BEYOND,
	NAME_BEYOND,
	PATH_TEXT_BEYOND,
	TEXT_WITHOUT_END,
	LOCATION_BEYOND,
	STARTS_FALL,
	PAGES_FALL,
	PAGES_BEYOND,
	NO_GAP_AT_THE_END,
	N_HOSTILE_CHANGES,
};

static void change_table(struct bytes *flat, enum hostile_change change)
{
	struct symbol_header *header = (struct symbol_header *)(void *)flat->data;
	struct symbol_arrays arrays;
	uint32_t *pages, *starts, *location_of;
	struct symbol_location *locations;

	symbol_layout_arrays(header, flat->data, &arrays);
	pages = (uint32_t *)arrays.pages;
	starts = (uint32_t *)arrays.starts;
	location_of = (uint32_t *)arrays.location_of;
	locations = (struct symbol_location *)arrays.locations;
	switch (change) {
	case CALLER_OF_ITSELF:
		locations[3].caller = 3;
		break;
	case CALLER_BEHIND:
		locations[3].caller = 4;
		break;
	case FUNCTION_BEYOND:
		locations[3].function = header->n_functions;
		break;
	case PATH_BEYOND:
		locations[3].path = header->n_paths;
		break;
	case NAME_BEYOND:
		((struct symbol_function *)arrays.functions)[0].linkage =
			(uint32_t)header->text_bytes;
		break;
	case PATH_TEXT_BEYOND:
		((uint32_t *)arrays.paths)[0] = UINT32_MAX;
		break;
	case TEXT_WITHOUT_END:
		((char *)arrays.texts)[header->text_bytes - 1] = 'x';
		break;
	case LOCATION_BEYOND:
		location_of[0] = header->n_locations;
		break;
	case STARTS_FALL:
		starts[2] = starts[1];
		break;
	case PAGES_FALL:
		pages[1] = header->n_ranges + 1;
		break;
	case PAGES_BEYOND:
		pages[header->n_pages] = header->n_ranges + 1;
		break;
	case NO_GAP_AT_THE_END:
		location_of[header->n_ranges - 1] = 0;
		break;
	default:
		break;
	}
	write_checksum(flat);
}

static void indexes_and_offsets_out_of_range_are_refused(void **state)
{
	scoped_free char *path = compile(*state, "c", "gcc", "c", program_c, "-O1 -g");
	scoped_compiled struct compiled compiled = compiled_of(path);
	struct bytes copy = BYTES_INIT(MIB);

	for (int change = 0; change < N_HOSTILE_CHANGES; change++) {
		bytes_clear(&copy);
		assert_ok(bytes_append(&copy, compiled.flat.data, compiled.flat.size));
		write_checksum(&copy);
		assert_int_equal(open_bytes(&copy), 0);
		change_table(&copy, (enum hostile_change)change);
		if (open_bytes(&copy) != -EBADMSG)
			fail_msg("hostile change %d is accepted", change);
	}
	bytes_release(&copy);
}

static void functions_without_a_name_must_not_be_empty_or_overlap(void **state)
{
	scoped_free char *path = compile(*state, "stripped", "gcc", "c", program_c, "-O1 -s");
	scoped_compiled struct compiled compiled = compiled_of(path);
	const struct symbol_header *header = (const void *)compiled.flat.data;
	struct symbol_nameless *nameless, first, second;
	struct symbol_arrays arrays;

	symbol_layout_arrays(header, compiled.flat.data, &arrays);
	assert_true(header->n_nameless > 4);
	nameless = (struct symbol_nameless *)arrays.nameless;
	first = nameless[0];
	second = nameless[1];

	nameless[0].end = first.start;
	write_checksum(&compiled.flat);
	assert_errno(open_bytes(&compiled.flat), -EBADMSG);
	nameless[0].end = second.start + 1;
	write_checksum(&compiled.flat);
	assert_errno(open_bytes(&compiled.flat), -EBADMSG);
	nameless[0] = second;
	nameless[1] = first;
	write_checksum(&compiled.flat);
	assert_errno(open_bytes(&compiled.flat), -EBADMSG);
	nameless[0] = first;
	nameless[1] = second;
	write_checksum(&compiled.flat);
	assert_int_equal(open_bytes(&compiled.flat), 0);
}

static void a_table_of_another_version_is_stale(void **state)
{
	scoped_free char *path = compile(*state, "c", "gcc", "c", program_c, "-O1 -g");
	scoped_compiled struct compiled compiled = compiled_of(path);
	struct symbol_header *header = (struct symbol_header *)(void *)compiled.flat.data;

	header->version++;
	write_checksum(&compiled.flat);
	assert_errno(open_bytes(&compiled.flat), -ESTALE);
	header->version--;
	write_checksum(&compiled.flat);
}

static void a_table_is_mapped_from_its_file(void **state)
{
	scoped_free char *path = compile(*state, "c", "gcc", "c", program_c, "-O1 -g");
	scoped_compiled struct compiled compiled = compiled_of(path);
	scoped_free char *flat_path =
		write_file_in(*state, "flat", (char *)compiled.flat.data, compiled.flat.size);
	scoped(symbol_file_freep) struct symbol_file *file = NULL;
	scoped_fd int fd = open_file(flat_path);

	assert_ok(symbol_file_open(fd, &file));
	assert_int_equal(symbol_file_info(file)->n_ranges,
			 symbol_file_info(compiled.file)->n_ranges);
	assert_int_equal(symbol_file_info(file)->size_bytes, compiled.flat.size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(an_address_is_found_in_the_range_around_it),
		in_folder(the_code_around_an_address_is_that_of_the_function),
		in_folder(addresses_outside_of_code_have_no_location),
		in_folder(a_batch_gives_the_answers_of_single_lookups),
		in_folder(every_damaged_byte_is_detected),
		in_folder(a_truncated_table_is_refused),
		in_folder(indexes_and_offsets_out_of_range_are_refused),
		in_folder(functions_without_a_name_must_not_be_empty_or_overlap),
		in_folder(a_table_of_another_version_is_stale),
		in_folder(a_table_is_mapped_from_its_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
