/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/jit/file/perf_map.h"

struct cursor {
	const uint8_t *next, *end;
};

static int digit_of(uint8_t byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	if (byte >= 'a' && byte <= 'f')
		return byte - 'a' + 10;
	if (byte >= 'A' && byte <= 'F')
		return byte - 'A' + 10;
	return -1;
}

/* Reads a number and the spaces behind it. False: there is none, or it has more than 64 bits. */
static bool read_number(struct cursor *cursor, uint64_t *ret_number)
{
	uint64_t number = 0;
	unsigned int n_digits = 0;
	int digit;

	if (cursor->end - cursor->next > 2 && cursor->next[0] == '0' &&
	    (cursor->next[1] == 'x' || cursor->next[1] == 'X'))
		cursor->next += 2;
	while (cursor->next < cursor->end && (digit = digit_of(*cursor->next)) >= 0) {
		if (number >> 60)
			return false;
		number = number << 4 | (unsigned int)digit;
		cursor->next++;
		n_digits++;
	}
	if (n_digits == 0 || cursor->next == cursor->end || *cursor->next != ' ')
		return false;
	while (cursor->next < cursor->end && *cursor->next == ' ')
		cursor->next++;
	*ret_number = number;
	return true;
}

/* Reads "START SIZE " and leaves @cursor at the name. */
static bool read_range(struct cursor *cursor, uint64_t *ret_start, uint64_t *ret_size)
{
	return read_number(cursor, ret_start) && read_number(cursor, ret_size) &&
	       cursor->next < cursor->end;
}

static void add_line(struct cursor line, uint32_t offset, struct jit_codes *codes)
{
	uint64_t start, size;

	if (!read_range(&line, &start, &size) || !jit_code_is_valid(start, size))
		return;
	codes->items[codes->count++] = (struct jit_code){
		.start = start,
		.size = (uint32_t)size,
		.offset = offset,
	};
}

size_t perf_map_parse(const struct perf_map_piece *piece, struct jit_codes *codes,
		      bool *in_long_line)
{
	const uint8_t *begin = piece->text.data;
	struct cursor cursor = { .next = begin, .end = begin + piece->text.size };
	bool skips = piece->in_long_line;

	while (cursor.next < cursor.end && codes->count < JIT_MAX_CODES) {
		const uint8_t *line = cursor.next;
		const uint8_t *end = memchr(line, '\n', (size_t)(cursor.end - line));

		if (!end) {
			/* Only the first line of a piece can be as long as the piece. */
			if (skips || (line == begin && piece->is_max_size)) {
				*in_long_line = true;
				return piece->text.size;
			}
			break;
		}
		cursor.next = end + 1;
		if (!skips)
			add_line((struct cursor){ line, end },
				 piece->offset + (uint32_t)(line - begin), codes);
		skips = false;
	}
	*in_long_line = skips;
	return (size_t)(cursor.next - begin);
}

bool perf_map_name(struct bytes_view text, struct bytes_view *ret_name)
{
	const uint8_t *end = text.size > 0 ? memchr(text.data, '\n', text.size) : NULL;
	struct cursor cursor = { .next = text.data, .end = end ? end : text.data + text.size };
	uint64_t start, size;

	if (text.size == 0 || !read_range(&cursor, &start, &size))
		return false;
	while (cursor.end > cursor.next && (cursor.end[-1] == '\r' || cursor.end[-1] == ' '))
		cursor.end--;
	*ret_name = (struct bytes_view){ .data = cursor.next,
					 .size = (size_t)(cursor.end - cursor.next) };
	return ret_name->size > 0;
}
