/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Note segments are searched before note sections, because sstrip removes the section headers. In a
 * .debug file the program headers are those of the original executable, and their offsets are
 * wrong. So unreadable or invalid notes are not an error: they give no identity.
 */

#include "common/elf/build_id.h"

#include <elf.h>
#include <stdlib.h>
#include <xxhash.h>

#include "common/file.h"
#include "common/hash.h"
#include "common/scoped.h"

#define NT_GO_BUILD_ID 4

/* All notes of one file. A kernel has less than 2 KiB, a Go program less than 200 bytes. */
#define MAX_NOTES_BYTES (1 * MIB)

#define TEXT_READ_BYTES ((size_t)(64 * KIB))

struct note {
	uint32_t type;
	struct bytes_view name; /* with its NUL */
	struct bytes_view description;
};

/* Takes @size bytes and their padding to 4 bytes. The last note may lack its padding. */
static int take_padded(struct bytes_view *rest, uint32_t size, struct bytes_view *ret_taken)
{
	uint64_t padded = ROUND_UP((uint64_t)size, 4);

	if (size > rest->size)
		return -EBADMSG;
	*ret_taken = (struct bytes_view){ .data = rest->data, .size = size };
	padded = MIN(padded, (uint64_t)rest->size);
	rest->data += padded;
	rest->size -= padded;
	return 0;
}

static int take_note(struct bytes_view *rest, struct note *ret_note)
{
	struct note note;
	Elf64_Nhdr header;
	int r;

	if (rest->size < sizeof(header))
		return -EBADMSG;
	memcpy(&header, rest->data, sizeof(header));
	rest->data += sizeof(header);
	rest->size -= sizeof(header);

	note.type = header.n_type;
	r = take_padded(rest, header.n_namesz, &note.name);
	if (r < 0)
		return r;
	r = take_padded(rest, header.n_descsz, &note.description);
	if (r < 0)
		return r;
	*ret_note = note;
	return 0;
}

static bool note_is(const struct note *note, uint32_t type, const char *name, size_t name_size)
{
	return note->type == type && note->name.size == name_size &&
	       memcmp(note->name.data, name, name_size) == 0;
}

static unsigned int note_id_kind(const struct note *note)
{
	if (note_is(note, NT_GNU_BUILD_ID, "GNU", sizeof("GNU")))
		return EXECUTABLE_ID_GNU;
	if (note_is(note, NT_GO_BUILD_ID, "Go\0", sizeof("Go\0")))
		return EXECUTABLE_ID_GO;
	return EXECUTABLE_ID_NONE;
}

int build_id_from_notes(struct bytes_view notes, struct executable_id *ret_id)
{
	struct executable_id best = {};

	while (notes.size > 0) {
		struct executable_id id;
		struct note note;
		unsigned int kind;
		int r;

		r = take_note(&notes, &note);
		if (r < 0 && best.kind == EXECUTABLE_ID_NONE)
			return r;
		if (r < 0)
			break;
		kind = note_id_kind(&note);
		if (kind == EXECUTABLE_ID_NONE ||
		    executable_id_set(&id, kind, note.description.data, note.description.size) < 0)
			continue;
		if (best.kind == EXECUTABLE_ID_NONE || kind == EXECUTABLE_ID_GNU)
			best = id;
		if (kind == EXECUTABLE_ID_GNU)
			break;
	}
	if (best.kind == EXECUTABLE_ID_NONE)
		return 0;
	*ret_id = best;
	return 1;
}

/* A search for notes in one file. */
struct note_search {
	const struct elf_file *elf;
	struct bytes *buffer;    /* for the notes of one segment or section */
	struct executable_id id; /* the best one found so far */
	uint64_t bytes_left;     /* of MAX_NOTES_BYTES */
};

