/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elf/elf_file.h"

#include <elf.h>
#include <gelf.h>

#include "tests/unit/common/elf/elf_fixture.h"

static void compare_sections_with_libelf(const struct elf_file *ours, Elf *theirs)
{
	size_t count, names_index;

	assert_int_equal(elf_getshdrnum(theirs, &count), 0);
	assert_int_equal(elf_getshdrstrndx(theirs, &names_index), 0);
	assert_int_equal(ours->n_sections, count);
	for (size_t i = 0; i < count; i++) {
		const struct elf_section *section = &ours->sections[i];
		GElf_Shdr expected;

		assert_non_null(gelf_getshdr(elf_getscn(theirs, i), &expected));
		assert_string_equal(section->name,
				    elf_strptr(theirs, names_index, expected.sh_name));
		assert_int_equal(section->type, expected.sh_type);
		assert_int_equal(section->flags, expected.sh_flags);
		assert_int_equal(section->vaddr, expected.sh_addr);
		assert_int_equal(section->file_offset, expected.sh_offset);
		assert_int_equal(section->size, expected.sh_size);
		assert_int_equal(section->link, expected.sh_link);
		assert_int_equal(section->info, expected.sh_info);
		assert_int_equal(section->alignment, expected.sh_addralign);
		assert_int_equal(section->entry_size, expected.sh_entsize);
	}
}

static void compare_segments_with_libelf(const struct elf_file *ours, Elf *theirs)
{
	size_t count, n_loads = 0;

	assert_int_equal(elf_getphdrnum(theirs, &count), 0);
	assert_int_equal(ours->n_program_headers, count);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr expected;
		const struct load_segment *load;

		assert_non_null(gelf_getphdr(theirs, (int)i, &expected));
		if (expected.p_type != PT_LOAD)
			continue;
		assert_true(n_loads < ours->n_load_segments);
		load = &ours->load_segments[n_loads++];
		assert_int_equal(load->file_offset, expected.p_offset);
		assert_int_equal(load->vaddr, expected.p_vaddr);
		assert_int_equal(load->file_size, expected.p_filesz);
		assert_int_equal(load->memory_size, expected.p_memsz);
		assert_int_equal(load->flags, expected.p_flags);
	}
	assert_int_equal(ours->n_load_segments, n_loads);
}

static void headers_equal_those_of_libelf(void **state)
{
	static const char *const paths[] = {
		"/bin/true",
		"/bin/sh",
		"/proc/self/exe",
		FIXTURES "/plain",
		FIXTURES "/plain.stripped",
		FIXTURES "/plain.debug",
		FIXTURES "/gnu",
		FIXTURES "/object.o",
		FIXTURES "/narrow",
		FIXTURES "/narrow.stripped",
	};

	(void)state;
	elf_version(EV_CURRENT);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		scoped(opened_elf_release) struct opened_elf opened = open_elf(paths[i]);
		Elf *theirs = elf_begin(opened.fd, ELF_C_READ, NULL);
		GElf_Ehdr expected;

		assert_non_null(gelf_getehdr(theirs, &expected));
		assert_int_equal(opened.elf->type, expected.e_type);
		assert_int_equal(opened.elf->machine, expected.e_machine);
		assert_int_equal(opened.elf->entry, expected.e_entry);
		assert_memory_equal(opened.elf->header, elf_getident(theirs, NULL), EI_NIDENT);
		compare_sections_with_libelf(opened.elf, theirs);
		compare_segments_with_libelf(opened.elf, theirs);
		elf_end(theirs);
	}
}

static void a_section_is_found_by_name_and_read(void **state)
{
	scoped(opened_elf_release) struct opened_elf opened = open_elf(FIXTURES "/go");
	const struct elf_section *section = elf_file_section(opened.elf, ".note.go.buildid");
	scoped(bytes_release) struct bytes bytes = BYTES_INIT(1000);
	scoped(bytes_release) struct bytes small = BYTES_INIT(10);

	(void)state;
	assert_non_null(section);
	assert_ok(elf_file_read_section(opened.elf, section, &bytes));
	assert_int_equal(bytes.size, 24);
	assert_memory_equal(bytes.data + 16, "abc/defg", 8);
	assert_errno(elf_file_read_section(opened.elf, section, &small), -EFBIG);
	assert_null(elf_file_section(opened.elf, ".nonexistent"));
}

