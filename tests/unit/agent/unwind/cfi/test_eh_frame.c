/* SPDX-License-Identifier: Apache-2.0 */
/* Contents of sections: augmentations, encodings, versions, formats. */
#include "agent/unwind/cfi/eh_frame.h"

#include "tests/unit/agent/unwind/fde_printer.h"

static void augmentations_are_understood(void **state)
{
	static const struct {
		const char *letters;
		struct instructions data;
		const char *fdes; /* "": the CIE cannot be used */
	} cases[] = {
		{ "zR", INSTRUCTIONS(EH_PE_ABSPTR), "1000..1100 +8\n" },
		{ "zRS", INSTRUCTIONS(EH_PE_ABSPTR), "1000..1100 S +8\n" },
		{ "zPLR",
		  INSTRUCTIONS(EH_PE_SDATA4 | EH_PE_PCREL | EH_PE_INDIRECT, 1, 2, 3, 4, 0x1b,
			       EH_PE_ABSPTR),
		  "1000..1100 +8\n" },
		{ "zRB", INSTRUCTIONS(EH_PE_ABSPTR), "1000..1100 +8\n" },
		{ "zRG", INSTRUCTIONS(EH_PE_ABSPTR), "1000..1100 +8\n" },
		/* an unknown letter: its data is skipped by the length */
		{ "zRq", INSTRUCTIONS(EH_PE_ABSPTR, 7, 7, 7), "1000..1100 +8\n" },
		{ "zq", INSTRUCTIONS(7, 7, 7), "1000..1100 +8\n" },
		/* ... unless the encoding is after it */
		{ "zqR", INSTRUCTIONS(7, 7, 7), "" },
		/* the data ends before the encoding */
		{ "zR", INSTRUCTIONS_NONE, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
		size_t cie = write_cie(&content, cases[i].letters, &cases[i].data);

		write_fde(&content, cie, 0x1000, 0x100, &no_instructions);
		assert_fdes(&content, cases[i].fdes, cases[i].fdes[0] == '\0');
	}
}

/* Writes an FDE with the bytes of @pointer as its start. */
static void write_encoded_fde(struct bytes *out, size_t cie, const struct instructions *pointer,
			      const struct instructions *range)
{
	struct entry_writer entry = entry_begin(out, false);

	write_fixed(out, out->size - cie, 4);
	assert_ok(bytes_append(out, pointer->bytes, pointer->size));
	assert_ok(bytes_append(out, range->bytes, range->size));
	write_fixed(out, 0, 1);
	entry_end(&entry);
}

static void pointers_of_every_encoding_are_read(void **state)
{
	/* The CIE takes 24 bytes: the pointer is at 24 + 8 = 0x20. */
	static const struct {
		uint8_t encoding;
		struct instructions pointer, range;
		const char *fdes;
	} cases[] = {
		{ EH_PE_ABSPTR, INSTRUCTIONS(0, 0x10, 0, 0, 0, 0, 0, 0),
		  INSTRUCTIONS(16, 0, 0, 0, 0, 0, 0, 0), "1000..1010 +8\n" },
		{ EH_PE_UDATA8, INSTRUCTIONS(0, 0x10, 0, 0, 1, 0, 0, 0),
		  INSTRUCTIONS(16, 0, 0, 0, 0, 0, 0, 0), "100001000..100001010 +8\n" },
		{ EH_PE_UDATA2, INSTRUCTIONS(0, 0xf0), INSTRUCTIONS(16, 0), "f000..f010 +8\n" },
		{ EH_PE_UDATA4, INSTRUCTIONS(0, 0, 0, 0xf0), INSTRUCTIONS(16, 0, 0, 0),
		  "f0000000..f0000010 +8\n" },
		{ EH_PE_ULEB128, INSTRUCTIONS(0x80, 0x20), INSTRUCTIONS(16), "1000..1010 +8\n" },
		{ EH_PE_SLEB128, INSTRUCTIONS(0x80, 0x20), INSTRUCTIONS(16), "1000..1010 +8\n" },
		{ EH_PE_PCREL | EH_PE_SDATA4, INSTRUCTIONS(0xe0, 0xff, 0xff, 0xff),
		  INSTRUCTIONS(16, 0, 0, 0), "10000..10010 +8\n" },
		{ EH_PE_PCREL | EH_PE_SDATA2, INSTRUCTIONS(0xe0, 0xff), INSTRUCTIONS(16, 0),
		  "10000..10010 +8\n" },
		{ EH_PE_PCREL | EH_PE_SDATA8,
		  INSTRUCTIONS(0xe0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
		  INSTRUCTIONS(16, 0, 0, 0, 0, 0, 0, 0), "10000..10010 +8\n" },
		{ EH_PE_TEXTREL | EH_PE_UDATA4, INSTRUCTIONS(8, 0, 0, 0), INSTRUCTIONS(16, 0, 0, 0),
		  "20008..20018 +8\n" },
		{ EH_PE_DATAREL | EH_PE_SDATA4, INSTRUCTIONS(0xf8, 0xff, 0xff, 0xff),
		  INSTRUCTIONS(16, 0, 0, 0), "2fff8..30008 +8\n" },
		{ EH_PE_ALIGNED, INSTRUCTIONS(0, 0x10, 0, 0, 0, 0, 0, 0),
		  INSTRUCTIONS(16, 0, 0, 0, 0, 0, 0, 0), "1000..1010 +8\n" },
		/* indirect pointers are not known, and these encodings are undefined */
		{ EH_PE_INDIRECT | EH_PE_PCREL | EH_PE_SDATA4, INSTRUCTIONS(0, 0, 0, 0),
		  INSTRUCTIONS(16, 0, 0, 0), "" },
		{ 0x05, INSTRUCTIONS(0, 0, 0, 0), INSTRUCTIONS(16, 0, 0, 0), "" },
		{ 0x70, INSTRUCTIONS(0, 0, 0, 0), INSTRUCTIONS(16, 0, 0, 0), "" },
		{ EH_PE_OMIT, INSTRUCTIONS(0, 0, 0, 0), INSTRUCTIONS(16, 0, 0, 0), "" },
		/* a range that wraps around */
		{ EH_PE_SDATA4, INSTRUCTIONS(0, 0x10, 0, 0), INSTRUCTIONS(0xff, 0xff, 0xff, 0xff),
		  "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
		struct instructions encoding = INSTRUCTIONS(cases[i].encoding);
		size_t cie = write_cie(&content, "zR", &encoding);
		struct eh_frame_section section;
		struct fde_printer printer;

		assert_int_equal(content.size, 24);
		write_encoded_fde(&content, cie, &cases[i].pointer, &cases[i].range);
		section = section_of(&content);
		section.text_vaddr = 0x20000;
		section.data_vaddr = 0x30000;
		assert_int_equal(parse(&section, bytes_view_of(&content), 0, &printer),
				 cases[i].fdes[0] == '\0');
		assert_string_equal(printer.text, cases[i].fdes);
	}
}

/* Writes a .debug_frame with one CIE and one FDE. */
static void write_debug_frame(struct bytes *out, uint8_t version, bool is_64_bit)
{
	size_t cie = out->size;
	size_t id_size = is_64_bit ? 8 : 4;
	struct entry_writer entry = entry_begin(out, is_64_bit);

	write_fixed(out, UINT64_MAX, id_size);
	write_fixed(out, version, 1);
	write_fixed(out, 0, 1); /* no augmentation */
	if (version >= 4)
		write_fixed(out, 8, 2); /* sizes of addresses and segment selectors: 8, 0 */
	write_fixed(out, 1, 1);
	write_fixed(out, 0x78, 1);
	write_fixed(out, 16, 1);
	assert_ok(bytes_append(out, x86_initial.bytes, x86_initial.size));
	entry_end(&entry);

	entry = entry_begin(out, is_64_bit);
	write_fixed(out, cie, id_size);
	write_fixed(out, 0x1000, 8);
	write_fixed(out, 0x100, 8);
	entry_end(&entry);
}

static void debug_frame_is_read_in_every_version_and_format(void **state)
{
	static const uint8_t versions[] = { 1, 3, 4, 5 };

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(versions); i++) {
		scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
		struct eh_frame_section section;
		struct fde_printer printer;

		/* Bytes before it, so that offsets are not zero. */
		write_debug_frame(&content, 3, false);
		write_debug_frame(&content, versions[i / 2], i % 2);
		section = section_of(&content);
		section.is_debug_frame = true;
		assert_int_equal(parse(&section, bytes_view_of(&content), 0, &printer), 0);
		assert_string_equal(printer.text, "1000..1100 +8\n1000..1100 +8\n");
	}
}

static void unknown_versions_lose_their_fdes(void **state)
{
	static const uint8_t versions[] = { 0, 2, 6, 255 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
		struct eh_frame_section section;
		struct fde_printer printer;

		write_debug_frame(&content, versions[i], false);
		write_debug_frame(&content, 3, false);
		section = section_of(&content);
		section.is_debug_frame = true;
		assert_int_equal(parse(&section, bytes_view_of(&content), 0, &printer), 1);
		assert_string_equal(printer.text, "1000..1100 +8\n");
	}
}

/* In the 64-bit format, the IDs of .eh_frame still have four bytes. */
static void eh_frame_of_the_64_bit_format_is_read(void **state)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
	struct entry_writer entry = entry_begin(&content, true);

	(void)state;
	write_fixed(&content, 0, 4);
	write_fixed(&content, 1, 1);
	assert_ok(bytes_append(&content, "zR", 3));
	write_fixed(&content, 1, 1);
	write_fixed(&content, 0x78, 1);
	write_fixed(&content, 16, 1);
	write_fixed(&content, 1, 1);
	write_fixed(&content, EH_PE_ABSPTR, 1);
	assert_ok(bytes_append(&content, x86_initial.bytes, x86_initial.size));
	entry_end(&entry);
	entry = entry_begin(&content, true);
	write_fixed(&content, content.size, 4);
	write_fixed(&content, 0x1000, 8);
	write_fixed(&content, 0x100, 8);
	write_fixed(&content, 0, 1);
	entry_end(&entry);
	assert_fdes(&content, "1000..1100 +8\n", 0);
}

static void gcc_2s_pointer_is_skipped(void **state)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
	struct entry_writer entry = entry_begin(&content, false);

	(void)state;
	write_fixed(&content, 0, 4);
	write_fixed(&content, 1, 1);
	assert_ok(bytes_append(&content, "eh", 3));
	write_fixed(&content, 0x1234, 8);
	write_fixed(&content, 1, 1);
	write_fixed(&content, 0x78, 1);
	write_fixed(&content, 16, 1);
	assert_ok(bytes_append(&content, x86_initial.bytes, x86_initial.size));
	entry_end(&entry);
	entry = entry_begin(&content, false);
	write_fixed(&content, content.size, 4);
	write_fixed(&content, 0x1000, 8);
	write_fixed(&content, 0x100, 8);
	entry_end(&entry);
	assert_fdes(&content, "1000..1100 +8\n", 0);
}

