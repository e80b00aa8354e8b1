/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A section of the package consists of the sections of the files, one after the other. Units refer
 * to sections relative to their own file's part, and the index holds the start of that part for
 * each unit. Only offsets of strings count from the start of the whole section: the packer adds the
 * size of the strings of the files before.
 */

#include "symbolizer/cli/upload/dwarf_pack.h"

#include <dwarf.h>
#include <elf.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/elf/elf_file.h"
#include "common/scoped.h"
#include "common/vec.h"

enum part {
	PART_INFO,
	PART_ABBREV,
	PART_STR_OFFSETS,
	PART_RNGLISTS,
	N_INDEXED_PARTS,
	PART_STR = N_INDEXED_PARTS,
	PART_CU_INDEX,
	PART_TU_INDEX,
	N_PARTS,
};

/* @id is the number of the column in the index. */
static const struct part_row {
	const char *name;
	uint32_t id;
} part_rows[N_PARTS] = {
	[PART_INFO] = { ".debug_info.dwo", DW_SECT_INFO },
	[PART_ABBREV] = { ".debug_abbrev.dwo", DW_SECT_ABBREV },
	[PART_STR_OFFSETS] = { ".debug_str_offsets.dwo", DW_SECT_STR_OFFSETS },
	[PART_RNGLISTS] = { ".debug_rnglists.dwo", DW_SECT_RNGLISTS },
	[PART_STR] = { ".debug_str.dwo", 0 },
	[PART_CU_INDEX] = { ".debug_cu_index", 0 },
	[PART_TU_INDEX] = { ".debug_tu_index", 0 },
};

#define INDEX_VERSION 5

/* length, version, unit type, size of addresses, offset of abbreviations, unit ID */
#define UNIT_HEADER_BYTES        20
#define STR_OFFSETS_HEADER_BYTES 8

struct packed_unit {
	uint64_t id;
	bool is_type;
	struct {
		uint32_t offset;
		uint32_t size;
	} parts[N_INDEXED_PARTS];
};

VEC_DEFINE(packed_unit_vec, struct packed_unit);

struct package {
	struct bytes parts[N_PARTS];
	struct packed_unit_vec units;
	uint16_t machine;
	const char *path; /* of the current file */
	char *message;
};

printf_like(3, 4) static int refuse(const struct package *package, int error, const char *format,
				    ...)
{
	va_list args;
	int length =
		snprintf(package->message, DWARF_PACK_MESSAGE_SIZE, "'%.150s' ", package->path);

	va_start(args, format);
	(void)vsnprintf(package->message + length, DWARF_PACK_MESSAGE_SIZE - (size_t)length, format,
			args);
	va_end(args);
	return error;
}