static void a_section_without_bytes_in_the_file_reads_as_empty(void **state)
{
	scoped(opened_elf_release) struct opened_elf opened = open_elf(FIXTURES "/plain");
	const struct elf_section *bss = elf_file_section(opened.elf, ".bss");
	scoped(bytes_release) struct bytes bytes = BYTES_INIT(1000);

	(void)state;
	assert_non_null(bss);
	assert_int_not_equal(bss->size, 0);
	assert_ok(elf_file_read_section(opened.elf, bss, &bytes));
	assert_int_equal(bytes.size, 0);
}

static void read_fixture(const char *path, struct bytes *ret_bytes)
{
	assert_ok(file_read(path, ret_bytes));
}

static void a_file_truncated_anywhere_is_an_error_or_has_no_sections(void **state)
{
	scoped(bytes_release) struct bytes file = BYTES_INIT(MIB);
	Elf64_Ehdr header;
	size_t headers_end;

	(void)state;
	read_fixture(FIXTURES "/plain", &file);
	memcpy(&header, file.data, sizeof(header));
	headers_end = header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr);

	for (size_t size = 0; size < file.size; size++) {
		scoped(opened_elf_release) struct opened_elf opened = { .fd = -1 };
		int r = open_elf_bytes(file.data, size, &opened);

		if (size < SELFMAG) {
			assert_errno(r, -ENOEXEC);
		} else if (size < headers_end) {
			assert_errno(r, -ENODATA);
		} else {
			assert_ok(r);
			assert_int_equal(opened.elf->n_sections, 0);
			assert_int_equal(opened.elf->n_program_headers, header.e_phnum);
		}
	}
}

#if defined(__x86_64__)
static void a_32_bit_file_opens_only_on_request(void **state)
{
	scoped(bytes_release) struct bytes file = BYTES_INIT(MIB);
	scoped(opened_elf_release) struct opened_elf refused = { .fd = -1 };
	scoped(opened_elf_release) struct opened_elf opened = open_elf(FIXTURES "/narrow");

	(void)state;
	assert_true(opened.elf->is_32_bit);
	assert_int_equal(opened.elf->machine, EM_386);
	read_fixture(FIXTURES "/narrow", &file);
	assert_errno(open_elf_bytes(file.data, file.size, &refused), -ENOTSUP);
}

static void a_32_bit_file_truncated_anywhere_is_an_error_or_has_no_sections(void **state)
{
	scoped(bytes_release) struct bytes file = BYTES_INIT(MIB);
	size_t headers_end;
	Elf32_Ehdr header;

	(void)state;
	read_fixture(FIXTURES "/narrow", &file);
	memcpy(&header, file.data, sizeof(header));
	headers_end = header.e_phoff + header.e_phnum * sizeof(Elf32_Phdr);
	for (size_t size = sizeof(header); size < file.size; size++) {
		scoped(opened_elf_release) struct opened_elf opened = {
			.fd = memfd_create("test", MFD_CLOEXEC)
		};
		int r;

		assert_ok(write_all(opened.fd, file.data, size));
		r = elf_file_open_any_class(opened.fd, &opened.elf);
		if (size < headers_end) {
			assert_errno(r, -ENODATA);
		} else {
			assert_ok(r);
			assert_int_equal(opened.elf->n_sections, 0);
			assert_int_equal(opened.elf->n_program_headers, header.e_phnum);
		}
	}
}
#endif

static void an_object_file_truncated_anywhere_is_an_error(void **state)
{
	scoped(bytes_release) struct bytes file = BYTES_INIT(MIB);

	(void)state;
	read_fixture(FIXTURES "/object.o", &file);
	for (size_t size = 0; size < file.size; size++) {
		scoped(opened_elf_release) struct opened_elf opened = { .fd = -1 };

		assert_errno(open_elf_bytes(file.data, size, &opened),
			     size < SELFMAG ? -ENOEXEC : -ENODATA);
	}
}

static void a_file_truncated_after_opening_returns_enodata(void **state)
{
	scoped(opened_elf_release) struct opened_elf opened = { .fd = -1 };
	scoped(bytes_release) struct bytes file = BYTES_INIT(MIB);
	scoped(bytes_release) struct bytes text = BYTES_INIT(MIB);
	const struct elf_section *section;

	(void)state;
	read_fixture(FIXTURES "/plain", &file);
	assert_ok(open_elf_bytes(file.data, file.size, &opened));
	section = elf_file_section(opened.elf, ".text");
	assert_non_null(section);
	assert_ok(ftruncate(opened.fd, (off_t)(section->file_offset + section->size - 1)));
	assert_errno(elf_file_read_section(opened.elf, section, &text), -ENODATA);
	assert_int_equal(text.size, 0);
}

