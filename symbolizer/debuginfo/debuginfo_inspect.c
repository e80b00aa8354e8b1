/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads headers, notes and at most the bytes of .text. The symbol compiler reads the other section
 * contents, in a process apart from the server. The most common damage is truncation (a proxy cut
 * the upload short), so every section with contents must lie within the file.
 */

#include "symbolizer/debuginfo/debuginfo_inspect.h"

#include <elf.h>
#include <xxhash.h>

#include "common/elf/build_id.h"
#include "common/elf/richness.h"
#include "common/file.h"
#include "symbolizer/debuginfo/debuginfo_private.h"

#define TEXT_PIECE_BYTES ((size_t)(256 * KIB))

/* A Go note holds 83 bytes. */
#define MAX_NOTE_BYTES (64 * KIB)

struct inspection {
	const struct elf_file *elf;
	const struct executable_id *id;
	char *message;
};

#define refuse(message, ...) debuginfo_fail((message), -EBADMSG, __VA_ARGS__)

static int check_sections(const struct inspection *in)
{
	for (size_t i = 0; i < in->elf->n_sections; i++) {
		const struct elf_section *section = &in->elf->sections[i];

		if (elf_section_has_contents(section) &&
		    (section->file_offset > in->elf->file_size ||
		     section->size > in->elf->file_size - section->file_offset))
			return refuse(
				in->message,
				"the file is cut short: section '%.64s' ends beyond its %llu bytes",
				section->name, (unsigned long long)in->elf->file_size);
	}
	return 0;
}

static void scoped_free_hash_state(XXH3_state_t **state)
{
	(void)XXH3_freeState(*state);
}

static int hash_text(const struct inspection *in, const struct elf_section *text,
		     struct executable_id *ret_id)
{
	scoped(scoped_free_hash_state) XXH3_state_t *state = XXH3_createState();
	scoped_free uint8_t *piece = malloc(TEXT_PIECE_BYTES);
	XXH128_canonical_t hash;
	uint64_t done = 0;

	if (!state || !piece)
		return -ENOMEM;
	(void)XXH3_128bits_reset(state);
	while (done < text->size) {
		size_t size = MIN(TEXT_PIECE_BYTES, text->size - done);
		int r = pread_all(in->elf->fd, piece, size, text->file_offset + done);

		if (r < 0)
			return r;
		(void)XXH3_128bits_update(state, piece, size);
		done += size;
	}
	XXH128_canonicalFromHash(&hash, XXH3_128bits_digest(state));
	return executable_id_set(ret_id, EXECUTABLE_ID_TEXT, hash.digest, sizeof(hash.digest));
}

static int mismatch(const struct inspection *in, const struct executable_id *found)
{
	char text[EXECUTABLE_ID_TEXT_SIZE];

	executable_id_format(found, text);
	return refuse(in->message, "the identity of the file is '%.100s', not the announced one",
		      text);
}

static int check_text_identity(const struct inspection *in)
{
	const struct elf_section *text = elf_file_section(in->elf, ".text");
	struct executable_id found = {};
	int r;

	/* A file with debug sections only has no code to compare: the sender is trusted. */
	if (!elf_section_has_contents(text))
		return 0;
	r = hash_text(in, text, &found);
	if (r < 0)
		return r;
	return executable_id_equal(&found, in->id) ? 0 : mismatch(in, &found);
}

/*
 * A Go program linked by a C linker has both notes, the GNU one first. Returns 1 if found, 0 if
 * not.
 */
static int go_identity(const struct inspection *in, struct executable_id *ret_id)
{
	const struct elf_section *note = elf_file_section(in->elf, ".note.go.buildid");
	scoped(bytes_release) struct bytes bytes = BYTES_INIT(MAX_NOTE_BYTES);
	int r;

	if (!elf_section_has_contents(note))
		return 0;
	r = elf_file_read_section(in->elf, note, &bytes);
	return r < 0 ? r : build_id_from_notes(bytes_view_of(&bytes), ret_id);
}

