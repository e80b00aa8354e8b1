/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/executable/elf_extract.h"

#include <elf.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/elf/build_id.h"
#include "common/elf/elf_file.h"
#include "common/file.h"
#include "common/pieced_file.h"
#include "tests/support/command.h"
#include "tests/support/unit.h"

/* Writes the extract of @fd to @pieces_fd, which the caller closes. */
static int open_extract(int fd, uint32_t what, int *ret_pieces_fd, struct pieced_file *ret_extract)
{
	int r;

	*ret_pieces_fd = memfd_create("extract", MFD_CLOEXEC);
	assert_true(*ret_pieces_fd >= 0);
	r = elf_extract_write(fd, what, *ret_pieces_fd);
	if (r == 0)
		assert_ok(pieced_file_open(*ret_pieces_fd, fd, ret_extract));
	return r;
}

/* Reads the whole extract in pieces of odd sizes. */
static void read_all(struct pieced_file *extract, struct bytes *out)
{
	uint64_t left = extract->size;
	uint8_t piece[777];

	pieced_file_rewind(extract);
	for (size_t size = 1; left > 0; size = size % sizeof(piece) + 1) {
		size_t n = (size_t)MIN((uint64_t)size, left);

		assert_ok(pieced_file_read(extract, piece, n));
		assert_ok(bytes_append(out, piece, n));
		left -= n;
	}
}

/* Writes the extract of @path to a file in @folder. Returns its path, which the caller frees. */
static char *extract_to(const char *folder, const char *path, uint32_t what)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(256 * MIB);
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	scoped_fd int pieces_fd = -1;
	struct pieced_file extract;

	assert_ok(open_extract(fd, what, &pieces_fd, &extract));
	read_all(&extract, &content);
	assert_int_equal(content.size, extract.size);
	return write_file_in(folder, "extract", content.data, content.size);
}

static int tool(struct bytes *out, const char *tool_and_flags, const char *path)
{
	char command[4096];

	(void)snprintf(command, sizeof(command), "LC_ALL=C %s '%s' 2>&1", tool_and_flags, path);
	bytes_clear(out);
	return command_output(command, out);
}

/* Asserts that @command prints the same for both files. */
static void assert_same_output(const char *command, const char *one, const char *other)
{
	scoped(bytes_release) struct bytes of_one = BYTES_INIT(COMMAND_OUTPUT_BYTES);
	scoped(bytes_release) struct bytes of_other = BYTES_INIT(COMMAND_OUTPUT_BYTES);

	assert_int_equal(tool(&of_one, command, one), 0);
	assert_int_equal(tool(&of_other, command, other), 0);
	assert_true(of_one.size > 0);
	assert_int_equal(of_one.size, of_other.size);
	assert_memory_equal(of_one.data, of_other.data, of_one.size);
}

static void symbols_are_those_of_the_original(void **state)
{
	scoped_free char *path = extract_to(*state, EXTRACTED_PROGRAM, EXTRACT_SYMBOLS);
	scoped(bytes_release) struct bytes out = BYTES_INIT(COMMAND_OUTPUT_BYTES);

	/* Without nm's type letter: nm shows data without content as BSS. */
	assert_same_output("sh -c 'nm -n \"$0\" | awk \"{ print \\$1, \\$NF }\"'",
			   EXTRACTED_PROGRAM, path);
	assert_same_output("nm -D --without-symbol-versions", EXTRACTED_PROGRAM, path);
	assert_int_equal(tool(&out, "nm", path), 0);
	assert_non_null(strstr((char *)out.data, " t extracted_local"));
	assert_non_null(strstr((char *)out.data, " T extracted_global"));
}

