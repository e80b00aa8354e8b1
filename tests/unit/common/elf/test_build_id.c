/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elf/build_id.h"

#include <dlfcn.h>
#include <elf.h>

#include "common/hash.h"
#include "tests/unit/common/elf/elf_fixture.h"

/* The text form of the identity; "": none. */
static void identify(const struct elf_file *elf, char ret_text[EXECUTABLE_ID_TEXT_SIZE])
{
	struct executable_id id = {};
	int r = build_id_from_elf(elf, &id);

	assert_ok(r);
	assert_int_equal(r, id.kind != EXECUTABLE_ID_NONE);
	executable_id_format(&id, ret_text);
}

static void identify_file(const char *path, char ret_text[EXECUTABLE_ID_TEXT_SIZE])
{
	scoped(opened_elf_release) struct opened_elf opened = open_elf(path);

	identify(opened.elf, ret_text);
}

static void build_id_by_readelf(const char *path, char ret_text[EXECUTABLE_ID_TEXT_SIZE])
{
	char command[512];
	char line[512];
	FILE *readelf;

	ret_text[0] = '\0';
	snprintf(command, sizeof(command), "LC_ALL=C %s -n '%s' 2>/dev/null", READELF, path);
	readelf = popen(command, "re");
	assert_non_null(readelf);
	while (fgets(line, sizeof(line), readelf))
		(void)sscanf(line, " Build ID: %192[0-9a-f]", ret_text);
	assert_int_equal(pclose(readelf), 0);
}

static void gnu_build_ids_equal_those_of_readelf(void **state)
{
	const char *paths[] = { "/bin/true",           "/bin/sh", "/usr/bin/env", FIXTURES "/gnu",
				FIXTURES "/gnu.debug", NULL };
	Dl_info libc;

	(void)state;
	assert_int_not_equal(dladdr(dlsym(RTLD_NEXT, "puts"), &libc), 0);
	paths[ARRAY_SIZE(paths) - 1] = libc.dli_fname;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		char expected[EXECUTABLE_ID_TEXT_SIZE];
		char text[EXECUTABLE_ID_TEXT_SIZE];

		build_id_by_readelf(paths[i], expected);
		identify_file(paths[i], text);
		assert_string_not_equal(expected, "");
		assert_string_equal(text, expected);
	}
}

static void a_gnu_build_id_is_preferred_to_a_go_build_id(void **state)
{
	char text[EXECUTABLE_ID_TEXT_SIZE];

	(void)state;
	identify_file(FIXTURES "/gnu", text);
	assert_string_equal(text, "deadbeef01234567");
	identify_file(FIXTURES "/go", text);
	assert_string_equal(text, "go-6162632f64656667"); /* abc/defg */
}