static uint32_t read_u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint16_t read_u16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static int append_u32(struct bytes *bytes, uint64_t value)
{
	const uint32_t narrow = (uint32_t)value;

	return value > UINT32_MAX ? -EFBIG : bytes_append(bytes, &narrow, sizeof(narrow));
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Adds the units of a file after its parts were appended; @file holds their offsets and sizes. */
static int add_units(struct package *package, const struct packed_unit *file)
{
	const uint32_t end = file->parts[PART_INFO].offset + file->parts[PART_INFO].size;
	const uint8_t *info = package->parts[PART_INFO].data;
	uint32_t at = file->parts[PART_INFO].offset;

	while (at < end) {
		struct packed_unit unit = *file;
		uint64_t size;
		uint8_t type;
		int r;

		if (end - at < UNIT_HEADER_BYTES)
			return refuse(package, -EBADMSG, "is damaged: a unit is cut short");
		size = (uint64_t)read_u32(info + at) + 4;
		if (size < UNIT_HEADER_BYTES || size > end - at)
			return refuse(package, -EBADMSG, "is damaged, or has DWARF of 64 bits");
		if (read_u16(info + at + 4) != 5)
			return refuse(package, -ENOTSUP,
				      "has DWARF %u: pack it with dwp or llvm-dwp",
				      read_u16(info + at + 4));
		type = info[at + 6];
		if (type != DW_UT_split_compile && type != DW_UT_split_type)
			return refuse(package, -EBADMSG, "has a unit that is not of split DWARF");
		unit.is_type = type == DW_UT_split_type;
		memcpy(&unit.id, info + at + 12, sizeof(unit.id));
		unit.parts[PART_INFO].offset = at;
		unit.parts[PART_INFO].size = (uint32_t)size;
		r = vec_push(&package->units, unit);
		if (r < 0)
			return r;
		at += (uint32_t)size;
	}
	return 0;
}

/* Adds @base, where the strings of this file begin in the package, to its offsets of strings. */
static int move_strings(struct package *package, const struct packed_unit *file, uint32_t base)
{
	uint8_t *next =
		package->parts[PART_STR_OFFSETS].data + file->parts[PART_STR_OFFSETS].offset;
	const uint8_t *end = next + file->parts[PART_STR_OFFSETS].size;

	while (next < end) {
		const uint8_t *table_end;

		if (end - next < STR_OFFSETS_HEADER_BYTES || read_u32(next) < 4 ||
		    read_u32(next) > (size_t)(end - next) - 4 || read_u32(next) % 4 != 0)
			return refuse(package, -EBADMSG, "is damaged: its table of strings");
		table_end = next + 4 + read_u32(next);
		for (next += STR_OFFSETS_HEADER_BYTES; next < table_end; next += 4) {
			const uint32_t moved = read_u32(next) + base;

			if (moved < base)
				return refuse(package, -EFBIG,
					      "has too many strings for one package");
			memcpy(next, &moved, sizeof(moved));
		}
	}
	return 0;
}

/* Appends all sections of one name, because a file has a section for each type unit. */
static int append_part(struct package *package, const struct elf_file *elf, enum part part)
{
	int r = 0;

	for (size_t i = 0; i < elf->n_sections && r == 0; i++) {
		const struct elf_section *section = &elf->sections[i];

		if (strcmp(section->name, part_rows[part].name) != 0 ||
		    section->type == SHT_NOBITS || section->size == 0)
			continue;
		if (section->flags & SHF_COMPRESSED)
			return refuse(package, -ENOTSUP, "has compressed sections");
		r = elf_file_read_section(elf, section, &package->parts[part]);
	}
	return r == -ENODATA ? refuse(package, -EBADMSG, "is cut short") : r;
}

static int add_elf(struct package *package, const struct elf_file *elf)
{
	const size_t strings_before = package->parts[PART_STR].size;
	struct packed_unit file = {};
	int r = 0;

	if (package->machine != EM_NONE && package->machine != elf->machine)
		return refuse(package, -EBADMSG, "is for another machine than the others");
	package->machine = elf->machine;
	for (enum part i = 0; i <= PART_STR && r == 0; i++) {
		const size_t before = package->parts[i].size;

		r = append_part(package, elf, i);
		if (i < N_INDEXED_PARTS) {
			file.parts[i].offset = (uint32_t)before;
			file.parts[i].size = (uint32_t)(package->parts[i].size - before);
		}
	}
	if (r == 0 && file.parts[PART_INFO].size == 0)
		return refuse(package, -EBADMSG, "is no .dwo");
	if (r == 0)
		r = add_units(package, &file);
	return r < 0 ? r : move_strings(package, &file, (uint32_t)strings_before);
}

static int add_file(struct package *package, const char *path)
{
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int r;

	package->path = path;
	if (fd < 0) {
		r = -errno;
		return refuse(package, r, "cannot be opened: %s", strerror(-r));
	}
	r = elf_file_open(fd, &elf);
	if (r < 0)
		return refuse(package, r, "cannot be read: %s",
			      r == -ENOEXEC ? "no ELF file" : strerror(-r));
	return add_elf(package, elf);
}

/* ---- the index ------------------------------------------------------------------------------ */

/* Sorts by ID. Of units with equal IDs (types that several files have), the first is used. */
static int compare_units(const void *left, const void *right)
{
	const struct packed_unit *a = left;
	const struct packed_unit *b = right;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return a->parts[PART_INFO].offset < b->parts[PART_INFO].offset ? -1 : 1;
}

/* 7.3.5.3: the second hash is odd, so that probing visits every slot. */
static void fill_slots(const struct packed_unit_vec *rows, uint32_t n_slots, uint64_t *ids,
		       uint32_t *numbers)
{
	const uint64_t mask = n_slots - 1;

	for (size_t i = 0; i < rows->count; i++) {
		uint64_t slot = rows->items[i].id & mask;

		while (numbers[slot] != 0)
			slot = (slot + ((rows->items[i].id >> 32 & mask) | 1)) & mask;
		ids[slot] = rows->items[i].id;
		numbers[slot] = (uint32_t)i + 1;
	}
}

static int append_slots(const struct packed_unit_vec *rows, uint32_t n_slots, struct bytes *out)
{
	scoped_free uint64_t *ids = calloc(n_slots, sizeof(*ids));
	scoped_free uint32_t *numbers = calloc(n_slots, sizeof(*numbers));

	if (!ids || !numbers)
		return -ENOMEM;
	fill_slots(rows, n_slots, ids, numbers);
	(void)bytes_append(out, ids, n_slots * sizeof(*ids));
	return bytes_append(out, numbers, n_slots * sizeof(*numbers));
}

static int append_rows(const struct packed_unit_vec *rows, struct bytes *out)
{
	int r = 0;

	for (uint32_t i = 0; i < N_INDEXED_PARTS; i++)
		(void)append_u32(out, part_rows[i].id);
	for (size_t row = 0; row < rows->count; row++)
		for (uint32_t i = 0; i < N_INDEXED_PARTS; i++)
			r = append_u32(out, rows->items[row].parts[i].offset);
	for (size_t row = 0; row < rows->count; row++)
		for (uint32_t i = 0; i < N_INDEXED_PARTS; i++)
			r = append_u32(out, rows->items[row].parts[i].size);
	return r;
}

static int append_index(const struct packed_unit_vec *rows, struct bytes *out)
{
	uint32_t n_slots = 2;
	int r;

	if (rows->count == 0)
		return 0;
	if (rows->count > UINT32_MAX / 4)
		return -EFBIG;
	while (n_slots < rows->count * 3 / 2 + 1)
		n_slots *= 2;
	(void)append_u32(out, INDEX_VERSION); /* 16 bits, and 16 of padding */
	(void)append_u32(out, N_INDEXED_PARTS);
	(void)append_u32(out, rows->count);
	(void)append_u32(out, n_slots);
	r = append_slots(rows, n_slots, out);
	return r < 0 ? r : append_rows(rows, out);
}

static int make_index(struct package *package, bool of_types)
{
	struct packed_unit_vec rows = {};
	int r = 0;

	for (size_t i = 0; i < package->units.count && r == 0; i++) {
		const struct packed_unit *unit = &package->units.items[i];

		if (unit->is_type == of_types &&
		    (rows.count == 0 || rows.items[rows.count - 1].id != unit->id))
			r = vec_push(&rows, *unit);
	}
	if (r == 0)
		r = append_index(&rows, &package->parts[of_types ? PART_TU_INDEX : PART_CU_INDEX]);
	vec_release(&rows);
	return r;
}

/* ---- the file ------------------------------------------------------------------------------- */

static void append_section_headers(const struct package *package, const struct bytes *names,
				   struct bytes *out)
{
	Elf64_Shdr section = {};
	uint64_t offset = sizeof(Elf64_Ehdr);
	uint32_t name = 1;

	(void)bytes_append(out, &section, sizeof(section));
	for (size_t i = 0; i < N_PARTS; i++) {
		section = (Elf64_Shdr){ .sh_name = name,
					.sh_type = SHT_PROGBITS,
					.sh_flags = SHF_EXCLUDE,
					.sh_offset = offset,
					.sh_size = package->parts[i].size,
					.sh_addralign = 1 };
		(void)bytes_append(out, &section, sizeof(section));
		offset += section.sh_size;
		name += (uint32_t)strlen(part_rows[i].name) + 1;
	}
	section = (Elf64_Shdr){ .sh_name = name,
				.sh_type = SHT_STRTAB,
				.sh_offset = offset,
				.sh_size = names->size,
				.sh_addralign = 1 };
	(void)bytes_append(out, &section, sizeof(section));
}

static int append_file(const struct package *package, struct bytes *out)
{
	scoped(bytes_release) struct bytes names = BYTES_INIT(KIB);
	Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_REL,
		.e_machine = package->machine,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(header),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = N_PARTS + 2,
		.e_shstrndx = N_PARTS + 1,
		.e_shoff = sizeof(header),
	};

	(void)bytes_append_byte(&names, 0);
	for (size_t i = 0; i < N_PARTS; i++)
		(void)bytes_append(&names, part_rows[i].name, strlen(part_rows[i].name) + 1);
	(void)bytes_append(&names, ".shstrtab", sizeof(".shstrtab"));
	for (size_t i = 0; i < N_PARTS; i++)
		header.e_shoff += package->parts[i].size;
	header.e_shoff += names.size;

	(void)bytes_append(out, &header, sizeof(header));
	for (size_t i = 0; i < N_PARTS; i++) {
		if (package->parts[i].size > 0)
			(void)bytes_append(out, package->parts[i].data, package->parts[i].size);
	}
	(void)bytes_append(out, names.data, names.size);
	append_section_headers(package, &names, out);
	return bytes_error(&names) < 0 ? bytes_error(&names) : bytes_error(out);
}

static int pack(struct package *package, const char *const *paths, size_t count, struct bytes *out)
{
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		r = add_file(package, paths[i]);
	if (r < 0)
		return r;
	if (package->units.count > 0)
		qsort(package->units.items, package->units.count, sizeof(*package->units.items),
		      compare_units);
	r = make_index(package, false);
	if (r == 0)
		r = make_index(package, true);
	return r < 0 ? r : append_file(package, out);
}

int dwarf_pack(const char *const *paths, size_t count, struct bytes *out,
	       char ret_message[DWARF_PACK_MESSAGE_SIZE])
{
	struct package package = { .message = ret_message, .path = "" };
	int r;

	ret_message[0] = '\0';
	for (size_t i = 0; i < N_PARTS; i++)
		package.parts[i] = BYTES_INIT(DWARF_PACK_MAX_BYTES);
	r = pack(&package, paths, count, out);
	for (size_t i = 0; i < N_PARTS; i++)
		bytes_release(&package.parts[i]);
	vec_release(&package.units);
	return r;
}
