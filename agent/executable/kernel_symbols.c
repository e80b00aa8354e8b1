/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes over /proc/kallsyms. The first counts symbols, so that the file is laid out and
 * allocated once in its exact size. The second writes symbols and names. ELF requires local symbols
 * before all others, so there are two write positions. The size of a symbol is the distance to the
 * next one, as in the kernel's own look-up. If code is loaded between the passes, the second pass
 * writes no more symbols than were counted.
 *
 * The file consists of the header, two program headers, the build-ID note, .symtab, .strtab,
 * .shstrtab and section headers. .text has an address and a size, but no bytes.
 */
#include "agent/executable/kernel_layout.h"

#include <elf.h>
#include <string.h>

#include "agent/executable/kallsyms.h"

enum section_number {
	SECTION_NULL,
	SECTION_TEXT,
	SECTION_NOTE,
	SECTION_SYMTAB,
	SECTION_STRTAB,
	SECTION_NAMES,
	SECTION_COUNT,
};

#define PROGRAM_HEADERS 2

static const char section_names[] = "\0.text\0.note.gnu.build-id\0.symtab\0.strtab\0.shstrtab";

static const Elf64_Word section_name_offsets[SECTION_COUNT] = {
	[SECTION_TEXT] = 1,    [SECTION_NOTE] = 7,   [SECTION_SYMTAB] = 26,
	[SECTION_STRTAB] = 34, [SECTION_NAMES] = 42,
};

/*
 * The server counts addresses of kernel frames from this symbol. On arm64 without
 * CONFIG_KALLSYMS_ALL, kallsyms does not list it; then it is added to the file.
 */
#define TEXT "_text"

/* Maximum number of names of one address that get a size. */
#define MAX_ALIASES 64

/* Selects the symbols of the file by owner and address range. */
struct selection {
	const char *path;  /* of kallsyms */
	const char *owner; /* "": the image */
	uint64_t start, end;
	uint64_t base; /* subtracted from addresses */
	const struct executable_id *id;
	Elf64_Half type;
};

struct layout {
	size_t n_locals, n_globals; /* including a _text that kallsyms lacks */
	bool lacks_text;
	size_t names_bytes;
	size_t note_offset, note_size;
	size_t symtab_offset, strtab_offset, section_names_offset, sections_offset;
	size_t total;
};

struct writer {
	const struct layout *layout;
	uint8_t *file;
	size_t next_local, next_global; /* symbol indices */
	size_t next_name;
	uint64_t last_address;
	size_t open[MAX_ALIASES]; /* symbols at last_address, whose sizes are not known yet */
	size_t n_open;
};

static bool is_selected(const struct selection *selection, const struct kallsyms_symbol *symbol)
{
	return kallsyms_is_text(symbol) && symbol->address >= selection->start &&
	       symbol->address < selection->end;
}

static bool is_local(const struct kallsyms_symbol *symbol)
{
	return symbol->type == 't';
}

static unsigned int binding_of(const struct kallsyms_symbol *symbol)
{
	if (is_local(symbol))
		return STB_LOCAL;
	return symbol->type == 'T' ? STB_GLOBAL : STB_WEAK;
}

static int count_symbols(const struct selection *selection, struct layout *layout)
{
	scoped(kallsyms_closep) struct kallsyms *kallsyms = NULL;
	struct kallsyms_symbol symbol;
	int r;

	r = kallsyms_open(selection->path, &kallsyms);
	if (r < 0)
		return r;
	layout->names_bytes = 1;
	layout->lacks_text = selection->owner[0] == '\0';
	while ((r = kallsyms_next(kallsyms, &symbol)) > 0) {
		if (strcmp(symbol.owner, selection->owner) != 0 || !is_selected(selection, &symbol))
			continue;
		if (strcmp(symbol.name, TEXT) == 0)
			layout->lacks_text = false;
		if (is_local(&symbol))
			layout->n_locals++;
		else
			layout->n_globals++;
		layout->names_bytes += strlen(symbol.name) + 1;
	}
	if (r < 0)
		return r;
	if (layout->n_locals + layout->n_globals == 0)
		return -ENODATA;
	if (layout->lacks_text) {
		layout->n_globals++;
		layout->names_bytes += sizeof(TEXT);
	}
	return 0;
}

