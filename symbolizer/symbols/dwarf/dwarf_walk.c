/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the entries of a unit once, in the order of the file. Most entries are types, variables and
 * declarations. They are skipped by the steps of their abbreviation, without decoding attributes.
 */

#include "symbolizer/symbols/dwarf/dwarf_walk.h"

#include <dwarf.h>

#include "symbolizer/symbols/symbol_limits.h"
#include "symbolizer/symbols/table/symbol_layout.h"

/* The scope is not recorded yet, because no function without a linkage name was found in it. */
#define SCOPE_NOT_RECORDED (UINT32_MAX - 1)

/* An entry whose children are being walked. */
struct walk_level {
	dwarf_ref entry;
	uint32_t instance; /* function or inlined call around its children, or NO_INSTANCE */
	uint32_t scope;    /* index in dwarf_scopes, NO_SCOPE or SCOPE_NOT_RECORDED */
	uint32_t naming;   /* innermost level, itself included, that is a scope; 0: the unit */
};

int dwarf_walk_init(struct dwarf_walk *walk, const struct code_window *window,
		    struct dwarf_scopes *scopes, uint64_t max_ranges)
{
	*walk = (struct dwarf_walk){
		.window = window,
		.scopes = scopes,
		.ranges_left = max_ranges,
		.levels = calloc(DWARF_MAX_DEPTH, sizeof(*walk->levels)),
	};
	return walk->levels ? 0 : -ENOMEM;
}

void dwarf_walk_release(struct dwarf_walk *walk)
{
	vec_release(&walk->code.instances);
	vec_release(&walk->code.ranges);
	vec_release(&walk->scratch);
	free(walk->levels);
	walk->levels = NULL;
}

/*
 * Finds the index of the innermost scope at @level; records it and the scopes around it, if needed.
 */
static int record_scope(struct dwarf_walk *walk, uint32_t level, uint32_t *ret_scope)
{
	struct walk_level *naming = &walk->levels[walk->levels[level].naming];
	uint32_t parent;
	int r;

	if (walk->levels[level].naming == 0) {
		*ret_scope = NO_SCOPE;
		return 0;
	}
	if (naming->scope == SCOPE_NOT_RECORDED) {
		r = record_scope(walk, walk->levels[level].naming - 1, &parent);
		if (r < 0)
			return r;
		if (walk->scopes->scopes.count >= SCOPE_NOT_RECORDED)
			return -EFBIG;
		naming->scope = (uint32_t)walk->scopes->scopes.count;
		r = vec_push(&walk->scopes->scopes,
			     (struct dwarf_scope){ .entry = naming->entry, .parent = parent });
		if (r < 0)
			return r;
	}
	*ret_scope = naming->scope;
	return 0;
}

static int record_function(struct dwarf_walk *walk, uint32_t level, dwarf_ref entry)
{
	uint32_t scope;
	int r;

	if (walk->levels[level].naming == 0)
		return 0;
	r = record_scope(walk, level, &scope);
	return r < 0 ? r
		     : vec_push(&walk->scopes->functions,
				(struct scoped_function){ .entry = entry, .scope = scope });
}

/* Adds the part of a range that lies in code within the window. */
static int add_range(struct dwarf_walk *walk, const struct dwarf_range *range, uint32_t instance)
{
	const struct code_section *section = code_section_at(walk->window->code, range->low);
	uint64_t start, end;

	if (!section || range->low < walk->window->start)
		return 0;
	start = range->low - walk->window->start;
	end = MIN(range->high, section->end) - walk->window->start;
	if (end >= UINT32_MAX)
		return 0;
	return vec_push(&walk->code.ranges, (struct code_range){ .start = (uint32_t)start,
								 .end = (uint32_t)end,
								 .instance = instance });
}

static int add_ranges(struct dwarf_walk *walk, const struct dwarf_unit *unit,
		      const struct dwarf_function *function, uint32_t instance)
{
	int r;

	if (walk->code.ranges.count >= UNIT_RANGES_MAX)
		return -EFBIG;
	vec_clear(&walk->scratch);
	r = dwarf_ranges_read(unit, function, (size_t)walk->ranges_left, &walk->scratch);
	walk->ranges_left -= walk->scratch.count;
	for (size_t i = 0; r == 0 && i < walk->scratch.count; i++)
		r = add_range(walk, &walk->scratch.items[i], instance);
	return r;
}

static int add_instance(struct dwarf_walk *walk, const struct code_instance *instance)
{
	if (walk->code.instances.count >= UINT32_MAX - 1)
		return -EFBIG;
	return vec_push(&walk->code.instances, *instance);
}

/* Adds a function with code. *ret_instance is NO_INSTANCE if the linker removed the code. */
static int add_function(struct dwarf_walk *walk, const struct dwarf_unit *unit,
			const struct dwarf_function *function, dwarf_ref entry,
			uint32_t *ret_instance)
{
	const size_t before = walk->code.ranges.count;
	const uint32_t index = (uint32_t)walk->code.instances.count;
	int r;

	*ret_instance = NO_INSTANCE;
	r = add_ranges(walk, unit, function, index);
	if (r < 0 || walk->code.ranges.count == before)
		return r;
	*ret_instance = index;
	return add_instance(
		walk,
		&(struct code_instance){ .function = entry, .parent = NO_INSTANCE, .root = index });
}