static void a_malformed_fde_does_not_affect_others(void **state)
{
	static const struct instructions bad = INSTRUCTIONS(0x41, 0x0e, 16, 0x3f);
	scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
	size_t cie = write_plain_cie(&content);

	(void)state;
	write_fde(&content, cie, 0x1000, 0x100, &no_instructions);
	write_fde(&content, cie, 0x1100, 0x100, &bad);
	write_fde(&content, cie + 1, 0x1200, 0x100, &no_instructions); /* there is no CIE */
	write_fde(&content, cie, 0x1300, 0, &bad); /* an empty range, and malformed instructions */
	write_fde(&content, cie, 0x1400, 0x100, &no_instructions);
	assert_fdes(&content, "1000..1100 +8\n1400..1500 +8\n", 2);
}

/* crtend.o's terminator may be before the entries of other objects. */
static void a_zero_ends_a_part_but_not_the_section(void **state)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
	struct eh_frame_section section;
	struct fde_printer printer;
	size_t cie = write_plain_cie(&content);

	(void)state;
	write_fde(&content, cie, 0x1000, 0x100, &no_instructions);
	write_fixed(&content, 0, 4);
	write_fixed(&content, 0, 4);
	write_fde(&content, cie, 0x1100, 0x100, &no_instructions);
	assert_fdes(&content, "1000..1100 +8\n1100..1200 +8\n", 0);

	/* Without a section header, the section ends at the terminator, */
	section = section_of(&content);
	section.is_open_ended = true;
	assert_int_equal(parse(&section, bytes_view_of(&content), 0, &printer), 0);
	assert_string_equal(printer.text, "1000..1100 +8\n");

	/* unless .eh_frame_hdr counts more FDEs. */
	section.n_fdes_expected = 2;
	assert_int_equal(parse(&section, bytes_view_of(&content), 0, &printer), 0);
	assert_string_equal(printer.text, "1000..1100 +8\n1100..1200 +8\n");
	section.n_fdes_expected = 1;
	assert_int_equal(parse(&section, bytes_view_of(&content), 0, &printer), 0);
	assert_string_equal(printer.text, "1000..1100 +8\n");
}

