/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/cfi/eh_frame_file.h"

#include <elf.h>
#include <string.h>

#define WINDOW_BYTES (256 * KIB)

/* Linkers leave fewer sections of one name. */
#define MAX_SECTIONS 8

static uint64_t vaddr_of_section(const struct elf_file *elf, const char *name)
{
	const struct elf_section *section = elf_file_section(elf, name);

	return section ? section->vaddr : 0;
}

/* All but the size, which the reader knows. */
static struct eh_frame_section describe(const struct elf_file *elf,
					const struct elf_section *section, bool is_debug_frame)
{
	return (struct eh_frame_section){
		.vaddr = section->vaddr,
		.text_vaddr = vaddr_of_section(elf, ".text"),
		.data_vaddr = vaddr_of_section(elf, ".got"),
		.is_debug_frame = is_debug_frame,
	};
}

/* Appends the next bytes to @window. Returns how many, 0 at the end. */
static ssize_t read_on(struct section_reader *reader, struct bytes *window)
{
	int r = bytes_reserve(window, WINDOW_BYTES);
	ssize_t n;

	if (r < 0)
		return r;
	n = section_reader_read(reader, window->data + window->size, WINDOW_BYTES);
	if (n > 0)
		window->size += (size_t)n;
	return n;
}

static int feed(struct section_reader *reader, struct eh_frame_parser *parser)
{
	scoped(bytes_release) struct bytes window = BYTES_INIT(2 * EH_FRAME_MAX_ENTRY_BYTES);
	size_t consumed;
	ssize_t n = 1;
	int r = 1;

	while (r == 1 && n > 0) {
		n = read_on(reader, &window);
		if (n < 0)
			return (int)n;
		r = eh_frame_parse(parser, bytes_view_of(&window), &consumed);
		if (r < 0)
			return r;
		window.size -= consumed;
		memmove(window.data, window.data + consumed, window.size);
	}
	return 0;
}

int eh_frame_file_read(const struct elf_file *elf, struct eh_frame_section *section,
		       struct section_reader *reader, const struct eh_frame_visit *visit)
{
	scoped(eh_frame_parser_freep) struct eh_frame_parser *parser = NULL;
	int r;

	section->size = section_reader_size(reader);
	r = eh_frame_parser_new(section, cfi_machine_of(elf->machine), visit->on_fde,
				visit->argument, &parser);
	if (r < 0)
		return r;
	r = feed(reader, parser);
	if (visit->on_end)
		visit->on_end(visit->argument, parser);
	return r;
}

/* 1: read; 0: the section is empty, or cannot be read. */
static int read_section(const struct elf_file *elf, const struct elf_section *found,
			bool is_debug_frame, const struct eh_frame_visit *visit)
{
	scoped(section_reader_freep) struct section_reader *reader = NULL;
	struct eh_frame_section section = describe(elf, found, is_debug_frame);
	int r;

	if (found->type == SHT_NOBITS || found->size == 0)
		return 0;
	r = section_reader_new(elf, found->file_offset, found->size, found->flags & SHF_COMPRESSED,
			       EH_FRAME_FILE_MAX_BYTES, &reader);
	if (r <= 0)
		return r;
	r = eh_frame_file_read(elf, &section, reader, visit);
	return r < 0 ? r : 1;
}

int eh_frame_file_each(const struct elf_file *elf, const char *name, bool is_debug_frame,
		       const struct eh_frame_visit *visit)
{
	int count = 0;

	for (size_t i = 0; i < elf->n_sections && count < MAX_SECTIONS; i++) {
		int r;

		if (strcmp(elf->sections[i].name, name) != 0)
			continue;
		r = read_section(elf, &elf->sections[i], is_debug_frame, visit);
		if (r < 0)
			return r;
		count += r;
	}
	return count;
}