static void lay_out(const struct selection *selection, struct layout *layout)
{
	size_t n_symbols = 1 + layout->n_locals + layout->n_globals;

	layout->note_offset = sizeof(Elf64_Ehdr) + PROGRAM_HEADERS * sizeof(Elf64_Phdr);
	layout->note_size =
		sizeof(Elf64_Nhdr) + sizeof("GNU") + ROUND_UP((size_t)selection->id->size, 4);
	layout->symtab_offset = ROUND_UP(layout->note_offset + layout->note_size, 8);
	layout->strtab_offset = layout->symtab_offset + n_symbols * sizeof(Elf64_Sym);
	layout->section_names_offset = layout->strtab_offset + layout->names_bytes;
	layout->sections_offset = ROUND_UP(layout->section_names_offset + sizeof(section_names), 8);
	layout->total = layout->sections_offset + SECTION_COUNT * sizeof(Elf64_Shdr);
}

/* Sets the size of the symbols at last_address. */
static void close_sizes(struct writer *writer, uint64_t next_address)
{
	for (size_t i = 0; i < writer->n_open; i++) {
		uint8_t *at = writer->file + writer->layout->symtab_offset +
			      writer->open[i] * sizeof(Elf64_Sym);
		Elf64_Sym symbol;

		memcpy(&symbol, at, sizeof(symbol));
		symbol.st_size = next_address - writer->last_address;
		memcpy(at, &symbol, sizeof(symbol));
	}
	writer->n_open = 0;
}

static void write_symbol(struct writer *writer, const struct selection *selection,
			 const struct kallsyms_symbol *from)
{
	const struct layout *layout = writer->layout;
	size_t name_size = strlen(from->name) + 1;
	size_t *next = is_local(from) ? &writer->next_local : &writer->next_global;
	size_t limit =
		is_local(from) ? 1 + layout->n_locals : 1 + layout->n_locals + layout->n_globals;
	Elf64_Sym symbol = {
		.st_name = (Elf64_Word)writer->next_name,
		.st_info = (unsigned char)ELF64_ST_INFO(binding_of(from), STT_FUNC),
		.st_shndx = SECTION_TEXT,
		.st_value = from->address - selection->base,
	};

	if (*next == limit || name_size > layout->names_bytes - writer->next_name)
		return;
	memcpy(writer->file + layout->strtab_offset + writer->next_name, from->name, name_size);
	memcpy(writer->file + layout->symtab_offset + *next * sizeof(symbol), &symbol,
	       sizeof(symbol));
	writer->next_name += name_size;
	if (writer->n_open < MAX_ALIASES)
		writer->open[writer->n_open++] = *next;
	(*next)++;
}

/*
 * The image's symbols are in order of address and get sizes. A module's symbols are not, and get
 * none.
 */
static int write_symbols(const struct selection *selection, struct writer *writer)
{
	scoped(kallsyms_closep) struct kallsyms *kallsyms = NULL;
	struct kallsyms_symbol symbol;
	int r;

	r = kallsyms_open(selection->path, &kallsyms);
	if (r < 0)
		return r;
	if (writer->layout->lacks_text) {
		symbol = (struct kallsyms_symbol){ .address = selection->start,
						   .type = 'T',
						   .name = TEXT };
		write_symbol(writer, selection, &symbol);
		writer->last_address = selection->start;
	}
	while ((r = kallsyms_next(kallsyms, &symbol)) > 0) {
		if (strcmp(symbol.owner, selection->owner) != 0)
			continue;
		if (symbol.address > writer->last_address && selection->owner[0] == '\0')
			close_sizes(writer, MIN(symbol.address, selection->end));
		if (symbol.address != writer->last_address)
			writer->n_open = 0;
		writer->last_address = symbol.address;
		if (is_selected(selection, &symbol))
			write_symbol(writer, selection, &symbol);
	}
	if (r == 0 && selection->owner[0] == '\0' && writer->last_address < selection->end)
		close_sizes(writer, selection->end);
	return r;
}

static void write_note(const struct selection *selection, const struct layout *layout,
		       uint8_t *file)
{
	const Elf64_Nhdr header = {
		.n_namesz = sizeof("GNU"),
		.n_descsz = selection->id->size,
		.n_type = NT_GNU_BUILD_ID,
	};
	uint8_t *at = file + layout->note_offset;

	memcpy(at, &header, sizeof(header));
	memcpy(at + sizeof(header), "GNU", sizeof("GNU"));
	memcpy(at + sizeof(header) + sizeof("GNU"), selection->id->bytes, selection->id->size);
}

static Elf64_Half machine(void)
{
#if defined(__x86_64__)
	return EM_X86_64;
#elif defined(__aarch64__)
	return EM_AARCH64;
#else
#error "no other machine is supported"
#endif
}

