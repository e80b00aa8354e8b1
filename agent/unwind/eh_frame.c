/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/eh_frame.h"

#include "common/vec.h"

/*
 * An entry is a length, an id, and a body. The id tells CIEs (0 in .eh_frame, all ones in
 * .debug_frame) from FDEs, whose id leads to their CIE: backwards from the id itself in
 * .eh_frame, from the section's start in .debug_frame. In the 64-bit format .eh_frame's ids keep
 * their four bytes (LSB Core §10.6.1.1).
 *
 * CIEs are met by rising offset, so that their list is sorted; FDEs mostly use the CIE that the
 * last one used.
 */

#define LENGTH_64_BIT 0xffffffffu

struct cie {
	uint64_t offset;
	bool has_augmentation_data;
	bool is_signal_frame;
	uint8_t segment_selector_size;
	struct cfi_context context;
	struct cfi_state initial;
};

VEC_DEFINE(cie_vec, struct cie);

struct eh_frame_parser {
	struct eh_frame_section section;
	const struct cfi_machine *machine;
	eh_frame_fde_function on_fde;
	void *on_fde_argument;
	uint64_t offset; /* of the next piece's first byte in the section */
	uint64_t skip;   /* bytes of a lost entry that are still to come */
	bool is_at_end;
	uint32_t n_fdes;
	uint32_t n_lost;
	struct cie_vec cies;
	size_t last_cie;
};

struct entry {
	uint64_t offset;
	uint64_t size; /* with the length field */
	size_t id_at;  /* the id's offset within the entry */
	size_t id_size;
	uint64_t id;
	const uint8_t *data;
};

int eh_frame_parser_new(const struct eh_frame_section *section, const struct cfi_machine *machine,
			eh_frame_fde_function on_fde, void *on_fde_argument,
			struct eh_frame_parser **ret_parser)
{
	struct eh_frame_parser *parser = calloc(1, sizeof(*parser));

	if (!parser)
		return -ENOMEM;
	parser->section = *section;
	parser->machine = machine;
	parser->on_fde = on_fde;
	parser->on_fde_argument = on_fde_argument;
	*ret_parser = parser;
	return 0;
}

struct eh_frame_parser *eh_frame_parser_free(struct eh_frame_parser *parser)
{
	if (!parser)
		return NULL;
	vec_release(&parser->cies);
	free(parser);
	return NULL;
}

uint32_t eh_frame_parser_fdes(const struct eh_frame_parser *parser)
{
	return parser->n_fdes;
}

uint32_t eh_frame_parser_lost(const struct eh_frame_parser *parser)
{
	return parser->n_lost;
}

/* ---- CIEs ------------------------------------------------------------------------------------ */

struct augmentation {
	uint8_t address_encoding;
	bool has_data;
	bool is_signal_frame;
};

/*
 * The data of one letter. An unknown letter may have data of unknown size: what follows it cannot
 * be read.
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
		/* Where the routine is does not matter, only how long the pointer is. */
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
 * "z" says that data and its length follow. An unknown letter is harmless, unless an "R" comes
 * after it. Without "z" nothing may have data but gcc 2's "eh", a pointer, which the caller has
 * read.
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

/* The NUL-terminated text at the cursor, without the NUL. */
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

/* Versions 4 and 5: sizes of addresses and segment selectors. */
static int read_sizes(struct bytes_reader *cursor, struct cie *cie)
{
	if (cursor_u8(cursor) != 8)
		return -EBADMSG;
	cie->segment_selector_size = cursor_u8(cursor);
	return cie->segment_selector_size == 0 ? 0 : -EBADMSG;
}

static int read_cie_body(const struct eh_frame_parser *parser, struct bytes_reader *cursor,
			 struct cie *cie)
{
	uint8_t version = cursor_u8(cursor);
	struct bytes_view letters = take_text(cursor);
	struct augmentation augmentation;
	int r;

	if (version != 1 && version != 3 && version != 4 && version != 5)
		return -EBADMSG;
	if (text_is(letters, "eh")) {
		(void)cursor_u64(cursor);
		letters.size = 0;
	}
	if (version >= 4) {
		r = read_sizes(cursor, cie);
		if (r < 0)
			return r;
	}
	cie->context.code_align = cursor_uleb(cursor);
	cie->context.data_align = cursor_sleb(cursor);
	cie->context.ra_column = version == 1 ? cursor_u8(cursor) : cursor_uleb(cursor);
	r = read_augmentation(letters, cursor, &augmentation);
	if (r < 0)
		return r;