/*
 * Changes one field of the ELF header, of program header 0 or of section header 0 in a copy of
 * "plain", and opens the copy.
 */
enum patched_header {
	PATCH_HEADER,
	PATCH_SECTION_0,
	PATCH_SECTION_NAMES,
};

struct patch {
	enum patched_header where;
	size_t offset;
	size_t size;
	uint64_t value;
	int result;
	bool has_sections;
};

#define EHDR(field)  PATCH_HEADER, offsetof(Elf64_Ehdr, field), sizeof(((Elf64_Ehdr *)0)->field)
#define SHDR0(field) PATCH_SECTION_0, offsetof(Elf64_Shdr, field), sizeof(((Elf64_Shdr *)0)->field)
#define NAMES(field)                                                                               \
	PATCH_SECTION_NAMES, offsetof(Elf64_Shdr, field), sizeof(((Elf64_Shdr *)0)->field)

static size_t patch_offset(const struct patch *patch, const Elf64_Ehdr *header)
{
	switch (patch->where) {
	case PATCH_SECTION_0:
		return header->e_shoff + patch->offset;
	case PATCH_SECTION_NAMES:
		return header->e_shoff + header->e_shstrndx * sizeof(Elf64_Shdr) + patch->offset;
	default:
		return patch->offset;
	}
}

static void bad_headers_are_refused_and_bad_sections_ignored(void **state)
{
	static const struct patch patches[] = {
		{ PATCH_HEADER, EI_MAG0, 1, 0, -ENOEXEC, false },
		{ PATCH_HEADER, EI_CLASS, 1, ELFCLASS32, -ENOTSUP, false },
		{ PATCH_HEADER, EI_DATA, 1, ELFDATA2MSB, -ENOTSUP, false },
		{ EHDR(e_phentsize), 32, -EBADMSG, false },
		{ EHDR(e_phoff), UINT64_MAX, -ENODATA, false },
		{ EHDR(e_phoff), UINT64_MAX - 100, -ENODATA, false },
		{ EHDR(e_phnum), 0xfffe, -ENODATA, false },
		{ EHDR(e_phnum), PN_XNUM, 0, true }, /* section 0 has the count 0 */
		{ EHDR(e_phnum), 0, 0, true },
		{ EHDR(e_shoff), 0, 0, false },
		{ EHDR(e_shoff), UINT64_MAX, 0, false },
		{ EHDR(e_shoff), 1, 0, false },
		{ EHDR(e_shentsize), 40, 0, false },
		{ EHDR(e_shnum), 0xfeff, 0, false },
		{ EHDR(e_shnum), 0, 0, false },
		{ EHDR(e_shnum), 1, 0, false },
		{ EHDR(e_shstrndx), 0, 0, false },
		{ EHDR(e_shstrndx), 0xff00, 0, false },
		{ EHDR(e_shstrndx), SHN_XINDEX, 0, false },
		{ NAMES(sh_size), UINT64_MAX, 0, false },
		{ NAMES(sh_size), UINT32_MAX, 0, false },
		{ NAMES(sh_size), 0, 0, true },
		{ NAMES(sh_offset), UINT64_MAX, 0, false },
		{ NAMES(sh_type), SHT_PROGBITS, 0, false },
		{ NAMES(sh_name), UINT32_MAX, 0, true },
		{ SHDR0(sh_name), UINT32_MAX, 0, true },
	};
	scoped(bytes_release) struct bytes file = BYTES_INIT(MIB);
	Elf64_Ehdr header;

	(void)state;
	read_fixture(FIXTURES "/plain", &file);
	memcpy(&header, file.data, sizeof(header));
	for (size_t i = 0; i < ARRAY_SIZE(patches); i++) {
		scoped(opened_elf_release) struct opened_elf opened = { .fd = -1 };
		scoped_free uint8_t *copy = malloc(file.size);

		memcpy(copy, file.data, file.size);
		memcpy(copy + patch_offset(&patches[i], &header), &patches[i].value,
		       patches[i].size);
		if (open_elf_bytes(copy, file.size, &opened) != patches[i].result)
			fail_msg("case %zu: result differs", i);
		if (patches[i].result == 0 &&
		    (opened.elf->n_sections > 0) != patches[i].has_sections)
			fail_msg("case %zu: %zu sections", i, opened.elf->n_sections);
	}
}