static void debug_sections_are_included_only_on_request(void **state)
{
	scoped_free char *path = extract_to(*state, EXTRACTED_PROGRAM, EXTRACT_SYMBOLS);
	scoped(bytes_release) struct bytes out = BYTES_INIT(COMMAND_OUTPUT_BYTES);
	struct stat without, with;

	assert_int_equal(tool(&out, "readelf --debug-dump=line", path), 0);
	assert_null(strstr((char *)out.data, "extracted_program.c"));
	assert_int_equal(stat(path, &without), 0);
	free(path);
	path = extract_to(*state, EXTRACTED_PROGRAM, EXTRACT_DEBUG);
	assert_int_equal(stat(path, &with), 0);
	assert_true(with.st_size > without.st_size);
	assert_same_output("readelf --debug-dump=info,line,str", EXTRACTED_PROGRAM, path);
}

static void compressed_debug_sections_stay_compressed(void **state)
{
	scoped_free char *path = extract_to(*state, EXTRACTED_COMPRESSED, EXTRACT_DEBUG);
	scoped(bytes_release) struct bytes out = BYTES_INIT(COMMAND_OUTPUT_BYTES);

	assert_int_equal(tool(&out, "readelf -SW", path), 0);
	assert_non_null(strstr((char *)out.data, ".debug_info"));
	assert_int_equal(tool(&out, "readelf --debug-dump=info", path), 0);
	assert_non_null(strstr((char *)out.data, "extracted_local"));
}

static size_t bytes_of_section(const char *path, const char *name)
{
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct elf_section *section;

	assert_ok(elf_file_open(fd, &elf));
	section = elf_file_section(elf, name);
	assert_non_null(section);
	return section->type == SHT_NOBITS ? 0 : section->size;
}

static void unwind_tables_are_included_only_for_a_stripped_file(void **state)
{
	scoped_free char *stripped = path_in(*state, "stripped");
	scoped_free char *path = extract_to(*state, EXTRACTED_PROGRAM, EXTRACT_SYMBOLS);
	scoped(bytes_release) struct bytes out = BYTES_INIT(COMMAND_OUTPUT_BYTES);
	char strip[4096];

	assert_int_equal(bytes_of_section(path, ".eh_frame"), 0);
	(void)snprintf(strip, sizeof(strip), "strip -o '%s'", stripped);
	assert_int_equal(tool(&out, strip, EXTRACTED_PROGRAM), 0);
	free(path);
	path = extract_to(*state, stripped, EXTRACT_SYMBOLS);
	assert_true(bytes_of_section(path, ".eh_frame") > 0);
	assert_same_output("sh -c 'readelf --debug-dump=frames \"$0\" | grep pc='", stripped, path);
}

static void headers_and_identity_are_kept(void **state)
{
	static const uint32_t whats[] = { EXTRACT_SYMBOLS, EXTRACT_DEBUG };

	for (size_t i = 0; i < ARRAY_SIZE(whats); i++) {
		scoped_free char *path = extract_to(*state, EXTRACTED_PROGRAM, whats[i]);
		scoped(elf_file_freep) struct elf_file *original = NULL;
		scoped(elf_file_freep) struct elf_file *extract = NULL;
		scoped_fd int original_fd = open(EXTRACTED_PROGRAM, O_RDONLY | O_CLOEXEC);
		scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
		struct executable_id original_id, id;

		assert_ok(elf_file_open(original_fd, &original));
		assert_ok(elf_file_open(fd, &extract));
		assert_int_equal(extract->n_program_headers, original->n_program_headers);
		assert_memory_equal(extract->program_headers, original->program_headers,
				    original->n_program_headers * sizeof(Elf64_Phdr));
		assert_int_equal(build_id_from_elf(original, &original_id), 1);
		assert_int_equal(build_id_from_elf(extract, &id), 1);
		assert_true(executable_id_equal(&id, &original_id));

		assert_int_equal(extract->n_sections, original->n_sections);
		for (size_t k = 0; k < original->n_sections; k++) {
			assert_string_equal(extract->sections[k].name, original->sections[k].name);
			assert_int_equal(extract->sections[k].vaddr, original->sections[k].vaddr);
			if (original->sections[k].flags & SHF_ALLOC)
				assert_int_equal(extract->sections[k].size,
						 original->sections[k].size);
		}
		assert_int_equal(elf_file_section(extract, ".text")->type, SHT_NOBITS);
	}
}