	cie->has_augmentation_data = augmentation.has_data;
	cie->is_signal_frame = augmentation.is_signal_frame;
	cie->context.address_encoding = augmentation.address_encoding;
	cie->context.machine = parser->machine;
	cie->context.bases = (struct eh_pointer_bases){ .text = parser->section.text_vaddr,
							.data = parser->section.data_vaddr };
	return 0;
}

static int add_cie(struct eh_frame_parser *parser, const struct entry *entry,
		   struct bytes_reader *cursor)
{
	struct cie cie = { .offset = entry->offset };
	int r;

	if (parser->cies.count == EH_FRAME_MAX_CIES)
		return -EBADMSG;
	r = read_cie_body(parser, cursor, &cie);
	if (r < 0)
		return r;
	r = cfi_run_initial(&cie.context, cursor_take(cursor, cursor_left(cursor)), &cie.initial);
	if (r < 0)
		return r;
	return vec_push(&parser->cies, cie);
}

/* NULL when there is none at this offset, or a bad one. */
static const struct cie *find_cie(struct eh_frame_parser *parser, uint64_t offset)
{
	const struct cie *cies = parser->cies.items;
	size_t low = 0, high = parser->cies.count;

	if (parser->last_cie < high && cies[parser->last_cie].offset == offset)
		return &cies[parser->last_cie];
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (cies[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == parser->cies.count || cies[low].offset != offset)
		return NULL;
	parser->last_cie = low;
	return &cies[low];
}

/* ---- FDEs ------------------------------------------------------------------------------------ */

static int parse_fde(struct eh_frame_parser *parser, const struct entry *entry,
		     struct bytes_reader *cursor)
{
	const struct eh_frame_section *section = &parser->section;
	uint64_t id_offset = entry->offset + entry->id_at;
	const struct cie *cie =
		find_cie(parser, section->is_debug_frame ? entry->id : id_offset - entry->id);
	struct eh_frame_fde fde = { .offset = entry->offset };
	uint64_t entry_vaddr = section->vaddr + entry->offset;
	uint64_t field_vaddr = entry_vaddr + (uint64_t)(cursor->next - entry->data);
	uint64_t range;

	if (!cie)
		return -EBADMSG;
	fde.program.start = eh_pointer_read(cursor, cie->context.address_encoding, field_vaddr,
					    &cie->context.bases);
	range = eh_pointer_read_number(cursor, cie->context.address_encoding);
	if (__builtin_add_overflow(fde.program.start, range, &fde.program.end))
		return -EBADMSG;
	if (cie->has_augmentation_data)
		(void)cursor_take(cursor, cursor_uleb(cursor));
	if (cursor->error < 0)
		return -EBADMSG;
	if (range == 0)
		return 0;

	fde.is_signal_frame = cie->is_signal_frame;
	fde.context = &cie->context;
	fde.initial = &cie->initial;
	fde.program.instructions_vaddr = entry_vaddr + (uint64_t)(cursor->next - entry->data);
	fde.program.instructions = cursor_take(cursor, cursor_left(cursor));
	return parser->on_fde(parser->on_fde_argument, &fde);
}

/* ---- entries --------------------------------------------------------------------------------- */

static bool is_cie_id(const struct eh_frame_parser *parser, const struct entry *entry)
{
	if (!parser->section.is_debug_frame)
		return entry->id == 0;
	return entry->id == (entry->id_size == 8 ? UINT64_MAX : UINT32_MAX);
}

static int parse_entry(struct eh_frame_parser *parser, struct entry *entry)
{
	struct bytes_reader cursor = { .next = entry->data + entry->id_at,
				       .end = entry->data + entry->size };
	int r;

	entry->id = cursor_fixed(&cursor, entry->id_size);
	if (cursor.error == 0 && is_cie_id(parser, entry)) {
		r = add_cie(parser, entry, &cursor);
		/* Its FDEs will not find it, and are counted then. */
		return r == -EBADMSG ? 0 : r;
	}
	parser->n_fdes++;
	r = cursor.error < 0 ? -EBADMSG : parse_fde(parser, entry, &cursor);
	if (r == -EBADMSG)
		parser->n_lost++;
	return r == -EBADMSG ? 0 : r;
}

/* An entry that reaches beyond the section: nothing after it can be found. */
static void end_in_the_middle(struct eh_frame_parser *parser)
{
	parser->n_fdes++;
	parser->n_lost++;
	parser->is_at_end = true;
}

static bool has_all_expected(const struct eh_frame_parser *parser)
{
	return parser->section.is_open_ended && parser->n_fdes >= parser->section.n_fdes_expected;
}

/*
 * Measures the entry at the start of @rest. 1: measured (a size that is larger than @rest, or 4
 * for a terminator); 0: too few bytes to say.
 */
static int measure_entry(const struct eh_frame_parser *parser, struct bytes_view rest,
			 struct entry *ret_entry)
{
	struct bytes_reader cursor = bytes_reader_of(rest);
	uint64_t length = cursor_u32(&cursor);
	bool is_64_bit = length == LENGTH_64_BIT;

	if (is_64_bit)
		length = cursor_u64(&cursor);
	if (cursor.error < 0)
		return 0;
	*ret_entry = (struct entry){
		.offset = parser->offset,
		.id_at = is_64_bit ? 12 : 4,
		.id_size = is_64_bit && parser->section.is_debug_frame ? 8 : 4,
		.data = rest.data,
	};
	if (__builtin_add_overflow(length, ret_entry->id_at, &ret_entry->size))
		ret_entry->size = UINT64_MAX;
	return 1;
}

/*
 * One entry. 1 it was consumed (@ret_size bytes of it), 0 it was not: there is no more, or not
 * enough of it.
 */
static int parse_next(struct eh_frame_parser *parser, struct bytes_view rest, uint64_t *ret_size)
{
	uint64_t section_left = parser->section.size - parser->offset;
	struct entry entry;
	int r;

	if (!measure_entry(parser, rest, &entry)) {
		/* Up to three bytes of padding at the end are nothing. */
		if (section_left <= rest.size)
			parser->is_at_end = true;
		return 0;
	}
	*ret_size = entry.size;
	if (entry.size == entry.id_at) {
		parser->is_at_end = has_all_expected(parser);
		return 1;
	}
	if (entry.size > section_left) {
		end_in_the_middle(parser);
		return 0;
	}
	if (entry.size > EH_FRAME_MAX_ENTRY_BYTES) {
		parser->n_fdes++;
		parser->n_lost++;
		parser->skip = entry.size;
		*ret_size = 0;
		return 1;
	}
	if (entry.size > rest.size)
		return 0;
	r = parse_entry(parser, &entry);
	if (r < 0)
		return r;
	parser->is_at_end = parser->section.n_fdes_expected > 0 && has_all_expected(parser);
	return 1;
}

int eh_frame_parse(struct eh_frame_parser *parser, struct bytes_view piece, size_t *ret_consumed)
{
	size_t at = 0;
	int r;

	while (!parser->is_at_end) {
		struct bytes_view rest = { piece.data + at, piece.size - at };
		uint64_t size = MIN(parser->skip, (uint64_t)rest.size);

		if (parser->skip > 0 && size == 0)
			break;
		if (parser->skip > 0) {
			parser->skip -= size;
		} else {
			r = parse_next(parser, rest, &size);
			if (r < 0)
				return r;
			if (r == 0)
				break;
		}
		parser->offset += size;
		at += (size_t)size;
	}
	*ret_consumed = at;
	return parser->is_at_end ? 0 : 1;
}

int eh_frame_header_parse(struct bytes_view header, uint64_t header_vaddr,
			  uint64_t *ret_eh_frame_vaddr, uint64_t *ret_n_fdes)
{
	struct bytes_reader cursor = bytes_reader_of(header);
	struct eh_pointer_bases bases = { .data = header_vaddr };
	uint8_t version = cursor_u8(&cursor);
	uint8_t frame_encoding = cursor_u8(&cursor);
	uint8_t count_encoding = cursor_u8(&cursor);
	uint64_t vaddr;

	(void)cursor_u8(&cursor); /* the search table's encoding */
	if (version != 1 || frame_encoding == EH_PE_OMIT)
		return 0;
	vaddr = eh_pointer_read(&cursor, frame_encoding, header_vaddr + 4, &bases);
	if (cursor.error < 0)
		return 0;
	*ret_eh_frame_vaddr = vaddr;
	*ret_n_fdes = 0;
	if (count_encoding != EH_PE_OMIT)
		*ret_n_fdes = eh_pointer_read_number(&cursor, count_encoding);
	return 1;
}
