/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/hotspot/hotspot_tables.h"

#include <string.h>

#include "agent/interpreter/runtime/words.h"

/* JDK 17 has 788 fields and 768 types. */
#define MAX_ENTRIES 8192

/* Longer names are of no interest. */
#define NAME_BYTES 64

#define MAX_ENTRY_BYTES 256
#define PAGE_BYTES      4096

struct name {
	size_t id;
	const char *type, *field;
};

static const struct name fields[] = {
#define X(id, type, field) { HOTSPOT_##id, type, field },
	HOTSPOT_FIELDS(X) HOTSPOT_FILE_FIELDS(X) HOTSPOT_OTHER_NAMES(X)
#undef X
};

static const struct name bases[] = {
#define X(id, type, field) { HOTSPOT_BASE_##id, type, field },
	HOTSPOT_BASES(X)
#undef X
};

static const struct {
	enum hotspot_place_id place;
	enum hotspot_base base;
	struct name name;
	const char *field_type;
} places[] = {
#define X(id, base, type, field, field_type)                                                       \
	{ HOTSPOT_PLACE_##id, HOTSPOT_BASE_##base, { 0, type, field }, field_type },
	HOTSPOT_PLACES(X)
#undef X
};

static_assert(ARRAY_SIZE(places) == HOTSPOT_N_PLACE_ROWS, "one for each row");

static const struct {
	struct name name;
	enum hotspot_static replaced_by;
} statics[] = {
#define X(id, type, field, replaced_by)                                                            \
	{ { HOTSPOT_STATIC_##id, type, field }, HOTSPOT_STATIC_##replaced_by },
	HOTSPOT_STATICS(X)
#undef X
};

static const char *const sizes[] = {
#define X(id, type) type,
	HOTSPOT_SIZES(X)
#undef X
};

/* Reads the text at @address, at most NAME_BYTES - 1 bytes of it. */
static int read_name(const struct hotspot_memory *memory, uint64_t address, char to[NAME_BYTES])
{
	size_t used = 0;

	memset(to, 0, NAME_BYTES);
	while (used < NAME_BYTES - 1) {
		size_t size = MIN(NAME_BYTES - 1 - used,
				  (size_t)(PAGE_BYTES - (address + used) % PAGE_BYTES));
		int r = memory->read(memory->arg, address + used, to + used, size);

		if (r < 0)
			return r;
		if (memchr(to + used, '\0', size))
			return 0;
		used += size;
	}
	return 0;
}

/* An entry of the table of fields. */
struct field_entry {
	char type[NAME_BYTES], field[NAME_BYTES];
	uint64_t field_type; /* address of a text */
	uint64_t offset, address;
};

static bool is_named(const struct field_entry *entry, const struct name *name)
{
	return strcmp(name->type, entry->type) == 0 && strcmp(name->field, entry->field) == 0;
}

static void take_static(struct hotspot_tables *tables, const struct field_entry *entry)
{
	for (size_t i = 0; i < ARRAY_SIZE(statics); i++)
		if (is_named(entry, &statics[i].name))
			tables->statics[i] = entry->address;
}

/* Also the type of the field must be that of the row: JDK 23 has a _metadata_offset of 16 bits. */
static int take_places(struct hotspot_tables *tables, const struct field_entry *entry)
{
	char field_type[NAME_BYTES];
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(places); i++) {
		if (!is_named(entry, &places[i].name))
			continue;
		r = read_name(tables->memory, entry->field_type, field_type);
		if (r < 0 || strcmp(field_type, places[i].field_type) != 0)
			continue;
		tables->place_offset[i] = (uint16_t)entry->offset;
		tables->has_place[i] = true;
	}
	return r;
}

static int take_field(struct hotspot_tables *tables, const struct field_entry *entry)
{
	if (entry->offset >= HOTSPOT_MAX_OFFSET)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (!is_named(entry, &fields[i]))
			continue;
		tables->layout.offset[fields[i].id] = (uint16_t)entry->offset;
		tables->has_field[fields[i].id] = true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(bases); i++) {
		if (!is_named(entry, &bases[i]))
			continue;
		tables->layout.base[bases[i].id] = (uint16_t)entry->offset;
		tables->has_base[bases[i].id] = true;
	}
	return take_places(tables, entry);
}

static bool fits(uint64_t offset, uint64_t stride)
{
	return stride <= MAX_ENTRY_BYTES && offset <= stride && stride - offset >= sizeof(uint64_t);
}

static int read_structs(struct hotspot_tables *tables)
{
	const struct hotspot_memory *memory = tables->memory;
	const uint64_t *symbols = tables->symbols;
	const uint64_t stride = symbols[HOTSPOT_SYMBOL_STRUCT_STRIDE];
	struct field_entry field = {};
	uint8_t entry[MAX_ENTRY_BYTES];
	uint64_t last_type = 0;

	for (size_t i = HOTSPOT_SYMBOL_STRUCT_TYPE; i <= HOTSPOT_SYMBOL_STRUCT_ADDRESS; i++)
		if (!fits(symbols[i], stride))
			return -EBADMSG;
	for (uint64_t i = 0; i < MAX_ENTRIES; i++) {
		uint64_t type_name, field_name;
		int r = memory->read(memory->arg, symbols[HOTSPOT_SYMBOL_STRUCTS] + i * stride,
				     entry, stride);

		if (r < 0)
			return r;
		type_name = word_at(entry, symbols[HOTSPOT_SYMBOL_STRUCT_TYPE]);
		field_name = word_at(entry, symbols[HOTSPOT_SYMBOL_STRUCT_FIELD]);
		if (type_name == 0 || field_name == 0)
			return 0;
		r = type_name != last_type ? read_name(memory, type_name, field.type) : 0;
		if (r == 0)
			r = read_name(memory, field_name, field.field);
		if (r < 0)
			return r;
		last_type = type_name;
		field.field_type = word_at(entry, symbols[HOTSPOT_SYMBOL_STRUCT_FIELD_TYPE]);
		field.offset = word_at(entry, symbols[HOTSPOT_SYMBOL_STRUCT_OFFSET]);
		field.address = word_at(entry, symbols[HOTSPOT_SYMBOL_STRUCT_ADDRESS]);
		if ((uint32_t)word_at(entry, symbols[HOTSPOT_SYMBOL_STRUCT_IS_STATIC]) != 0)
			take_static(tables, &field);
		else
			r = take_field(tables, &field);
		if (r < 0)
			return r;
	}
	return -EBADMSG;
}

static int read_types(struct hotspot_tables *tables)
{
	const struct hotspot_memory *memory = tables->memory;
	const uint64_t *symbols = tables->symbols;
	const uint64_t stride = symbols[HOTSPOT_SYMBOL_TYPE_STRIDE];
	uint8_t entry[MAX_ENTRY_BYTES];
	char type[NAME_BYTES];

	if (!fits(symbols[HOTSPOT_SYMBOL_TYPE_NAME], stride) ||
	    !fits(symbols[HOTSPOT_SYMBOL_TYPE_SIZE], stride))
		return -EBADMSG;
	for (uint64_t i = 0; i < MAX_ENTRIES; i++) {
		uint64_t name, size;
		int r = memory->read(memory->arg, symbols[HOTSPOT_SYMBOL_TYPES] + i * stride, entry,
				     stride);

		if (r < 0)
			return r;
		name = word_at(entry, symbols[HOTSPOT_SYMBOL_TYPE_NAME]);
		if (name == 0)
			return 0;
		r = read_name(memory, name, type);
		if (r < 0)
			return r;
		size = word_at(entry, symbols[HOTSPOT_SYMBOL_TYPE_SIZE]);
		for (size_t at = 0; at < ARRAY_SIZE(sizes); at++) {
			if (strcmp(sizes[at], type) != 0 || size >= HOTSPOT_MAX_OFFSET)
				continue;
			tables->layout.size[at] = (uint16_t)size;
			tables->has_size[at] = true;
		}
	}
	return -EBADMSG;
}

/* Finds for each place the first row that the version has. */
static bool choose_places(struct hotspot_tables *tables)
{
	bool has_place[HOTSPOT_N_PLACES] = {};
	bool has = true;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (has_place[places[i].place] || !tables->has_place[i] ||
		    !tables->has_base[places[i].base])
			continue;
		tables->layout.place[places[i].place] = (struct hotspot_place){
			.base = (uint16_t)places[i].base,
			.offset = tables->place_offset[i],
		};
		has_place[places[i].place] = true;
	}
	for (size_t i = 0; i < HOTSPOT_N_PLACES; i++)
		has &= has_place[i];
	return has;
}

