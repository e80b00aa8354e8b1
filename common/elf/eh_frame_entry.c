/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elf/eh_frame_entry.h"

#define LENGTH_64_BIT 0xffffffffu

int eh_frame_entry_measure(struct bytes_view rest, bool is_debug_frame,
			   struct eh_frame_entry *ret_entry)
{
	struct bytes_reader cursor = bytes_reader_of(rest);
	uint64_t length = cursor_u32(&cursor);
	bool is_64_bit = length == LENGTH_64_BIT;

	if (is_64_bit)
		length = cursor_u64(&cursor);
	if (cursor.error < 0)
		return 0;
	/* In the 64-bit format, ids of .eh_frame still have 4 bytes (LSB Core §10.6.1.1). */
	*ret_entry = (struct eh_frame_entry){
		.id_at = is_64_bit ? 12 : 4,
		.id_size = is_64_bit && is_debug_frame ? 8 : 4,
	};
	if (__builtin_add_overflow(length, ret_entry->id_at, &ret_entry->size))
		ret_entry->size = UINT64_MAX;
	return 1;
}

bool eh_frame_id_is_cie(uint64_t id, size_t id_size, bool is_debug_frame)
{
	if (!is_debug_frame)
		return id == 0;
	return id == (id_size == 8 ? UINT64_MAX : UINT32_MAX);
}

struct augmentation {
	uint8_t address_encoding;
	bool has_data;
	bool is_signal_frame;
};

/*
 * Reads the data of one letter. -EBADMSG: an unknown letter, which may have data of unknown size,
 * so that the data of later letters cannot be read.
 */
static int read_augmentation_letter(char letter, struct bytes_reader *data,
				    struct augmentation *augmentation)
{
	static const struct eh_pointer_bases none = {};
	uint8_t encoding;

	switch (letter) {
	case 'R':
		augmentation->address_encoding = cursor_u8(data);
		return 0;
	case 'L':
		(void)cursor_u8(data);
		return 0;
	case 'P':
		/* Skips the pointer to the personality routine. */
		encoding = cursor_u8(data) & (uint8_t)~EH_PE_INDIRECT;
		if (encoding == EH_PE_ALIGNED)
			return -EBADMSG;
		(void)eh_pointer_read(data, encoding, 0, &none);
		return 0;
	case 'S':
		augmentation->is_signal_frame = true;
		return 0;
	case 'B': /* arm64: return addresses are signed with the B key */
	case 'G': /* arm64: memory tagging */
		return 0;
	default:
		return -EBADMSG;
	}
}

/*
 * "z" means that the data and its length follow. An unknown letter is ignored, unless an "R"
 * follows it. Without "z" only gcc 2's "eh" has data, a pointer that the caller has read.
 */
static int read_augmentation(struct bytes_view letters, struct bytes_reader *cursor,
			     struct augmentation *ret_augmentation)
{
	struct augmentation augmentation = { .address_encoding = EH_PE_ABSPTR };
	struct bytes_reader data;
	size_t i = 0;

	augmentation.has_data = letters.size > 0 && letters.data[0] == 'z';
	if (augmentation.has_data) {
		data = bytes_reader_of(cursor_take(cursor, cursor_uleb(cursor)));
		i = 1;
	} else {
		data = (struct bytes_reader){};
	}
	while (i < letters.size &&
	       read_augmentation_letter((char)letters.data[i], &data, &augmentation) == 0)
		i++;
	if (i < letters.size && memchr(letters.data + i, 'R', letters.size - i))
		return -EBADMSG;
	if (data.error < 0 || cursor->error < 0)
		return -EBADMSG;
	*ret_augmentation = augmentation;
	return 0;
}

/* Reads a NUL-terminated text. The view excludes the NUL. */
static struct bytes_view take_text(struct bytes_reader *cursor)
{
	const uint8_t *nul = memchr(cursor->next, 0, cursor_left(cursor));
	struct bytes_view text;

	if (!nul) {
		(void)cursor_fail(cursor);
		return (struct bytes_view){};
	}
	text = cursor_take(cursor, (uint64_t)(nul - cursor->next));
	cursor->next++;
	return text;
}

static bool text_is(struct bytes_view text, const char *expected)
{
	return text.size == strlen(expected) && memcmp(text.data, expected, text.size) == 0;
}

/* Versions 4 and 5: reads the sizes of addresses (must be 8) and segment selectors (0). */
static int read_sizes(struct bytes_reader *cursor)
{
	if (cursor_u8(cursor) != 8)
		return -EBADMSG;
	return cursor_u8(cursor) == 0 ? 0 : -EBADMSG;
}

int eh_frame_cie_read(struct bytes_reader *cursor, struct eh_frame_cie *ret_cie)
{
	uint8_t version = cursor_u8(cursor);
	struct bytes_view letters = take_text(cursor);
	struct augmentation augmentation;
	struct eh_frame_cie cie;
	int r;

	if (version != 1 && version != 3 && version != 4 && version != 5)
		return -EBADMSG;
	if (text_is(letters, "eh")) {
		(void)cursor_u64(cursor);
		letters.size = 0;
	}
	if (version >= 4) {
		r = read_sizes(cursor);
		if (r < 0)
			return r;
	}
	cie.code_align = cursor_uleb(cursor);
	cie.data_align = cursor_sleb(cursor);
	cie.ra_column = version == 1 ? cursor_u8(cursor) : cursor_uleb(cursor);
	r = read_augmentation(letters, cursor, &augmentation);
	if (r < 0)
		return r;
	cie.has_augmentation_data = augmentation.has_data;
	cie.is_signal_frame = augmentation.is_signal_frame;
	cie.address_encoding = augmentation.address_encoding;
	*ret_cie = cie;
	return 0;
}

int eh_frame_fde_read(struct bytes_reader *cursor, const struct eh_frame_cie *cie,
		      uint64_t field_vaddr, const struct eh_pointer_bases *bases,
		      struct eh_frame_range *ret_range)
{
	uint64_t start = eh_pointer_read(cursor, cie->address_encoding, field_vaddr, bases);
	uint64_t size = eh_pointer_read_number(cursor, cie->address_encoding);
	uint64_t end;

	if (__builtin_add_overflow(start, size, &end))
		return -EBADMSG;
	if (cie->has_augmentation_data)
		(void)cursor_take(cursor, cursor_uleb(cursor));
	if (cursor->error < 0)
		return -EBADMSG;
	*ret_range = (struct eh_frame_range){ start, end };
	return 0;
}
