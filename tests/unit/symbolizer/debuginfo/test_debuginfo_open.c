/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uploads files, then finds and opens them in the store: the best file of each kind, parts of a
 * file, its zstd frames, its sections, and source files. The content must equal that of the
 * uploaded files.
 */

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/elf/elf_file.h"
#include "common/file.h"
#include "common/zstd_frame.h"
#include "tests/unit/symbolizer/debuginfo/debuginfo_fixture.h"

static void each_kind_has_its_best_file(void **state)
{
	static const struct {
		enum debuginfo_origin origin;
		const char *path;
		/* For each kind, the richness of the file found after the upload. -1: no file. */
		int names, debuginfo, executable;
	} steps[] = {
		{ DEBUGINFO_FROM_AGENT, SAMPLE_STRIPPED, DEBUGINFO_SYMBOLS, -1, DEBUGINFO_SYMBOLS },
		{ DEBUGINFO_FROM_AGENT, SAMPLE_DEBUG, DEBUGINFO_DWARF, DEBUGINFO_DWARF,
		  DEBUGINFO_SYMBOLS },
		{ DEBUGINFO_FROM_PIPELINE, SAMPLE_FULL, DEBUGINFO_DWARF, DEBUGINFO_DWARF,
		  DEBUGINFO_DWARF },
	};
	struct debuginfo_store *store = open_debuginfo_at(*state, &system_clock);
	struct executable_id id = sample_identity();

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		const int wanted[] = { steps[i].names, steps[i].debuginfo, steps[i].executable };
		struct debuginfo_entry entry;

		assert_int_equal(put_file(store, steps[i].origin, steps[i].path, &entry), 1);
		for (int kind = 0; kind < 3; kind++) {
			const struct debuginfo_key key = key_of(&id, (enum debuginfo_kind)kind);

			assert_int_equal(debuginfo_find_kind(store, &key, &entry),
					 wanted[kind] >= 0);
			if (wanted[kind] >= 0)
				assert_int_equal(entry.richness, wanted[kind]);
		}
	}
	/* The last file is the best of every kind, so the store has removed the others. */
	assert_int_equal(debuginfo_number(*state, "SELECT count(*) FROM file"), 1);
	(void)debuginfo_store_free(store);
}

static void a_part_has_its_bytes_at_their_offsets_and_holes_elsewhere(void **state)
{
	enum { CHUNK = 512 * 1024 };
	static const struct {
		uint64_t offset, size;
	} parts[] = {
		{ 0, 10 },  { CHUNK - 1, 2 },    { CHUNK, CHUNK }, { 3 * CHUNK + 17, CHUNK },
		{ 100, 0 }, { 5 * CHUNK, 1000 },
	};
	struct debuginfo_store *store = open_debuginfo_at(*state, &system_clock);
	scoped(bytes_release) struct bytes elf = {};
	struct executable_id id = make_program(1, 6 * CHUNK, &elf);
	const struct debuginfo_key key = key_of(&id, DEBUGINFO_KIND_NAMES);
	struct debuginfo_entry entry;

	assert_int_equal(
		put_bytes(store, &id, DEBUGINFO_FROM_PIPELINE, bytes_view_of(&elf), &entry), 1);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const struct debuginfo_range range = { parts[i].offset, parts[i].size };
		struct stat status;
		scoped_fd int fd = -1;

		assert_int_equal(debuginfo_open_part(store, &key, &range, &fd, &entry), 1);
		assert_bytes_at(fd, range.offset, &elf, range.offset, range.size);
		assert_ok(fstat(fd, &status));
		assert_int_equal(status.st_size, elf.size);
		/* The store decompresses only the chunks that overlap the part. */
		assert_true((uint64_t)status.st_blocks * 512 <= range.size + 2 * CHUNK);
	}
	{
		const struct debuginfo_range beyond = { elf.size - 1, 2 };
		int fd = -1;

		assert_errno(debuginfo_open_part(store, &key, &beyond, &fd, &entry), -ERANGE);
		assert_int_equal(fd, -1);
	}
	(void)debuginfo_store_free(store);
}

