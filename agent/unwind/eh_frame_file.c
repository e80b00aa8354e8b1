/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/eh_frame_file.h"

#include <elf.h>
#include <string.h>

#define WINDOW_BYTES (256 * KIB)

static uint64_t vaddr_of_section(const struct elf_file *elf, const char *name)
{
	const struct elf_section *section = elf_file_section(elf, name);

	return section ? section->vaddr : 0;
}

struct eh_frame_section eh_frame_file_section(const struct elf_file *elf, const struct elf_section *section,
					      bool is_debug_frame)
{
	return (struct eh_frame_section){
		.vaddr = section->vaddr,
		.text_vaddr = vaddr_of_section(elf, ".text"),
		.data_vaddr = vaddr_of_section(elf, ".got"),
		.is_debug_frame = is_debug_frame,
	};
}

/* Reads on behind what is left in @window. The number of bytes, 0 at the end. */
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

int eh_frame_file_read(struct section_reader *reader, struct eh_frame_parser *parser)
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

/* 1 read; 0: nothing is in it that could be. */
static int read_section(const struct elf_file *elf, const struct elf_section *found, eh_frame_fde_function on_fde,
			void *argument)
{
	scoped(section_reader_freep) struct section_reader *reader = NULL;
	scoped(eh_frame_parser_freep) struct eh_frame_parser *parser = NULL;
	struct eh_frame_section section = eh_frame_file_section(elf, found, false);
	int r;

	if (found->type == SHT_NOBITS || found->size == 0)
		return 0;
	r = section_reader_new(elf, found->file_offset, found->size, found->flags & SHF_COMPRESSED,
			       EH_FRAME_FILE_MAX_BYTES, &reader);
	if (r <= 0)
		return r;
	section.size = section_reader_size(reader);
	r = eh_frame_parser_new(&section, cfi_machine_of(elf->machine), on_fde, argument, &parser);
	if (r == 0)
		r = eh_frame_file_read(reader, parser);
	return r < 0 ? r : 1;
}

int eh_frame_file_each(const struct elf_file *elf, eh_frame_fde_function on_fde, void *argument)
{
	int count = 0;

	for (size_t i = 0; i < elf->n_sections && count < EH_FRAME_FILE_MAX_SECTIONS; i++) {
		int r;

		if (strcmp(elf->sections[i].name, ".eh_frame") != 0)
			continue;
		r = read_section(elf, &elf->sections[i], on_fde, argument);
		if (r < 0)
			return r;
		count += r;
	}
	return count > 0;
}