static void the_header_says_where_eh_frame_is(void **state)
{
	static const struct {
		struct instructions header;
		int found;
		uint64_t vaddr, n_fdes;
	} cases[] = {
		/* as linkers write it: pcrel sdata4, udata4, a table */
		{ INSTRUCTIONS(1, 0x1b, 0x03, 0x3b, 0x00, 0xff, 0xff, 0xff, 7, 0, 0, 0), 1, 0x3f04,
		  7 },
		{ INSTRUCTIONS(1, 0x1b, 0xff, 0xff, 0x00, 0xff, 0xff, 0xff), 1, 0x3f04, 0 },
		{ INSTRUCTIONS(1, 0x3b, 0xff, 0xff, 0x10, 0, 0, 0), 1, 0x4010, 0 },
		{ INSTRUCTIONS(2, 0x1b, 0x03, 0x3b, 0, 0, 0, 0, 7, 0, 0, 0), 0, 0, 0 },
		{ INSTRUCTIONS(1, 0xff, 0xff, 0xff), 0, 0, 0 },
		{ INSTRUCTIONS(1, 0x1b, 0xff, 0xff, 0, 0, 0), 0, 0, 0 },
		{ INSTRUCTIONS_NONE, 0, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t vaddr = 0, n_fdes = 0;

		assert_int_equal(eh_frame_header_parse(instructions_view(&cases[i].header), 0x4000,
						       &vaddr, &n_fdes),
				 cases[i].found);
		assert_int_equal(vaddr, cases[i].vaddr);
		assert_int_equal(n_fdes, cases[i].n_fdes);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(augmentations_are_understood),
		cmocka_unit_test(pointers_of_every_encoding_are_read),
		cmocka_unit_test(debug_frame_is_read_in_every_version_and_format),
		cmocka_unit_test(unknown_versions_lose_their_fdes),
		cmocka_unit_test(eh_frame_of_the_64_bit_format_is_read),
		cmocka_unit_test(gcc_2s_pointer_is_skipped),
		cmocka_unit_test(a_malformed_fde_does_not_affect_others),
		cmocka_unit_test(a_zero_ends_a_part_but_not_the_section),
		cmocka_unit_test(the_header_says_where_eh_frame_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