static void the_frames_decompress_to_the_file(void **state)
{
	struct debuginfo_store *store = open_debuginfo_at(*state, &system_clock);
	scoped(bytes_release) struct bytes elf = {};
	struct executable_id id = make_program(1, 2 * MIB + 5, &elf);
	const struct debuginfo_key key = key_of(&id, DEBUGINFO_KIND_EXECUTABLE);
	scoped(bytes_release) struct bytes plain = BYTES_INIT(MAX_SAMPLE_BYTES);
	scoped_free uint8_t *frames = NULL;
	struct debuginfo_entry entry;
	scoped_fd int fd = -1;
	uint64_t size;

	assert_int_equal(
		put_bytes(store, &id, DEBUGINFO_FROM_PIPELINE, bytes_view_of(&elf), &entry), 1);
	assert_int_equal(debuginfo_open_frames(store, &key, &fd, &size, &entry), 1);
	assert_int_equal(size, entry.stored_bytes);
	frames = malloc(size);
	assert_ok(pread_all(fd, frames, size, 0));
	assert_ok(zstd_decompress((struct bytes_view){ frames, size }, &plain));
	assert_int_equal(plain.size, elf.size);
	assert_memory_equal(plain.data, elf.data, elf.size);
	(void)debuginfo_store_free(store);
}

/* Asserts that the store returns section @name with the same bytes as the file at @path. */
static void assert_section_of(struct debuginfo_store *store, const char *name, const char *path)
{
	scoped_fd int wanted_fd = open(path, O_RDONLY | O_CLOEXEC);
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	struct executable_id id = sample_identity();
	scoped(bytes_release) struct bytes wanted = {};
	const struct elf_section *section;
	struct debuginfo_range range;
	scoped_fd int fd = -1;

	assert_ok(elf_file_open(wanted_fd, &elf));
	section = elf_file_section(elf, name);
	assert_non_null(section);
	assert_true(section->type != SHT_NOBITS);
	read_sample(path, &wanted);
	assert_int_equal(debuginfo_open_section(store, &id, name, &fd, &range), 1);
	assert_int_equal(range.size, section->size);
	assert_bytes_at(fd, range.offset, &wanted, section->file_offset, section->size);
}

static void a_section_is_read_from_the_file_with_its_bytes(void **state)
{
	struct debuginfo_store *store = open_debuginfo_at(*state, &system_clock);
	struct executable_id id = sample_identity();
	struct debuginfo_range range;
	struct debuginfo_entry entry;
	int fd = -1;

	assert_int_equal(debuginfo_open_section(store, &id, ".text", &fd, &range), 0);
	assert_int_equal(put_file(store, DEBUGINFO_FROM_PIPELINE, SAMPLE_DEBUG, &entry), 1);
	assert_section_of(store, ".debug_info", SAMPLE_DEBUG);
	/* The .debug file has the section header of .text, but not its bytes. */
	assert_int_equal(debuginfo_open_section(store, &id, ".text", &fd, &range), 0);
	assert_int_equal(put_file(store, DEBUGINFO_FROM_PIPELINE, SAMPLE_STRIPPED, &entry), 1);
	assert_section_of(store, ".text", SAMPLE_STRIPPED);
	assert_section_of(store, ".debug_line", SAMPLE_DEBUG);
	assert_int_equal(debuginfo_open_section(store, &id, ".bss", &fd, &range), 0);
	assert_int_equal(debuginfo_open_section(store, &id, ".nothing", &fd, &range), 0);
	assert_int_equal(debuginfo_open_section(store, &id, "", &fd, &range), 0);
	assert_int_equal(fd, -1);
	(void)debuginfo_store_free(store);
}