static int add_inlined(struct dwarf_walk *walk, const struct dwarf_unit *unit,
		       const struct dwarf_function *function, dwarf_ref entry, uint32_t parent,
		       uint32_t *ret_instance)
{
	const struct code_instance *outer = &walk->code.instances.items[parent];
	const struct code_instance instance = {
		.function = function->origin == DWARF_NO_REF ? entry : function->origin,
		.parent = parent,
		.root = outer->root,
		.depth = outer->depth + 1,
		.call_file = (uint32_t)MIN(function->call_file, (uint64_t)UINT32_MAX),
		.call_line = (uint32_t)MIN(function->call_line, (uint64_t)UINT32_MAX),
	};
	int r;

	/* Code of a call that is nested too deep belongs to the innermost call that is kept. */
	if (instance.depth >= SYMBOL_CHAIN_MAX - 1) {
		*ret_instance = parent;
		return 0;
	}
	*ret_instance = (uint32_t)walk->code.instances.count;
	r = add_ranges(walk, unit, function, *ret_instance);
	return r < 0 ? r : add_instance(walk, &instance);
}

static bool names_a_scope(unsigned int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_subprogram:
		return true;
	default:
		return false;
	}
}

struct entry_reading {
	struct dwarf_walk *walk;
	struct dwarf_unit *unit;
	const struct dwarf_abbrev_table *table;
	struct bytes_reader cursor;
	uint32_t level; /* of the entry around; 0 is the unit's first entry */
};

/*
 * Adds a function or an inlined call if it has code, and moves the cursor behind its attributes.
 * *instance is the instance around, and afterwards the one around its children.
 */
static int read_function(struct entry_reading *reading, const struct dwarf_abbrev *abbrev,
			 dwarf_ref entry, uint32_t *instance)
{
	struct dwarf_walk *walk = reading->walk;
	const bool is_inlined = abbrev->tag == DW_TAG_inlined_subroutine;
	struct dwarf_function function;
	int r = 0;

	if (!is_inlined && !abbrev->has_linkage)
		r = record_function(walk, reading->level, entry);
	if (r < 0)
		return r;
	/* A declaration, or a function that is inlined everywhere: its children have no code. */
	if (is_inlined ? *instance == NO_INSTANCE : !abbrev->has_code) {
		*instance = NO_INSTANCE;
		dwarf_skip_entry(reading->table, abbrev, &reading->cursor);
		return 0;
	}
	dwarf_function_read(reading->unit, reading->table, abbrev, &reading->cursor, &function);
	if (reading->cursor.error < 0)
		return -EBADMSG;
	if (is_inlined)
		return add_inlined(walk, reading->unit, &function, entry, *instance, instance);
	return add_function(walk, reading->unit, &function, entry, instance);
}

static int descend(struct entry_reading *reading, const struct dwarf_abbrev *abbrev,
		   dwarf_ref entry, uint32_t instance)
{
	struct walk_level *around = &reading->walk->levels[reading->level];

	if (reading->level + 1 >= DWARF_MAX_DEPTH)
		return -EBADMSG;
	reading->level++;
	around[1] = (struct walk_level){
		.entry = entry,
		.instance = instance,
		.scope = SCOPE_NOT_RECORDED,
		.naming = names_a_scope(abbrev->tag) ? reading->level : around->naming,
	};
	return 0;
}

static int read_entry(struct entry_reading *reading, uint64_t code, dwarf_ref entry)
{
	uint32_t instance = reading->walk->levels[reading->level].instance;
	const struct dwarf_abbrev *abbrev;
	int r;

	if (code >= reading->table->by_code.count || reading->table->by_code.items[code].tag == 0)
		return -EBADMSG;
	abbrev = &reading->table->by_code.items[code];
	switch (abbrev->tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
		r = read_function(reading, abbrev, entry, &instance);
		if (r < 0)
			return r;
		break;
	default:
		dwarf_skip_entry(reading->table, abbrev, &reading->cursor);
		break;
	}
	if (reading->cursor.error < 0)
		return -EBADMSG;
	return abbrev->has_children ? descend(reading, abbrev, entry, instance) : 0;
}

static int walk_children(struct entry_reading *reading)
{
	const uint8_t *section = dwarf_unit_section(reading->unit).data;
	int r = 0;

	while (r == 0 && cursor_left(&reading->cursor) > 0) {
		dwarf_ref entry =
			dwarf_ref_of(reading->unit, (uint64_t)(reading->cursor.next - section));
		uint64_t code = cursor_uleb(&reading->cursor);

		if (code != 0) {
			r = read_entry(reading, code, entry);
		} else {
			if (reading->level == 0)
				return 0;
			reading->level--;
		}
	}
	return r;
}

int dwarf_walk_unit(struct dwarf_walk *walk, struct dwarf_unit *unit)
{
	struct entry_reading reading = { .walk = walk, .unit = unit };
	uint64_t code;
	int r;

	vec_clear(&walk->code.instances);
	vec_clear(&walk->code.ranges);
	r = dwarf_unit_read(unit);
	if (r == 0)
		r = dwarf_unit_abbrevs(unit, &reading.table);
	if (r < 0)
		return r;

	reading.cursor = dwarf_unit_cursor(unit, unit->entries);
	code = cursor_uleb(&reading.cursor);
	assert(code < reading.table->by_code.count); /* dwarf_unit_read() has checked it */
	dwarf_skip_entry(reading.table, &reading.table->by_code.items[code], &reading.cursor);
	walk->levels[0] = (struct walk_level){ .instance = NO_INSTANCE, .scope = NO_SCOPE };
	if (reading.cursor.error < 0 || !reading.table->by_code.items[code].has_children)
		return 0;
	return walk_children(&reading);
}
