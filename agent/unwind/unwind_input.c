/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hashes the options, the headers, and the sections with call frame information as they are in the
 * file, compressed or not: that is a hundred times faster than compiling them. Of sections that
 * addresses are relative to, only their headers are hashed. The code of Go's hand-written functions
 * is not hashed, because their addresses are.
 */
#include "agent/unwind/unwind_input.h"

#include <elf.h>
#include <xxhash.h>

#include "agent/unwind/go/go_file.h"
#include "agent/unwind/x86_code/x86_code.h"
#include "common/file.h"
#include "common/scoped.h"

#define PIECE_BYTES (64 * KIB)

/* Compiling does not read beyond this either. */
#define MAX_SECTION_BYTES (256 * MIB)

static const char *const sections_with_content[] = { ".eh_frame", ".debug_frame" };
static const char *const sections_with_header[] = { ".eh_frame", ".debug_frame", ".text", ".got" };

struct input {
	XXH3_state_t *hash;
	const struct elf_file *elf;
	uint64_t bytes;
};

static void free_hash(XXH3_state_t **hash)
{
	(void)XXH3_freeState(*hash);
}

static bool is_one_of(const char *name, const char *const *names, size_t n_names)
{
	for (size_t i = 0; i < n_names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static int hash_range(struct input *input, uint64_t file_offset, uint64_t size)
{
	scoped_free uint8_t *piece = malloc(PIECE_BYTES);
	uint64_t file_size = input->elf->file_size;
	uint64_t left = file_offset > file_size ? 0 : MIN(size, file_size - file_offset);

	if (!piece)
		return -ENOMEM;
	left = MIN(left, MAX_SECTION_BYTES);
	while (left > 0) {
		size_t n = (size_t)MIN(left, PIECE_BYTES);
		int r = pread_all(input->elf->fd, piece, n, file_offset);

		if (r < 0)
			return r;
		(void)XXH3_128bits_update(input->hash, piece, n);
		file_offset += n;
		left -= n;
	}
	return 0;
}

static void hash_section_header(struct input *input, const struct elf_section *section)
{
	const uint64_t fields[] = { section->type, section->flags, section->vaddr,
				    section->file_offset, section->size };

	(void)XXH3_128bits_update(input->hash, section->name, strlen(section->name) + 1);
	(void)XXH3_128bits_update(input->hash, fields, sizeof(fields));
}

static void hash_headers(struct input *input)
{
	const struct elf_file *elf = input->elf;

	(void)XXH3_128bits_update(input->hash, elf->header, sizeof(elf->header));
	(void)XXH3_128bits_update(input->hash, elf->program_headers,
				  elf->n_program_headers * sizeof(Elf64_Phdr));
	for (size_t i = 0; i < elf->n_sections; i++) {
		if (is_one_of(elf->sections[i].name, sections_with_header,
			      ARRAY_SIZE(sections_with_header)))
			hash_section_header(input, &elf->sections[i]);
	}
}

static int hash_sections(struct input *input)
{
	for (size_t i = 0; i < input->elf->n_sections; i++) {
		const struct elf_section *section = &input->elf->sections[i];
		int r;

		if (section->type == SHT_NOBITS || !is_one_of(section->name, sections_with_content,
							      ARRAY_SIZE(sections_with_content)))
			continue;
		r = hash_range(input, section->file_offset, section->size);
		if (r < 0)
			return r;
		input->bytes += section->size;
	}
	return 0;
}

/* 1: it is a Go program; 0: it is none. */
static int hash_go(struct input *input)
{
	struct go_file go;
	int r = go_file_find(input->elf, &go);

	if (r <= 0)
		return r;
	(void)XXH3_128bits_update(input->hash, &go.text_start, sizeof(go.text_start));
	input->bytes += go.pclntab.size;
	r = hash_range(input, go.pclntab.file_offset, go.pclntab.size);
	return r < 0 ? r : 1;
}

static int hash_x86_code(void *arg, const struct x86_code_input *range)
{
	struct input *input = arg;

	(void)XXH3_128bits_update(input->hash, range->facts, sizeof(range->facts));
	(void)XXH3_128bits_update(input->hash, &range->size, sizeof(range->size));
	if (!range->is_small)
		input->bytes += range->size;
	return hash_range(input, range->file_offset, range->size);
}

static int hash_file(struct input *input, const struct unwind_options *options)
{
	int r;

	(void)XXH3_128bits_update(input->hash, &(uint8_t){ options->skip_x86_code }, 1);
	hash_headers(input);
	r = hash_sections(input);
	if (r < 0)
		return r;
	r = hash_go(input);
	if (r < 0 || options->skip_x86_code)
		return MIN(r, 0);
	return x86_code_each_input(input->elf, r == 1, hash_x86_code, input);
}

int unwind_input_hash(const struct elf_file *elf, const struct unwind_options *options,
		      struct hash128 *ret_hash, uint64_t *ret_bytes)
{
	scoped(free_hash) XXH3_state_t *hash = XXH3_createState();
	struct input input = { .hash = hash, .elf = elf };
	XXH128_canonical_t canonical;
	int r;

	if (!hash)
		return -ENOMEM;
	(void)XXH3_128bits_reset(hash);
	r = hash_file(&input, options);
	if (r < 0)
		return r;
	if (input.bytes == 0)
		return 0;
	XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(hash));
	memcpy(ret_hash->bytes, canonical.digest, sizeof(ret_hash->bytes));
	*ret_bytes = input.bytes;
	return 1;
}