static void a_section_too_large_for_memory_is_read_to_disk(void **state)
{
	struct debuginfo_store *store = open_debuginfo_at(*state, &system_clock);
	scoped(bytes_release) struct bytes elf = {};
	struct executable_id id = make_program(1, 0, &elf);
	Elf64_Ehdr *header;
	Elf64_Shdr *sections, *text;
	char link[64], target[128] = "";
	struct debuginfo_range range;
	struct debuginfo_entry entry;
	uint64_t offset = elf.size;
	scoped_fd int fd = -1;

	/*
	 * Append 70 MiB, and make them the content of .comment. For 64 MiB or more, the store uses
	 * a file on disk instead of a memfd.
	 */
	assert_ok(bytes_reserve(&elf, 70 * MIB));
	memset(elf.data + elf.size, 7, 70 * MIB);
	elf.size += 70 * MIB;
	header = (Elf64_Ehdr *)elf.data;
	sections = (Elf64_Shdr *)(elf.data + header->e_shoff);
	text = NULL;
	for (size_t i = 0; i < header->e_shnum; i++) {
		const char *name = (char *)elf.data + sections[header->e_shstrndx].sh_offset +
				   sections[i].sh_name;

		if (strcmp(name, ".comment") == 0)
			text = &sections[i];
	}
	assert_non_null(text);
	text->sh_offset = offset;
	text->sh_size = 70 * MIB;
	assert_int_equal(
		put_bytes(store, &id, DEBUGINFO_FROM_PIPELINE, bytes_view_of(&elf), &entry), 1);
	assert_int_equal(debuginfo_open_section(store, &id, ".comment", &fd, &range), 1);
	assert_int_equal(range.size, 70 * MIB);
	assert_bytes_at(fd, range.offset, &elf, offset, 70 * MIB);
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	assert_true(readlink(link, target, sizeof(target) - 1) > 0);
	assert_int_not_equal(strncmp(target, "/memfd:", 7), 0);
	(void)debuginfo_store_free(store);
}

static void sources_are_found_by_raw_and_canonical_path(void **state)
{
	static const struct {
		const char *path;
		const char *canonical; /* NULL: refused */
	} cases[] = {
		{ "/usr/src/a.c", "/usr/src/a.c" },
		{ "usr/src/a.c", "/usr/src/a.c" },
		{ "//usr///src/./obj/../a.c", "/usr/src/a.c" },
		{ "/usr/src/obj/../../src/a.c", "/usr/src/a.c" },
		{ "/../../etc/passwd", "/etc/passwd" },
		{ "/a/..b/.../c", "/a/..b/.../c" },
		{ "", NULL },
		{ "/", NULL },
		{ "/a/..", NULL },
		{ "../..", NULL },
	};
	char canonical[DEBUGINFO_MAX_PATH], longest[2 * DEBUGINFO_MAX_PATH];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(debuginfo_canonical_path(cases[i].path, canonical),
				 cases[i].canonical ? 0 : -EINVAL);
		if (cases[i].canonical)
			assert_string_equal(canonical, cases[i].canonical);
	}
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_errno(debuginfo_canonical_path(longest, canonical), -EINVAL);
	longest[DEBUGINFO_MAX_PATH - 2] = '\0';
	assert_ok(debuginfo_canonical_path(longest, canonical));
	assert_int_equal(strlen(canonical), DEBUGINFO_MAX_PATH - 1);
}

