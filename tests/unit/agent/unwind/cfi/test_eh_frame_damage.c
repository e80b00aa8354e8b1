/* SPDX-License-Identifier: Apache-2.0 */
/* Sections that are parsed in pieces, cut, changed, or too long. */
#include "agent/unwind/cfi/eh_frame.h"

#include "tests/unit/agent/unwind/fde_printer.h"

/* Several CIEs, FDEs that alternate between them, and instructions. */
static void write_mixed_section(struct bytes *content)
{
	static const struct instructions push =
		INSTRUCTIONS(0x41, 0x0e, 16, 0x86, 2, 0x02, 20, 0xc6, 0x0e, 8);
	static const struct instructions bad = INSTRUCTIONS(0x3f);
	size_t first = write_plain_cie(content);
	size_t second;

	write_fde(content, first, 0x1000, 0x100, &push);
	second = write_cie(content, "zRS", &absolute);
	write_fde(content, second, 0x1100, 0x100, &push);
	write_fde(content, first, 0x1200, 0x80, &no_instructions);
	write_fde(content, second, 0x1300, 0x80, &bad);
	write_fde(content, first, 0x1400, 0x80, &push);
}

static void pieces_of_any_size_give_the_same(void **state)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
	struct fde_printer whole, pieces;
	struct eh_frame_section section;

	(void)state;
	write_mixed_section(&content);
	section = section_of(&content);
	assert_int_equal(parse(&section, bytes_view_of(&content), 0, &whole), 1);
	assert_string_equal(whole.text,
			    "1000..1100 +8 +16 +8\n1100..1200 S +8 +16 +8\n1200..1280 +8\n"
			    "1400..1480 +8 +16 +8\n");
	for (size_t step = 1; step < content.size; step++) {
		assert_int_equal(parse(&section, bytes_view_of(&content), step, &pieces), 1);
		assert_string_equal(pieces.text, whole.text);
	}
}

static void a_section_cut_at_any_length_gives_its_complete_entries(void **state)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
	struct fde_printer whole, cut;
	struct eh_frame_section section;

	(void)state;
	write_mixed_section(&content);
	section = section_of(&content);
	(void)parse(&section, bytes_view_of(&content), 0, &whole);
	for (size_t size = 0; size < content.size; size++) {
		/* Copied to its own memory, so that the sanitizer finds a read beyond it. */
		scoped_free uint8_t *copy = malloc(size + 1);

		assert_non_null(copy);
		memmove(copy + 1, content.data, size);
		section.size = size;
		(void)parse(&section, (struct bytes_view){ copy + 1, size }, 0, &cut);
		assert_memory_equal(cut.text, whole.text, cut.length);
	}
}

/* Also lengths of 4 GiB and of 2^64 - 1. */
static void an_entry_that_is_too_long_is_lost_or_ends_the_section(void **state)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(4 * MIB);
	size_t cie = write_plain_cie(&content);
	struct entry_writer entry;
	struct fde_printer printer;
	struct eh_frame_section section;

	(void)state;
	entry = entry_begin(&content, false);
	for (size_t i = 0; i < EH_FRAME_MAX_ENTRY_BYTES / 8 + 1; i++)
		write_fixed(&content, 0, 8);
	entry_end(&entry);
	write_fde(&content, cie, 0x1000, 0x100, &no_instructions);
	assert_fdes(&content, "1000..1100 +8\n", 1);
	section = section_of(&content);
	assert_int_equal(parse(&section, bytes_view_of(&content), 1000, &printer), 1);
	assert_string_equal(printer.text, "1000..1100 +8\n");

	write_fixed(&content, 0xfffffff0, 4);
	write_fde(&content, cie, 0x1100, 0x100, &no_instructions);
	assert_fdes(&content, "1000..1100 +8\n", 2);
	memcpy(content.data, &(uint32_t){ UINT32_MAX }, 4);
	memcpy(content.data + 4, &(uint64_t){ UINT64_MAX }, 8);
	assert_fdes(&content, "", 1);
}

static int ignore_row(void *argument, uint64_t address, const struct cfi_state *state)
{
	uint64_t *last = argument;

	(void)state;
	assert_true(*last < address || *last == 0);
	*last = address;
	return 0;
}

static int run_fde(void *argument, const struct eh_frame_fde *fde)
{
	uint64_t last = 0;

	(*(size_t *)argument)++;
	return cfi_run(fde->context, &fde->program, fde->initial, ignore_row, &last);
}

/*
 * Checks only what the header promises: rows rise, no byte beyond the section is read, FDEs are
 * counted.
 */
static void random_changes_do_no_harm(void **state)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
	uint64_t seed = 88172645463325252;

	(void)state;
	write_mixed_section(&content);
	for (size_t round = 0; round < 20000; round++) {
		scoped(eh_frame_parser_freep) struct eh_frame_parser *parser = NULL;
		scoped_free uint8_t *copy = malloc(content.size);
		struct eh_frame_section section = section_of(&content);
		size_t n_fdes = 0, consumed;

		assert_non_null(copy);
		memcpy(copy, content.data, content.size);
		for (size_t i = 0; i <= round % 4; i++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			copy[seed % content.size] = (uint8_t)(seed >> 32);
		}
		section.is_debug_frame = round % 5 == 0;
		section.is_open_ended = round % 7 == 0;
		assert_ok(eh_frame_parser_new(&section, cfi_machine_of(EM_X86_64), run_fde, &n_fdes,
					      &parser));
		assert_ok(eh_frame_parse(parser, (struct bytes_view){ copy, content.size },
					 &consumed));
		assert_true(consumed <= content.size);
		assert_true(n_fdes <= eh_frame_parser_fdes(parser));
		assert_true(eh_frame_parser_lost(parser) <= eh_frame_parser_fdes(parser));
	}
}

static int refuse_fde(void *argument, const struct eh_frame_fde *fde)
{
	(void)argument;
	(void)fde;
	return -ENOMEM;
}

static void other_errors_of_the_receiver_end_the_parsing(void **state)
{
	scoped(eh_frame_parser_freep) struct eh_frame_parser *parser = NULL;
	scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
	struct eh_frame_section section;
	size_t consumed;

	(void)state;
	write_mixed_section(&content);
	section = section_of(&content);
	assert_ok(eh_frame_parser_new(&section, cfi_machine_of(EM_X86_64), refuse_fde, NULL,
				      &parser));
	assert_errno(eh_frame_parse(parser, bytes_view_of(&content), &consumed), -ENOMEM);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_of_any_size_give_the_same),
		cmocka_unit_test(a_section_cut_at_any_length_gives_its_complete_entries),
		cmocka_unit_test(an_entry_that_is_too_long_is_lost_or_ends_the_section),
		cmocka_unit_test(random_changes_do_no_harm),
		cmocka_unit_test(other_errors_of_the_receiver_end_the_parsing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