static bool has_all(const struct hotspot_tables *tables)
{
	bool has = tables->has_field[HOTSPOT_POOL_FILE] || tables->has_field[HOTSPOT_CLASS_FILE];

	for (size_t i = 0; i < HOTSPOT_N_NEEDED_FIELDS; i++)
		has &= tables->has_field[i];
	for (size_t i = 0; i < HOTSPOT_N_STATICS; i++)
		has &= tables->statics[i] != 0 || tables->statics[statics[i].replaced_by] != 0;
	for (size_t i = 0; i < HOTSPOT_N_SIZES; i++)
		has &= tables->has_size[i];
	return has;
}

int hotspot_tables_read(struct hotspot_tables *tables, const uint64_t symbols[HOTSPOT_N_SYMBOLS])
{
	const struct hotspot_memory *memory = tables->memory;
	int r = 0;

	tables->has_base[HOTSPOT_BASE_NONE] = tables->has_base[HOTSPOT_BASE_BLOB] = true;
	for (size_t i = 0; r == 0 && i < HOTSPOT_N_SYMBOLS; i++)
		r = memory->read(memory->arg, symbols[i], &tables->symbols[i], sizeof(uint64_t));
	if (r == 0 && tables->symbols[HOTSPOT_SYMBOL_STRUCT_STRIDE] == 0)
		return 0;
	if (r == 0)
		r = read_structs(tables);
	if (r == 0)
		r = read_types(tables);
	if (r < 0)
		return r;
	return choose_places(tables) && has_all(tables) ? 1 : -ENOTSUP;
}