static int check_identity(const struct inspection *in)
{
	struct executable_id found = {};
	int r = 0;

	if (in->id->kind == EXECUTABLE_ID_TEXT)
		return check_text_identity(in);
	if (in->id->kind == EXECUTABLE_ID_HTLHASH) {
		r = debuginfo_htlhash_of_fd(in->elf->fd, in->elf->file_size, &found);
		if (r < 0)
			return r;
		return executable_id_equal(&found, in->id) ? 0 : mismatch(in, &found);
	}
	if (in->id->kind == EXECUTABLE_ID_GO)
		r = go_identity(in, &found);
	if (r <= 0 || !executable_id_equal(&found, in->id))
		r = build_id_from_elf(in->elf, &found);
	if (r < 0 && r != -EBADMSG && r != -ENODATA && r != -EFBIG)
		return r;
	if (r <= 0)
		return refuse(in->message, "the file has no build-ID note");
	return executable_id_equal(&found, in->id) ? 0 : mismatch(in, &found);
}

static int open_elf(int fd, struct elf_file **ret_elf, char *message)
{
	int r;

	r = elf_file_open(fd, ret_elf);
	switch (r) {
	case -ENOEXEC:
		return refuse(message, "not an ELF file");
	case -ENOTSUP:
		return refuse(message, "not a 64-bit little-endian ELF file");
	case -EBADMSG:
		return refuse(message, "the ELF headers contradict each other");
	case -ENODATA:
		return refuse(message, "the file is cut short: its headers end beyond it");
	default:
		return r;
	}
}

int debuginfo_check_first_bytes(const char *source_path, uint64_t offset, struct bytes_view data,
				char ret_message[DEBUGINFO_MESSAGE_SIZE])
{
	static const uint8_t expected[] = {
		ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
	};

	for (size_t i = 0; source_path[0] == '\0' && i < data.size && offset + i < sizeof(expected);
	     i++)
		if (data.data[i] != expected[offset + i])
			return refuse(ret_message, offset + i < SELFMAG
							   ? "not an ELF file"
							   : "not a 64-bit little-endian ELF file");
	return 0;
}

/*
 * From an agent the store needs function names. If it took code without names, it would never ask
 * an agent for this identity again.
 */
static int check_use(const struct debuginfo_arrival *arrival, const struct debuginfo_entry *entry,
		     char *message)
{
	if (entry->richness > DEBUGINFO_NOTHING ||
	    (entry->has_code && arrival->origin > DEBUGINFO_FROM_AGENT))
		return 0;
	return refuse(message,
		      "the file has neither symbols (.symtab, .dynsym, .gopclntab, .gnu_debugdata, "
		      ".eh_frame) nor debug sections%s",
		      arrival->origin <= DEBUGINFO_FROM_AGENT ? "" : " nor code");
}

int debuginfo_inspect(const struct debuginfo_arrival *arrival, struct debuginfo_entry *entry,
		      char ret_message[DEBUGINFO_MESSAGE_SIZE])
{
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	struct inspection in = { .id = &arrival->id, .message = ret_message };
	int r;

	r = open_elf(arrival->fd, &elf, ret_message);
	if (r < 0)
		return r;
	in.elf = elf;
	/* The section headers are at the end of the file, which a truncated file lacks. */
	if (elf->n_sections == 0)
		return refuse(ret_message,
			      "the file has no section headers: stripped of them, or cut short");
	entry->is_split = elf_file_is_split_dwarf(elf);
	r = check_sections(&in);
	/* Split DWARF names its program nowhere: only the IDs of its units match. */
	if (r == 0 && !entry->is_split)
		r = check_identity(&in);
	if (r < 0)
		return r;
	entry->richness = elf_file_richness(elf);
	entry->has_code = elf_file_has_code(elf);
	return check_use(arrival, entry, ret_message);
}
