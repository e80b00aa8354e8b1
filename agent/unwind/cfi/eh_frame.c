/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CIEs are found by rising offset, so that their list is sorted. Most FDEs use the same CIE as the
 * previous FDE.
 */
#include "agent/unwind/cfi/eh_frame.h"

#include "common/elf/eh_frame_entry.h"
#include "common/search.h"
#include "common/vec.h"

struct cie {
	uint64_t offset;
	struct eh_frame_cie header;
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
	uint64_t skip;   /* bytes of a lost entry that are still to be skipped */
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

static struct cfi_context context_of(const struct eh_frame_parser *parser,
				     const struct eh_frame_cie *header)
{
	return (struct cfi_context){
		.code_align = header->code_align,
		.data_align = header->data_align,
		.ra_column = header->ra_column,
		.address_encoding = header->address_encoding,
		.machine = parser->machine,
		.bases = { .text = parser->section.text_vaddr, .data = parser->section.data_vaddr },
	};
}

static int add_cie(struct eh_frame_parser *parser, const struct entry *entry,
		   struct bytes_reader *cursor)
{
	struct cie cie = { .offset = entry->offset };
	int r;

	if (parser->cies.count == EH_FRAME_MAX_CIES)
		return -EBADMSG;
	r = eh_frame_cie_read(cursor, &cie.header);
	if (r < 0)
		return r;
	cie.context = context_of(parser, &cie.header);
	r = cfi_run_initial(&cie.context, cursor_take(cursor, cursor_left(cursor)), &cie.initial);
	if (r < 0)
		return r;
	return vec_push(&parser->cies, cie);
}

/* NULL: there is no valid CIE at this offset. */
static const struct cie *find_cie(struct eh_frame_parser *parser, uint64_t offset)
{
	const struct cie *cies = parser->cies.items;
	const size_t count = parser->cies.count;
	size_t low;

	if (parser->last_cie < count && cies[parser->last_cie].offset == offset)
		return &cies[parser->last_cie];
	low = lower_bound(at, count, cies[at].offset < offset);
	if (low == count || cies[low].offset != offset)
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
	struct eh_frame_range range;
	int r;

	if (!cie)
		return -EBADMSG;
	r = eh_frame_fde_read(cursor, &cie->header, field_vaddr, &cie->context.bases, &range);
	if (r < 0)
		return r;
	if (range.start == range.end)
		return 0;

	fde.program.start = range.start;
	fde.program.end = range.end;
	fde.is_signal_frame = cie->header.is_signal_frame;
	fde.context = &cie->context;
	fde.initial = &cie->initial;
	fde.program.instructions_vaddr = entry_vaddr + (uint64_t)(cursor->next - entry->data);
	fde.program.instructions = cursor_take(cursor, cursor_left(cursor));
	return parser->on_fde(parser->on_fde_argument, &fde);
}

/* ---- entries --------------------------------------------------------------------------------- */

static int parse_entry(struct eh_frame_parser *parser, struct entry *entry)
{
	struct bytes_reader cursor = { .next = entry->data + entry->id_at,
				       .end = entry->data + entry->size };
	int r;

	entry->id = cursor_fixed(&cursor, entry->id_size);
	if (cursor.error == 0 &&
	    eh_frame_id_is_cie(entry->id, entry->id_size, parser->section.is_debug_frame)) {
		r = add_cie(parser, entry, &cursor);
		/* Its FDEs will not find it, and are counted as lost then. */
		return r == -EBADMSG ? 0 : r;
	}
	parser->n_fdes++;
	r = cursor.error < 0 ? -EBADMSG : parse_fde(parser, entry, &cursor);
	if (r == -EBADMSG)
		parser->n_lost++;
	return r == -EBADMSG ? 0 : r;
}

/* The entry ends beyond the section: no entry can be found after it. */
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

/* As eh_frame_entry_measure(). */
static int measure_entry(const struct eh_frame_parser *parser, struct bytes_view rest,
			 struct entry *ret_entry)
{
	struct eh_frame_entry measured;

	if (!eh_frame_entry_measure(rest, parser->section.is_debug_frame, &measured))
		return 0;
	*ret_entry = (struct entry){
		.offset = parser->offset,
		.size = measured.size,
		.id_at = measured.id_at,
		.id_size = measured.id_size,
		.data = rest.data,
	};
	return 1;
}

/*
 * Parses one entry. 1: *ret_size bytes were consumed; 0: nothing was, because the section has
 * ended, or the entry is not complete.
 */
static int parse_next(struct eh_frame_parser *parser, struct bytes_view rest, uint64_t *ret_size)
{
	uint64_t section_left = parser->section.size - parser->offset;
	struct entry entry;
	int r;

	if (!measure_entry(parser, rest, &entry)) {
		/* Up to three bytes at the end are padding. */
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

	(void)cursor_u8(&cursor); /* encoding of the search table */
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