static void write_headers(const struct selection *selection, const struct layout *layout,
			  uint8_t *file)
{
	const Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = selection->type,
		.e_machine = machine(),
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_shoff = layout->sections_offset,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = PROGRAM_HEADERS,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTION_COUNT,
		.e_shstrndx = SECTION_NAMES,
	};
	const Elf64_Phdr segments[PROGRAM_HEADERS] = {
		{
			.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_offset = layout->note_offset,
			.p_vaddr = selection->start - selection->base,
			.p_paddr = selection->start - selection->base,
			.p_memsz = selection->end - selection->start,
			.p_align = 1,
		},
		{
			.p_type = PT_NOTE,
			.p_flags = PF_R,
			.p_offset = layout->note_offset,
			.p_filesz = layout->note_size,
			.p_memsz = layout->note_size,
			.p_align = 4,
		},
	};

	memcpy(file, &header, sizeof(header));
	memcpy(file + sizeof(header), segments, sizeof(segments));
}

static void write_sections(const struct selection *selection, const struct layout *layout,
			   uint8_t *file)
{
	const Elf64_Shdr sections[SECTION_COUNT] = {
		[SECTION_TEXT] = {
			.sh_type = SHT_NOBITS,
			.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			.sh_addr = selection->start - selection->base,
			.sh_offset = layout->note_offset,
			.sh_size = selection->end - selection->start,
			.sh_addralign = 1,
		},
		[SECTION_NOTE] = {
			.sh_type = SHT_NOTE,
			.sh_offset = layout->note_offset,
			.sh_size = layout->note_size,
			.sh_addralign = 4,
		},
		[SECTION_SYMTAB] = {
			.sh_type = SHT_SYMTAB,
			.sh_offset = layout->symtab_offset,
			.sh_size = layout->strtab_offset - layout->symtab_offset,
			.sh_link = SECTION_STRTAB,
			.sh_info = (Elf64_Word)(1 + layout->n_locals),
			.sh_addralign = 8,
			.sh_entsize = sizeof(Elf64_Sym),
		},
		[SECTION_STRTAB] = {
			.sh_type = SHT_STRTAB,
			.sh_offset = layout->strtab_offset,
			.sh_size = layout->names_bytes,
			.sh_addralign = 1,
		},
		[SECTION_NAMES] = {
			.sh_type = SHT_STRTAB,
			.sh_offset = layout->section_names_offset,
			.sh_size = sizeof(section_names),
			.sh_addralign = 1,
		},
	};

	memcpy(file + layout->section_names_offset, section_names, sizeof(section_names));
	for (size_t i = 0; i < SECTION_COUNT; i++) {
		Elf64_Shdr section = sections[i];

		section.sh_name = section_name_offsets[i];
		memcpy(file + layout->sections_offset + i * sizeof(section), &section,
		       sizeof(section));
	}
}

static int build(const struct selection *selection, struct bytes *out)
{
	struct layout layout = {};
	struct writer writer = { .layout = &layout, .next_local = 1, .next_name = 1 };
	int r;

	if (selection->id->kind != EXECUTABLE_ID_GNU)
		return -ENODATA;
	r = count_symbols(selection, &layout);
	if (r < 0)
		return r;
	lay_out(selection, &layout);
	r = bytes_reserve(out, layout.total);
	if (r < 0)
		return r;

	writer.file = out->data + out->size;
	writer.next_global = 1 + layout.n_locals;
	memset(writer.file, 0, layout.total);
	r = write_symbols(selection, &writer);
	if (r < 0)
		return r;
	write_headers(selection, &layout, writer.file);
	write_note(selection, &layout, writer.file);
	write_sections(selection, &layout, writer.file);
	out->size += layout.total;
	return 0;
}

int kernel_symbols_elf_from(const char *kallsyms_path, const struct kernel_layout *layout,
			    struct bytes *out)
{
	const struct selection selection = {
		.path = kallsyms_path,
		.owner = "",
		.start = layout->text_start,
		.end = layout->text_end,
		.id = &layout->id,
		.type = ET_EXEC,
	};

	return build(&selection, out);
}

int kernel_symbols_elf(const struct kernel_layout *layout, struct bytes *out)
{
	return kernel_symbols_elf_from("/proc/kallsyms", layout, out);
}

int kernel_module_symbols_elf_from(const char *kallsyms_path, const struct kernel_module *module,
				   struct bytes *out)
{
	const struct selection selection = {
		.path = kallsyms_path,
		.owner = module->name,
		.start = module->start,
		.end = module->end,
		.base = module->start,
		.id = &module->id,
		.type = ET_DYN,
	};

	return build(&selection, out);
}

int kernel_module_symbols_elf(const struct kernel_module *module, struct bytes *out)
{
	return kernel_module_symbols_elf_from("/proc/kallsyms", module, out);
}