/* gABI, "ELF Header": section 0 has the counts above 0xff00. */
static void counts_too_large_for_the_header_are_read_from_section_zero(void **state)
{
	enum { N_SECTIONS = 65000, NAMES_INDEX = 64999, N_PROGRAM_HEADERS = 65535 };
	const Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_CORE,
		.e_shoff = sizeof(header),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 0,
		.e_shstrndx = SHN_XINDEX,
		.e_phnum = PN_XNUM,
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phoff = sizeof(header) + N_SECTIONS * sizeof(Elf64_Shdr),
	};
	const size_t names_offset = header.e_phoff + N_PROGRAM_HEADERS * sizeof(Elf64_Phdr);
	const Elf64_Shdr zero = {
		.sh_size = N_SECTIONS,
		.sh_link = NAMES_INDEX,
		.sh_info = N_PROGRAM_HEADERS,
	};
	const Elf64_Shdr names = {
		.sh_type = SHT_STRTAB,
		.sh_name = 1,
		.sh_offset = names_offset,
		.sh_size = 10,
	};
	scoped(opened_elf_release) struct opened_elf opened = { .fd = -1 };
	scoped_free uint8_t *file = calloc(1, names_offset + 10);

	(void)state;
	memcpy(file, &header, sizeof(header));
	memcpy(file + header.e_shoff, &zero, sizeof(zero));
	memcpy(file + header.e_shoff + NAMES_INDEX * sizeof(names), &names, sizeof(names));
	memcpy(file + names_offset, "\0.shstrtab", 10);
	assert_ok(open_elf_bytes(file, names_offset + 10, &opened));
	assert_int_equal(opened.elf->n_sections, N_SECTIONS);
	assert_int_equal(opened.elf->n_program_headers, N_PROGRAM_HEADERS);
	/* The file does not contain the NUL of the name. */
	assert_ptr_equal(elf_file_section(opened.elf, ".shstrtab"),
			 &opened.elf->sections[NAMES_INDEX]);
}

static void an_open_error_is_returned(void **state)
{
	struct elf_file *elf = NULL;
	scoped_fd int folder_fd = open("/", O_RDONLY | O_CLOEXEC);
	scoped_fd int empty_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_errno(elf_file_open(-1, &elf), -EBADF);
	assert_true(elf_file_open(folder_fd, &elf) < 0);
	assert_errno(elf_file_open(empty_fd, &elf), -ENOEXEC);
	assert_null(elf);
}

static void file_offsets_are_converted_by_the_segments(void **state)
{
	static const struct load_segment segments[] = {
		{ .file_offset = 0x0, .vaddr = 0x400000, .file_size = 0x1000 },
		{ .file_offset = 0x1000, .vaddr = 0x402000, .file_size = 0x500 },
		{ .file_offset = UINT64_MAX - 1, .vaddr = 0x500000, .file_size = UINT64_MAX },
	};
	static const struct {
		uint64_t file_offset;
		int found;
		uint64_t vaddr;
	} cases[] = {
		{ 0, 1, 0x400000 },      { 0xfff, 1, 0x400fff }, { 0x1000, 1, 0x402000 },
		{ 0x14ff, 1, 0x4024ff }, { 0x1500, 0, 0 },       { UINT64_MAX, 1, 0x500001 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t vaddr = 0;

		assert_int_equal(load_segments_offset_to_vaddr(segments, ARRAY_SIZE(segments),
							       cases[i].file_offset, &vaddr),
				 cases[i].found);
		assert_int_equal(vaddr, cases[i].vaddr);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_equal_those_of_libelf),
		cmocka_unit_test(a_section_is_found_by_name_and_read),
		cmocka_unit_test(a_section_without_bytes_in_the_file_reads_as_empty),
		cmocka_unit_test(a_file_truncated_anywhere_is_an_error_or_has_no_sections),
#if defined(__x86_64__)
		cmocka_unit_test(a_32_bit_file_opens_only_on_request),
		cmocka_unit_test(a_32_bit_file_truncated_anywhere_is_an_error_or_has_no_sections),
#endif
		cmocka_unit_test(an_object_file_truncated_anywhere_is_an_error),
		cmocka_unit_test(a_file_truncated_after_opening_returns_enodata),
		cmocka_unit_test(bad_headers_are_refused_and_bad_sections_ignored),
		cmocka_unit_test(counts_too_large_for_the_header_are_read_from_section_zero),
		cmocka_unit_test(an_open_error_is_returned),
		cmocka_unit_test(file_offsets_are_converted_by_the_segments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