static void notes_are_found_without_section_headers(void **state)
{
	static const struct {
		const char *path, *text;
	} cases[] = {
		{ FIXTURES "/gnu", "deadbeef01234567" },
		{ FIXTURES "/go", "go-6162632f64656667" },
		{ FIXTURES "/plain", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(opened_elf_release) struct opened_elf opened = { .fd = -1 };
		scoped(bytes_release) struct bytes file = BYTES_INIT(MIB);
		char text[EXECUTABLE_ID_TEXT_SIZE];

		assert_ok(file_read(cases[i].path, &file));
		memset(file.data + offsetof(Elf64_Ehdr, e_shoff), 0, sizeof(Elf64_Off));
		assert_ok(open_elf_bytes(file.data, file.size, &opened));
		assert_int_equal(opened.elf->n_sections, 0);
		identify(opened.elf, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void an_executable_and_its_stripped_copy_have_one_identity(void **state)
{
	char text[EXECUTABLE_ID_TEXT_SIZE];
	char stripped_text[EXECUTABLE_ID_TEXT_SIZE];

	(void)state;
	identify_file(FIXTURES "/plain", text);
	identify_file(FIXTURES "/plain.stripped", stripped_text);
	assert_memory_equal(text, "text-", 5);
	assert_string_equal(text, stripped_text);
}

static void the_text_hash_covers_the_whole_section(void **state)
{
	static const char *const paths[] = { FIXTURES "/plain", FIXTURES "/object.o" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		scoped(opened_elf_release) struct opened_elf opened = open_elf(paths[i]);
		scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
		char text[EXECUTABLE_ID_TEXT_SIZE];
		struct executable_id expected;
		struct executable_id id;
		struct hash128 hash;

		assert_ok(elf_file_read_section(opened.elf, elf_file_section(opened.elf, ".text"),
						&content));
		hash = hash128_of(content.data, content.size);
		identify(opened.elf, text);
		assert_ok(executable_id_set(&expected, EXECUTABLE_ID_TEXT, hash.bytes, 16));
		assert_ok(executable_id_parse(text, &id));
		assert_true(executable_id_equal(&id, &expected));
	}
}

/*
 * The file: ELF header, a .text that takes many reads, the section names, three section headers.
 */
static void a_large_text_is_hashed_in_pieces(void **state)
{
	enum { TEXT_SIZE = 3 * 65536 + 777, NAMES_SIZE = 17, HEADERS_AT = 200704 };
	const Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_REL,
		.e_shoff = HEADERS_AT,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2,
	};
	const Elf64_Shdr sections[3] = {
		{},
		{ .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = 64, .sh_size = TEXT_SIZE },
		{ .sh_name = 7,
		  .sh_type = SHT_STRTAB,
		  .sh_offset = 64 + TEXT_SIZE,
		  .sh_size = NAMES_SIZE },
	};
	static uint8_t file[HEADERS_AT + sizeof(sections)];
	scoped(opened_elf_release) struct opened_elf opened = { .fd = -1 };
	struct executable_id id = {};
	struct hash128 expected;

	(void)state;
	static_assert(64 + TEXT_SIZE + NAMES_SIZE <= HEADERS_AT, "nothing overlaps");
	memcpy(file, &header, sizeof(header));
	for (size_t i = 0; i < TEXT_SIZE; i++)
		file[64 + i] = (uint8_t)(i * i >> 7);
	memcpy(file + 64 + TEXT_SIZE, "\0.text\0.shstrtab", NAMES_SIZE);
	memcpy(file + HEADERS_AT, sections, sizeof(sections));

	assert_ok(open_elf_bytes(file, sizeof(file), &opened));
	assert_int_equal(build_id_from_elf(opened.elf, &id), 1);
	expected = hash128_of(file + 64, TEXT_SIZE);
	assert_int_equal(id.kind, EXECUTABLE_ID_TEXT);
	assert_memory_equal(id.bytes, expected.bytes, 16);
}

static void a_debug_file_without_notes_has_no_identity(void **state)
{
	char text[EXECUTABLE_ID_TEXT_SIZE];

	(void)state;
	identify_file(FIXTURES "/plain.debug", text);
	assert_string_equal(text, "");
}

static void a_truncated_text_is_an_error(void **state)
{
	scoped(opened_elf_release) struct opened_elf opened = { .fd = -1 };
	scoped(bytes_release) struct bytes file = BYTES_INIT(MIB);
	struct executable_id id;

	(void)state;
	assert_ok(file_read(FIXTURES "/plain", &file));
	assert_ok(open_elf_bytes(file.data, file.size, &opened));
	assert_ok(ftruncate(opened.fd, 100));
	assert_errno(build_id_from_elf(opened.elf, &id), -ENODATA);
}

#define GNU_NOTE  "\4\0\0\0\4\0\0\0\3\0\0\0GNU\0\xde\xad\xbe\xef"
#define GO_NOTE   "\4\0\0\0\3\0\0\0\4\0\0\0Go\0\0abc\0"
#define OTHER     "\5\0\0\0\1\0\0\0\1\0\0\0Core\0\0\0\0x\0\0\0"
#define SHORT_ID  "\4\0\0\0\3\0\0\0\3\0\0\0GNU\0\1\2\3\0"
#define UNPADDED  "\4\0\0\0\5\0\0\0\3\0\0\0GNU\0\1\2\3\4\5"
#define LONG_NAME "\xff\xff\xff\xff\4\0\0\0\3\0\0\0GNU\0"
#define LONG_DESC "\4\0\0\0\xff\xff\xff\xff\3\0\0\0GNU\0"

static void notes_are_searched_and_checked(void **state)
{
#define NOTES(bytes) bytes, sizeof(bytes) - 1
	static const struct {
		const char *notes;
		size_t size;
		int result;
		const char *text;
	} cases[] = {
		{ NOTES(""), 0, "" },
		{ NOTES(GNU_NOTE), 1, "deadbeef" },
		{ NOTES(GO_NOTE), 1, "go-616263" },
		{ NOTES(GO_NOTE GNU_NOTE), 1, "deadbeef" },
		{ NOTES(OTHER GNU_NOTE OTHER), 1, "deadbeef" },
		{ NOTES(OTHER), 0, "" },
		{ NOTES(SHORT_ID), 0, "" },
		{ NOTES(SHORT_ID GO_NOTE), 1, "go-616263" },
		{ NOTES(UNPADDED), 1, "0102030405" },
		{ NOTES(LONG_NAME), -EBADMSG, "" },
		{ NOTES(LONG_DESC), -EBADMSG, "" },
		{ NOTES(OTHER "\4\0\0\0"), -EBADMSG, "" },
		{ NOTES(GO_NOTE LONG_DESC), 1, "go-616263" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct bytes_view notes = { (const uint8_t *)cases[i].notes, cases[i].size };
		struct executable_id id = {};
		char text[EXECUTABLE_ID_TEXT_SIZE];

		assert_int_equal(build_id_from_notes(notes, &id), cases[i].result);
		executable_id_format(&id, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void a_note_truncated_anywhere_is_refused(void **state)
{
	(void)state;
	for (size_t size = 1; size < sizeof(GNU_NOTE) - 1; size++) {
		scoped_free uint8_t *cut = malloc(size);
		struct executable_id id;

		memcpy(cut, GNU_NOTE, size);
		assert_errno(build_id_from_notes((struct bytes_view){ cut, size }, &id), -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gnu_build_ids_equal_those_of_readelf),
		cmocka_unit_test(a_gnu_build_id_is_preferred_to_a_go_build_id),
		cmocka_unit_test(notes_are_found_without_section_headers),
		cmocka_unit_test(an_executable_and_its_stripped_copy_have_one_identity),
		cmocka_unit_test(the_text_hash_covers_the_whole_section),
		cmocka_unit_test(a_large_text_is_hashed_in_pieces),
		cmocka_unit_test(a_debug_file_without_notes_has_no_identity),
		cmocka_unit_test(a_truncated_text_is_an_error),
		cmocka_unit_test(notes_are_searched_and_checked),
		cmocka_unit_test(a_note_truncated_anywhere_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