static void elflint_accepts_it_as_a_debug_file(void **state)
{
	scoped_free char *path = extract_to(*state, EXTRACTED_PROGRAM, EXTRACT_DEBUG);
	scoped(bytes_release) struct bytes out = BYTES_INIT(COMMAND_OUTPUT_BYTES);

	assert_int_equal(tool(&out, "readelf -a", path), 0);
	if (!command_exists("eu-elflint"))
		skip();
	if (tool(&out, "eu-elflint --gnu-ld --debuginfo", path) != 0)
		fail_msg("%s", (const char *)out.data);
}

static void truncating_a_file_while_it_is_read_is_an_error(void **state)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(16 * MIB);
	struct pieced_file extract;
	scoped_free char *path = NULL;
	scoped_fd int fd = -1, pieces_fd = -1;
	uint8_t *all;

	assert_ok(file_read(EXTRACTED_PROGRAM, &content));
	path = write_file_in(*state, "program", content.data, content.size);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_ok(open_extract(fd, EXTRACT_DEBUG, &pieces_fd, &extract));
	assert_int_equal(truncate(path, 5000), 0);
	all = malloc(extract.size);
	assert_errno(pieced_file_read(&extract, all, extract.size), -ENODATA);
	free(all);
}

static void files_that_name_nothing_are_refused(void **state)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(16 * MIB);
	scoped_fd int out_fd = memfd_create("extract", MFD_CLOEXEC);
	scoped_free char *text = write_file_in(*state, "text", "#!/bin/sh\n", 10);
	scoped_free char *sectionless = NULL;
	scoped_fd int text_fd = open(text, O_RDONLY | O_CLOEXEC);
	scoped_fd int fd = -1;

	assert_errno(elf_extract_write(text_fd, EXTRACT_SYMBOLS, out_fd), -ENOEXEC);
	/* Like a file without section headers that sstrip produces. */
	assert_ok(file_read(EXTRACTED_PROGRAM, &content));
	memset(content.data + offsetof(Elf64_Ehdr, e_shoff), 0, 8);
	memset(content.data + offsetof(Elf64_Ehdr, e_shnum), 0, 4);
	sectionless = write_file_in(*state, "sectionless", content.data, content.size);
	fd = open(sectionless, O_RDONLY | O_CLOEXEC);
	assert_errno(elf_extract_write(fd, EXTRACT_DEBUG, out_fd), -ENODATA);
}

static void overlapping_sections_do_not_enlarge_the_extract(void **state)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(16 * MIB);
	scoped_fd int out_fd = memfd_create("extract", MFD_CLOEXEC);
	scoped_free char *path = NULL;
	scoped_fd int fd = -1;
	Elf64_Ehdr header;

	assert_ok(file_read(EXTRACTED_PROGRAM, &content));
	memcpy(&header, content.data, sizeof(header));
	for (size_t i = 1; i < header.e_shnum; i++) {
		Elf64_Shdr section;
		uint8_t *at = content.data + header.e_shoff + i * sizeof(section);

		memcpy(&section, at, sizeof(section));
		if (section.sh_type == SHT_STRTAB)
			continue;
		section.sh_offset = 0;
		section.sh_size = content.size;
		memcpy(at, &section, sizeof(section));
	}
	path = write_file_in(*state, "overlapping", content.data, content.size);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_errno(elf_extract_write(fd, EXTRACT_DEBUG, out_fd), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(symbols_are_those_of_the_original),
		in_folder(debug_sections_are_included_only_on_request),
		in_folder(compressed_debug_sections_stay_compressed),
		in_folder(unwind_tables_are_included_only_for_a_stripped_file),
		in_folder(headers_and_identity_are_kept),
		in_folder(elflint_accepts_it_as_a_debug_file),
		in_folder(truncating_a_file_while_it_is_read_is_an_error),
		in_folder(files_that_name_nothing_are_refused),
		in_folder(overlapping_sections_do_not_enlarge_the_extract),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
