/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information is hashed completely, because the unwind table is compiled from it. If a
 * file has none, the table is compiled from its code, and then the code is hashed completely too.
 * Otherwise large code is sampled, so that identifying a browser of 200 MB does not read all of it
 * from disk.
 */
#include "agent/executable/executable_content.h"

#include <elf.h>
#include <string.h>
#include <xxhash.h>

#include "common/file.h"
#include "common/scoped.h"

#define PIECE_BYTES ((size_t)(64 * KIB))

/* libLLVM has 10 MiB of call frame information, Chromium 12 MiB. */
#define MAX_FRAME_BYTES ((uint64_t)(64 * MIB))

/* Code up to this size is always hashed completely: 3 of 4 executables of a host have less. */
#define WHOLE_CODE_BYTES ((uint64_t)MIB)

/*
 * Larger code is sampled: this many pieces of this size at equal distances, including the first and
 * the last bytes.
 */
#define N_SAMPLED_PIECES    64
#define SAMPLED_PIECE_BYTES ((uint64_t)(4 * KIB))

struct hashing {
	const struct elf_file *elf;
	XXH3_state_t *state;
	uint8_t *piece; /* [PIECE_BYTES] */
};

static void free_state(XXH3_state_t **state)
{
	(void)XXH3_freeState(*state);
}

static void add_numbers(struct hashing *hashing, const uint64_t *numbers, size_t count)
{
	(void)XXH3_128bits_update(hashing->state, numbers, count * sizeof(*numbers));
}

static int add_range(struct hashing *hashing, uint64_t file_offset, uint64_t size)
{
	while (size > 0) {
		size_t n = (size_t)MIN(size, (uint64_t)PIECE_BYTES);
		int r = pread_all(hashing->elf->fd, hashing->piece, n, file_offset);

		if (r < 0)
			return r;
		(void)XXH3_128bits_update(hashing->state, hashing->piece, n);
		file_offset += n;
		size -= n;
	}
	return 0;
}

/* Of a range beyond the end of the file only its offset and size are hashed, and no bytes. */
static bool is_in_file(const struct elf_file *elf, uint64_t file_offset, uint64_t size)
{
	return file_offset <= elf->file_size && size <= elf->file_size - file_offset;
}

static int add_code(struct hashing *hashing, uint64_t file_offset, uint64_t size, bool whole)
{
	const uint64_t last = size - MIN(size, SAMPLED_PIECE_BYTES);

	if (!is_in_file(hashing->elf, file_offset, size))
		return 0;
	if (size <= WHOLE_CODE_BYTES || (whole && size <= MAX_FRAME_BYTES))
		return add_range(hashing, file_offset, size);
	for (uint64_t i = 0; i < N_SAMPLED_PIECES; i++) {
		uint64_t distance = last / (N_SAMPLED_PIECES - 1) * i;
		int r = add_range(hashing, file_offset + distance, SAMPLED_PIECE_BYTES);

		if (r < 0)
			return r;
	}
	return 0;
}

static void add_segments(struct hashing *hashing)
{
	for (size_t i = 0; i < hashing->elf->n_load_segments; i++) {
		const struct load_segment *segment = &hashing->elf->load_segments[i];
		const uint64_t numbers[] = { segment->file_offset, segment->vaddr,
					     segment->file_size, segment->memory_size,
					     segment->flags };

		add_numbers(hashing, numbers, ARRAY_SIZE(numbers));
	}
}

static bool has_bytes(const struct elf_section *section)
{
	return section && section->type != SHT_NOBITS && section->size > 0;
}

static void add_name_and_range(struct hashing *hashing, const struct elf_section *section)
{
	const uint64_t numbers[] = { section->vaddr, section->size };

	(void)XXH3_128bits_update(hashing->state, section->name, strlen(section->name));
	add_numbers(hashing, numbers, ARRAY_SIZE(numbers));
}

/* 1: the file has call frame information; 0: it has none. */
static int add_frames(struct hashing *hashing)
{
	const struct elf_section *section = elf_file_section(hashing->elf, ".eh_frame");
	int r;

	if (!has_bytes(section))
		return 0;
	add_name_and_range(hashing, section);
	if (!is_in_file(hashing->elf, section->file_offset, section->size))
		return 1;
	r = add_range(hashing, section->file_offset, MIN(section->size, MAX_FRAME_BYTES));
	return r < 0 ? r : 1;
}

/* In a file without section headers only the segments show where the code is. */
static int add_executable_segments(struct hashing *hashing)
{
	for (size_t i = 0; i < hashing->elf->n_load_segments; i++) {
		const struct load_segment *segment = &hashing->elf->load_segments[i];
		int r;

		if (!(segment->flags & PF_X) || segment->file_size == 0)
			continue;
		r = add_code(hashing, segment->file_offset, segment->file_size, false);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_all(struct hashing *hashing)
{
	const struct elf_section *text = elf_file_section(hashing->elf, ".text");
	int r;

	add_segments(hashing);
	r = add_frames(hashing);
	if (r < 0)
		return r;
	if (!has_bytes(text))
		return hashing->elf->n_sections == 0 ? add_executable_segments(hashing) : 0;
	add_name_and_range(hashing, text);
	return add_code(hashing, text->file_offset, text->size, r == 0);
}

int executable_content_hash(const struct elf_file *elf, const struct executable_id *id,
			    struct hash128 *ret_hash)
{
	scoped(free_state) XXH3_state_t *state = XXH3_createState();
	scoped_free uint8_t *piece = malloc(PIECE_BYTES);
	struct hashing hashing = { .elf = elf, .state = state, .piece = piece };
	XXH128_canonical_t canonical;
	int r;

	if (!state || !piece)
		return -ENOMEM;
	(void)XXH3_128bits_reset(state);
	(void)XXH3_128bits_update(state, id, sizeof(*id));
	r = add_all(&hashing);
	if (r < 0)
		return r;
	XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state));
	memcpy(ret_hash->bytes, canonical.digest, sizeof(ret_hash->bytes));
	return 0;
}