static int search_notes_at(struct note_search *search, uint64_t offset, uint64_t size)
{
	struct executable_id id;
	int r;

	if (search->id.kind == EXECUTABLE_ID_GNU || size > search->bytes_left)
		return 0;
	search->bytes_left -= size;
	bytes_clear(search->buffer);
	r = bytes_reserve(search->buffer, size);
	if (r < 0)
		return r;
	r = pread_all(search->elf->fd, search->buffer->data, size, offset);
	if (r < 0)
		return r == -ENODATA ? 0 : r;

	r = build_id_from_notes((struct bytes_view){ .data = search->buffer->data, .size = size },
				&id);
	if (r == 1 && (search->id.kind == EXECUTABLE_ID_NONE || id.kind == EXECUTABLE_ID_GNU))
		search->id = id;
	return 0;
}

static int search_note_segments(struct note_search *search)
{
	for (size_t i = 0; i < search->elf->n_program_headers; i++) {
		Elf64_Phdr segment;
		int r;

		memcpy(&segment, search->elf->program_headers + i * sizeof(segment),
		       sizeof(segment));
		if (segment.p_type != PT_NOTE)
			continue;
		r = search_notes_at(search, segment.p_offset, segment.p_filesz);
		if (r < 0)
			return r;
	}
	return 0;
}

static int search_note_sections(struct note_search *search)
{
	for (size_t i = 0; i < search->elf->n_sections; i++) {
		const struct elf_section *section = &search->elf->sections[i];
		int r;

		if (section->type != SHT_NOTE)
			continue;
		r = search_notes_at(search, section->file_offset, section->size);
		if (r < 0)
			return r;
	}
	return 0;
}

/* More than the largest known programs have (Chromium: 200 MB). Hashing it takes 0.1 s. */
#define MAX_TEXT_BYTES ((uint64_t)(512 * MIB))

static void scoped_free_hash_state(XXH3_state_t **state)
{
	(void)XXH3_freeState(*state);
}

static int hash_of_range(int fd, uint64_t offset, uint64_t size, XXH128_canonical_t *ret_hash)
{
	scoped(scoped_free_hash_state) XXH3_state_t *state = XXH3_createState();
	scoped_free uint8_t *piece = malloc(TEXT_READ_BYTES);

	if (!state || !piece)
		return -ENOMEM;
	(void)XXH3_128bits_reset(state);
	while (size > 0) {
		size_t n = MIN(size, TEXT_READ_BYTES);
		int r = pread_all(fd, piece, n, offset);

		if (r < 0)
			return r;
		(void)XXH3_128bits_update(state, piece, n);
		offset += n;
		size -= n;
	}
	XXH128_canonicalFromHash(ret_hash, XXH3_128bits_digest(state));
	return 0;
}

int build_id_from_text(const struct elf_file *elf, struct executable_id *ret_id)
{
	const struct elf_section *text = elf_file_section(elf, ".text");
	XXH128_canonical_t hash;
	int r;

	/* In a .debug file .text has no bytes. All empty texts would have the same hash. */
	if (!text || text->type == SHT_NOBITS || text->size == 0)
		return 0;
	/* A hostile file may have a .text that is a hole of terabytes. */
	if (text->size > MAX_TEXT_BYTES)
		return 0;
	r = hash_of_range(elf->fd, text->file_offset, text->size, &hash);
	if (r < 0)
		return r;
	r = executable_id_set(ret_id, EXECUTABLE_ID_TEXT, hash.digest, sizeof(hash.digest));
	return r < 0 ? r : 1;
}

int build_id_from_elf(const struct elf_file *elf, struct executable_id *ret_id)
{
	scoped(bytes_release) struct bytes buffer = BYTES_INIT(MAX_NOTES_BYTES);
	struct note_search search = {
		.elf = elf,
		.buffer = &buffer,
		.bytes_left = MAX_NOTES_BYTES,
	};
	int r;

	r = search_note_segments(&search);
	if (r < 0)
		return r;
	r = search_note_sections(&search);
	if (r < 0)
		return r;
	if (search.id.kind == EXECUTABLE_ID_NONE)
		return build_id_from_text(elf, ret_id);
	*ret_id = search.id;
	return 1;
}
