/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/unwind_input.h"

#include <elf.h>
#include <xxhash.h>

#include "agent/unwind/gap_frames.h"
#include "agent/unwind/gap_starts.h"
#include "agent/unwind/go_file.h"
#include "agent/unwind/musl_frames.h"
#include "agent/unwind/start_code.h"
#include "common/file.h"
#include "common/scoped.h"

/*
 * Headers, and the sections that hold call frame information as they stand in the file, compressed
 * or not: hashing is a hundred times faster than compiling them. Of the other sections their
 * places. The prologues of Go's hand-written functions are left out: they are tied to addresses
 * that are in. Start code. Of files that have much code without call frame information all code and
 * what may point into it.
 */

#define PIECE_BYTES (64 * KIB)

/* Longer ones are not read to their end when they are compiled either. */
#define MAX_SECTION_BYTES (256 * MIB)

static const char *const hashed_sections[] = { ".eh_frame", ".debug_frame" };
static const char *const placed_sections[] = { ".eh_frame", ".debug_frame", ".text", ".got" };

static void free_state(XXH3_state_t **state)
{
	(void)XXH3_freeState(*state);
}

static bool is_one_of(const char *name, const char *const *names, size_t n_names)
{
	for (size_t i = 0; i < n_names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static int hash_range(XXH3_state_t *state, const struct elf_file *elf, uint64_t file_offset,
		      uint64_t size)
{
	scoped_free uint8_t *piece = malloc(PIECE_BYTES);
	uint64_t left = file_offset > elf->file_size ? 0 : MIN(size, elf->file_size - file_offset);
	int r = 0;

	if (!piece)
		return -ENOMEM;
	left = MIN(left, MAX_SECTION_BYTES);
	while (r == 0 && left > 0) {
		size_t n = (size_t)MIN(left, PIECE_BYTES);

		r = pread_all(elf->fd, piece, n, file_offset);
		(void)XXH3_128bits_update(state, piece, n);
		file_offset += n;
		left -= n;
	}
	return r;
}

static void hash_place(XXH3_state_t *state, const struct elf_section *section)
{
	const uint64_t place[] = { section->type, section->flags, section->vaddr,
				   section->file_offset, section->size };

	(void)XXH3_128bits_update(state, section->name, strlen(section->name) + 1);
	(void)XXH3_128bits_update(state, place, sizeof(place));
}

static void hash_headers(XXH3_state_t *state, const struct elf_file *elf)
{
	(void)XXH3_128bits_update(state, elf->header, sizeof(elf->header));
	(void)XXH3_128bits_update(state, elf->program_headers,
				  elf->n_program_headers * sizeof(Elf64_Phdr));
	for (size_t i = 0; i < elf->n_sections; i++) {
		if (is_one_of(elf->sections[i].name, placed_sections, ARRAY_SIZE(placed_sections)))
			hash_place(state, &elf->sections[i]);
	}
}

/* 1 it is a Go program, 0 not. */
static int hash_go(XXH3_state_t *state, const struct elf_file *elf, uint64_t *bytes)
{
	struct go_file go;
	int r = go_file_find(elf, &go);

	if (r <= 0)
		return r;
	(void)XXH3_128bits_update(state, &go.text_start, sizeof(go.text_start));
	*bytes += go.pclntab.size;
	r = hash_range(state, elf, go.pclntab.file_offset, go.pclntab.size);
	return r < 0 ? r : 1;
}

/* What rows of code without call frame information come from. */
static int hash_gaps(XXH3_state_t *state, const struct elf_file *elf, uint64_t *bytes)
{
	int r = gap_frames_are_needed(elf);

	if (r <= 0)
		return r;
	r = 0;
	for (size_t i = 0; r == 0 && i < elf->n_sections; i++) {
		const struct elf_section *section = &elf->sections[i];

		if (!gap_starts_reads(elf, section))
			continue;
		hash_place(state, section);
		r = hash_range(state, elf, section->file_offset, section->size);
		*bytes += section->size;
	}
	return r;
}

static int hash_start_code(XXH3_state_t *state, const struct elf_file *elf)
{
	struct start_code_range ranges[START_CODE_MAX_RANGES];
	int n = start_code_find(elf, ranges);
	int r = MIN(n, 0);

	for (int i = 0; r == 0 && i < n; i++) {
		const uint64_t place[] = { ranges[i].vaddr, ranges[i].size, ranges[i].functions[0],
					   ranges[i].functions[ranges[i].n_functions - 1] };

		(void)XXH3_128bits_update(state, place, sizeof(place));
		r = hash_range(state, elf, ranges[i].file_offset, ranges[i].size);
	}
	return r;
}

/* 1 it is musl's, 0 not. */
static int hash_code(XXH3_state_t *state, const struct elf_file *elf, uint64_t *bytes)
{
	const struct load_segment *segment;
	uint64_t size;
	int r = musl_frames_are_needed(elf);

	if (r <= 0)
		return r;
	segment = musl_frames_segment(elf, &size);
	if (!segment)
		return 1;
	*bytes += size;
	r = hash_range(state, elf, segment->file_offset, size);
	return r < 0 ? r : 1;
}

int unwind_input_hash(const struct elf_file *elf, struct hash128 *ret_hash, uint64_t *ret_bytes)
{
	scoped(free_state) XXH3_state_t *state = XXH3_createState();
	XXH128_canonical_t canonical;
	uint64_t bytes = 0;
	bool is_go;
	int r;

	if (!state)
		return -ENOMEM;
	(void)XXH3_128bits_reset(state);
	hash_headers(state, elf);
	for (size_t i = 0; i < elf->n_sections; i++) {
		const struct elf_section *section = &elf->sections[i];

		if (section->type == SHT_NOBITS ||
		    !is_one_of(section->name, hashed_sections, ARRAY_SIZE(hashed_sections)))
			continue;
		r = hash_range(state, elf, section->file_offset, section->size);
		if (r < 0)
			return r;
		bytes += section->size;
	}
	r = hash_go(state, elf, &bytes);
	is_go = r > 0;
	if (r >= 0)
		r = hash_code(state, elf, &bytes);
	if (r == 0)
		r = hash_start_code(state, elf);
	if (r == 0 && !is_go)
		r = hash_gaps(state, elf, &bytes);
	if (r < 0)
		return r;
	if (bytes == 0)
		return 0;
	XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state));
	memcpy(ret_hash->bytes, canonical.digest, sizeof(ret_hash->bytes));
	*ret_bytes = bytes;
	return 1;
}
