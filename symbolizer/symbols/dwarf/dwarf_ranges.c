/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address ranges of a function: from low_pc and high_pc, .debug_ranges (DWARF 3 and 4) or
 * .debug_rnglists (DWARF 5). A linker that removes a function writes 0, 1 or one of the two highest
 * addresses in place of its address. Ranges relative to such a base are ignored.
 */

#include <dwarf.h>

#include "symbolizer/symbols/dwarf/dwarf_file.h"

struct range_reading {
	const struct dwarf_unit *unit;
	struct bytes_reader cursor;
	uint64_t base;
	bool base_is_dropped;
	size_t max_ranges;
	struct dwarf_range_vec *ranges;
};

static uint64_t highest_address(const struct dwarf_unit *unit)
{
	return unit->widths.address_size == 4 ? UINT32_MAX : UINT64_MAX;
}

static bool is_dropped(const struct dwarf_unit *unit, uint64_t address)
{
	/* lld writes -2 into .debug_ranges, where -1 has another meaning. */
	return address >= highest_address(unit) - 1;
}

static int add_range(struct range_reading *reading, uint64_t low, uint64_t high)
{
	if (low >= high || is_dropped(reading->unit, low))
		return 0;
	if (reading->ranges->count >= reading->max_ranges)
		return -EFBIG;
	return vec_push(reading->ranges, (struct dwarf_range){ .low = low, .high = high });
}

static void set_base(struct range_reading *reading, uint64_t base)
{
	reading->base = base;
	/* A file with code at address 0 does not set a base of 0, which is the default. */
	reading->base_is_dropped = base == 0 || is_dropped(reading->unit, base);
}

static int read_debug_ranges(struct range_reading *reading)
{
	const size_t width = reading->unit->widths.address_size;
	int r = 0;

	while (r == 0) {
		uint64_t low = cursor_fixed(&reading->cursor, width);
		uint64_t high = cursor_fixed(&reading->cursor, width);

		if (reading->cursor.error < 0 || (low == 0 && high == 0))
			break;
		if (low == highest_address(reading->unit))
			set_base(reading, high);
		else if (!reading->base_is_dropped)
			r = add_range(reading, low + reading->base, high + reading->base);
	}
	return r;
}

static uint64_t read_indexed(struct range_reading *reading)
{
	uint64_t address = UINT64_MAX;

	(void)dwarf_unit_address(reading->unit, cursor_uleb(&reading->cursor), &address);
	return address;
}

/* Reads one entry of .debug_rnglists. Returns 0, 1 at the end of the list, -EFBIG or -ENOMEM. */
static int read_rnglist_entry(struct range_reading *reading)
{
	const size_t width = reading->unit->widths.address_size;
	struct bytes_reader *cursor = &reading->cursor;
	uint64_t low, high;

	switch (cursor_u8(cursor)) {
	case DW_RLE_base_addressx:
		set_base(reading, read_indexed(reading));
		return 0;
	case DW_RLE_base_address:
		set_base(reading, cursor_fixed(cursor, width));
		return 0;
	case DW_RLE_offset_pair:
		low = cursor_uleb(cursor);
		high = cursor_uleb(cursor);
		if (reading->base_is_dropped)
			return 0;
		low += reading->base;
		high += reading->base;
		break;
	case DW_RLE_startx_endx:
		low = read_indexed(reading);
		high = read_indexed(reading);
		break;
	case DW_RLE_startx_length:
		low = read_indexed(reading);
		high = low + cursor_uleb(cursor);
		break;
	case DW_RLE_start_end:
		low = cursor_fixed(cursor, width);
		high = cursor_fixed(cursor, width);
		break;
	case DW_RLE_start_length:
		low = cursor_fixed(cursor, width);
		high = low + cursor_uleb(cursor);
		break;
	default:
		return 1;
	}
	return cursor->error < 0 ? 1 : add_range(reading, low, high);
}

/* Reads the offset of list @index from the table of offsets at the unit's rnglists_base. */
static bool rnglist_offset(const struct dwarf_unit *unit, uint64_t index, uint64_t *ret_offset)
{
	const size_t width = unit->widths.offset_size;
	struct bytes_reader cursor;
	uint64_t offset;

	if (__builtin_mul_overflow(index, width, &offset) ||
	    __builtin_add_overflow(offset, unit->rnglists_base, &offset))
		return false;
	cursor = cursor_at(unit->file->rnglists, offset);
	if (cursor.error < 0 || cursor_left(&cursor) < width)
		return false;
	return !__builtin_add_overflow(cursor_fixed(&cursor, width), unit->rnglists_base,
				       ret_offset);
}

static int read_list(struct range_reading *reading, const struct dwarf_value *value)
{
	const struct dwarf_unit *unit = reading->unit;
	/* In GNU's split DWARF 4 the lists are in the main file. */
	const struct dwarf_unit *owner =
		unit->version < 5 && unit->skeleton ? unit->skeleton : unit;
	uint64_t offset = value->number;
	int r = 0;

	if (unit->version < 5) {
		if (unit->skeleton)
			offset += owner->ranges_base;
		reading->cursor = cursor_at(owner->file->ranges, offset);
		return reading->cursor.error < 0 ? 0 : read_debug_ranges(reading);
	}
	if (value->form == DW_FORM_rnglistx && !rnglist_offset(unit, value->number, &offset))
		return 0;
	reading->cursor = cursor_at(unit->file->rnglists, offset);
	while (r == 0 && reading->cursor.error == 0)
		r = read_rnglist_entry(reading);
	return r < 0 ? r : 0;
}

int dwarf_ranges_read(const struct dwarf_unit *unit, const struct dwarf_function *function,
		      size_t max_ranges, struct dwarf_range_vec *ranges)
{
	struct range_reading reading = {
		.unit = unit,
		.base = unit->skeleton ? unit->skeleton->low_pc : unit->low_pc,
		.max_ranges = max_ranges,
		.ranges = ranges,
	};
	uint64_t low, high;

	if (function->has_ranges)
		return read_list(&reading, &function->ranges);
	if (!function->has_low || !function->has_high ||
	    !dwarf_value_address(unit, &function->low, &low))
		return 0;
	if (!dwarf_value_is_address(&function->high))
		high = low + function->high.number;
	else if (!dwarf_value_address(unit, &function->high, &high))
		return 0;
	return add_range(&reading, low, high);
}
