/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Writes a .gopclntab in any supported layout, from a list of functions. */

#include "tests/support/unit.h"

#define GO_1_16 0xfffffffau
#define GO_1_18 0xfffffff0u
#define GO_1_20 0xfffffff1u

/*
 * The next @length instructions have the stack pointer @delta lower than at the entry. A length of
 * 0 ends the list.
 */
struct go_written_row {
	uint32_t length;
	int32_t delta;
};

struct go_written_function {
	uint64_t start;
	const char *name;
	uint8_t flags;
	struct go_written_row rows[12];
};

struct go_written_table {
	uint32_t magic;
	uint8_t quantum;
	uint64_t text_start;
	const struct go_written_function *functions;
	size_t n_functions;
};

static inline void go_put(struct bytes *out, uint64_t value, size_t size)
{
	assert_ok(bytes_append(out, &value, size));
}

static inline void go_put_pcsp(struct bytes *out, const struct go_written_row *rows)
{
	int32_t delta = -1;

	for (; rows->length != 0; rows++) {
		assert_ok(bytes_append_varint(out, (uint32_t)zigzag_encode(rows->delta - delta)));
		assert_ok(bytes_append_varint(out, rows->length));
		delta = rows->delta;
	}
	go_put(out, 0, 1);
}

static inline void go_put_record(struct bytes *out, const struct go_written_table *table,
				 const struct go_written_function *function, uint32_t name,
				 uint32_t pcsp)
{
	bool is_old = table->magic == GO_1_16;

	go_put(out, is_old ? function->start : function->start - table->text_start, is_old ? 8 : 4);
	go_put(out, name, 4);
	go_put(out, 0, 8); /* args, deferreturn */
	go_put(out, pcsp, 4);
	go_put(out, 0, 8); /* pcfile, pcln */
	go_put(out, 0, 8); /* npcdata, cuOffset */
	if (table->magic == GO_1_20)
		go_put(out, 0, 4); /* startLine */
	go_put(out, 0, 1);         /* funcID */
	go_put(out, function->flags, 1);
	go_put(out, 0, 2);
}

/* Appends the table to @out, which is empty. */
static inline void go_write_table(struct bytes *out, const struct go_written_table *table)
{
	struct bytes names = BYTES_INIT(MIB), pctab = BYTES_INIT(MIB), records = BYTES_INIT(MIB);
	struct bytes functab = BYTES_INIT(MIB);
	size_t half = table->magic == GO_1_16 ? 8 : 4;
	size_t header_bytes = table->magic == GO_1_16 ? 64 : 72;
	size_t functab_bytes = (table->n_functions * 2 + 1) * half;

	go_put(&pctab, 0, 1);
	for (size_t i = 0; i < table->n_functions; i++) {
		const struct go_written_function *function = &table->functions[i];
		uint32_t name = (uint32_t)names.size, pcsp = (uint32_t)pctab.size;

		assert_ok(bytes_append(&names, function->name, strlen(function->name) + 1));
		go_put_pcsp(&pctab, function->rows);
		go_put(&functab, half == 8 ? function->start : function->start - table->text_start,
		       half);
		go_put(&functab, functab_bytes + records.size, half);
		go_put_record(&records, table, function, name, pcsp);
	}
	go_put(&functab, 0, half);

	go_put(out, table->magic, 4);
	go_put(out, 0, 2);
	go_put(out, table->quantum, 1);
	go_put(out, 8, 1);
	go_put(out, table->n_functions, 8);
	go_put(out, 0, 8); /* files */
	if (table->magic != GO_1_16)
		go_put(out, table->text_start, 8);
	go_put(out, header_bytes, 8);
	go_put(out, header_bytes, 8); /* compilation units: empty */
	go_put(out, header_bytes, 8); /* files: empty */
	go_put(out, header_bytes + names.size, 8);
	go_put(out, header_bytes + names.size + pctab.size, 8);
	assert_int_equal(out->size, header_bytes);
	assert_ok(bytes_append(out, names.data, names.size));
	assert_ok(bytes_append(out, pctab.data, pctab.size));
	assert_ok(bytes_append(out, functab.data, functab.size));
	assert_ok(bytes_append(out, records.data, records.size));
	/* The size of the longest header of all layouts. */
	go_put(out, 0, 8);
	bytes_release(&names);
	bytes_release(&pctab);
	bytes_release(&records);
	bytes_release(&functab);
}