static void a_source_is_replaced_by_a_different_one_of_the_same_origin(void **state)
{
	static const struct {
		enum debuginfo_origin origin;
		const char *text;
		int r;
		const char *kept;
	} steps[] = {
		{ DEBUGINFO_FROM_UPSTREAM, "one", 1, "one" },
		{ DEBUGINFO_FROM_UPSTREAM, "one", 0, "one" },
		{ DEBUGINFO_FROM_UPSTREAM, "two", 1, "two" },
		{ DEBUGINFO_FROM_PIPELINE, "three", 1, "three" },
		{ DEBUGINFO_FROM_UPSTREAM, "four", 0, "three" },
		{ DEBUGINFO_FROM_PIPELINE, "", 1, "" },
	};
	struct debuginfo_store *store = open_debuginfo_at(*state, &system_clock);
	struct executable_id id = sample_identity();
	struct debuginfo_key key = key_of(&id, DEBUGINFO_KIND_SOURCE);
	struct debuginfo_entry entry;

	key.path = "/src/main.c";
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		char got[16] = "";
		scoped_fd int fd = -1;

		assert_int_equal(put_source(store, steps[i].origin, "/src/x/../main.c",
					    steps[i].text, &entry),
				 steps[i].r);
		assert_int_equal(debuginfo_open_kind(store, &key, &fd, &entry), 1);
		assert_true(entry.is_source);
		assert_int_equal(read(fd, got, sizeof(got)), strlen(steps[i].kept));
		assert_string_equal(got, steps[i].kept);
		assert_int_equal(debuginfo_number(*state, "SELECT count(*) FROM file"), 1);
	}
	/* debuginfo_find() finds ELF files only. */
	assert_int_equal(debuginfo_find(store, &id, &entry), 0);
	key.path = "/src/other.c";
	assert_int_equal(debuginfo_find_kind(store, &key, &entry), 0);
	(void)debuginfo_store_free(store);
}

static void code_is_read_from_the_executable(void **state)
{
	struct debuginfo_store *store = open_debuginfo_at(*state, &system_clock);
	scoped_fd int fd = open(SAMPLE_FULL, O_RDONLY | O_CLOEXEC);
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	struct executable_id id = sample_identity();
	const struct elf_section *text;
	uint8_t expected[16], read[4][16] = {};
	struct debuginfo_entry entry;
	uint16_t machine = 0;

	assert_ok(elf_file_open(fd, &elf));
	text = elf_file_section(elf, ".text");
	assert_non_null(text);
	struct debuginfo_code pieces[] = {
		{ .elf_addr = text->vaddr + 1, .size = 16, .bytes = read[0] },
		{ .elf_addr = text->vaddr + text->size - 3, .size = 16, .bytes = read[1] },
		{ .elf_addr = 0, .size = 16, .bytes = read[2] },
		{ .elf_addr = UINT64_MAX - 3, .size = 16, .bytes = read[3] },
	};
	assert_int_equal(debuginfo_read_code(store, &id, pieces, ARRAY_SIZE(pieces), &machine), 0);
	/* A file with debug sections only has no code. */
	assert_int_equal(put_file(store, DEBUGINFO_FROM_PIPELINE, SAMPLE_DEBUG, &entry), 1);
	assert_int_equal(debuginfo_read_code(store, &id, pieces, ARRAY_SIZE(pieces), &machine), 0);
	assert_int_equal(put_file(store, DEBUGINFO_FROM_PIPELINE, SAMPLE_STRIPPED, &entry), 1);
	assert_int_equal(debuginfo_read_code(store, &id, pieces, ARRAY_SIZE(pieces), &machine), 1);
	assert_int_equal(machine, elf->machine);
	assert_int_equal(pieces[0].n_bytes, 16);
	assert_ok(pread_all(fd, expected, 16, text->file_offset + 1));
	assert_memory_equal(read[0], expected, 16);
	assert_int_equal(pieces[1].n_bytes, 3);
	assert_ok(pread_all(fd, expected, 3, text->file_offset + text->size - 3));
	assert_memory_equal(read[1], expected, 3);
	assert_int_equal(pieces[2].n_bytes, 0);
	assert_int_equal(pieces[3].n_bytes, 0);
	(void)debuginfo_store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(each_kind_has_its_best_file),
		in_folder(a_part_has_its_bytes_at_their_offsets_and_holes_elsewhere),
		in_folder(the_frames_decompress_to_the_file),
		in_folder(a_section_is_read_from_the_file_with_its_bytes),
		in_folder(a_section_too_large_for_memory_is_read_to_disk),
		in_folder(code_is_read_from_the_executable),
		in_folder(sources_are_found_by_raw_and_canonical_path),
		in_folder(a_source_is_replaced_by_a_different_one_of_the_same_origin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
