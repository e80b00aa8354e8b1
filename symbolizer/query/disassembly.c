/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/disassembly.h"

#include <string.h>

#include "common/search.h"
#include "common/vec.h"

VEC_DEFINE(row_vec, struct disassembly_row);

/* Keeps the first blocks that have @max_bytes together. */
static void limit_blocks(struct disassembly *code, uint64_t max_bytes)
{
	uint64_t left = max_bytes;
	size_t kept = 0;

	for (size_t i = 0; i < code->n_blocks; i++) {
		struct code_block *block = &code->blocks[i];
		const uint64_t size = kept < CODE_MAX_BLOCKS ? MIN(block->size, left) : 0;

		code->left_out_bytes += block->size - size;
		left -= size;
		if (size == 0)
			continue;
		code->blocks[kept] = *block;
		code->blocks[kept++].size = size;
	}
	code->n_blocks = kept;
}

static int find_blocks(const struct disassembly_request *request, struct arena *arena,
		       struct disassembly *code, uint64_t *ret_base)
{
	uint64_t *addresses = arena_alloc_array(arena, request->n_values + 1, sizeof(*addresses));
	const struct resolve_code_request find = {
		.id = &request->file->identity,
		.kernel_image = request->file->kernel_image,
		.function = request->function,
		.addresses = addresses,
		.count = request->n_values,
	};
	struct resolve_code_answer found;
	int r;

	if (!addresses)
		return -ENOMEM;
	for (size_t i = 0; i < request->n_values; i++)
		addresses[i] = request->values[i].address;
	r = resolver_find_code(request->resolver, &find, arena, &found);
	if (r < 0)
		return r;
	code->blocks = found.blocks;
	code->n_blocks = found.n_blocks;
	*ret_base = found.base;
	limit_blocks(code, request->max_bytes);
	return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Values that are added to rows, in the order of both. */
struct joining {
	const struct code_value *next, *end;
	uint64_t base;
	struct row_vec rows;
};

static uint32_t block_of(const struct disassembly *code, uint64_t elf_addr)
{
	const size_t low = lower_bound(at, code->n_blocks, code->blocks[at].elf_addr <= elf_addr);

	return low > 0 && elf_addr - code->blocks[low - 1].elf_addr < code->blocks[low - 1].size
		       ? (uint32_t)(low - 1)
		       : DISASSEMBLY_NO_BLOCK;
}

static void add_value(struct disassembly_row *row, const struct code_value *value)
{
	row->self += value->self;
	row->total += value->total;
	row->inlined = value->inlined;
}

/* Adds rows for the values below @elf_addr, which are at no instruction. */
static int add_bare_rows(struct joining *joining, const struct disassembly *code, uint64_t elf_addr)
{
	int r = 0;

	for (; joining->next < joining->end && r == 0; joining->next++) {
		struct disassembly_row row = {
			.elf_addr = joining->base + joining->next->address,
			.target = CODE_NO_TARGET,
			.place = DISASSEMBLY_NO_PLACE,
		};

		if (row.elf_addr >= elf_addr)
			break;
		row.block = block_of(code, row.elf_addr);
		add_value(&row, joining->next);
		r = vec_push(&joining->rows, row);
	}
	return r;
}

/*
 * Adds a row for an instruction, with the values of all its bytes: the address of a caller is that
 * of the last byte of its call.
 */
static int add_instruction(struct joining *joining, const struct disassembly *code,
			   const struct code_instruction *instruction)
{
	const struct code_block *block = &code->blocks[instruction->block];
	struct disassembly_row row = {
		.elf_addr = instruction->elf_addr,
		.block = instruction->block,
		.bytes = { .data = block->bytes.data + (instruction->elf_addr - block->elf_addr),
			   .size = instruction->size },
		.mnemonic = instruction->mnemonic,
		.operands = instruction->operands,
		.is_data = instruction->is_data,
		.target = instruction->target,
		.place = DISASSEMBLY_NO_PLACE,
	};
	int r = add_bare_rows(joining, code, instruction->elf_addr);

	for (; joining->next < joining->end; joining->next++) {
		const uint64_t elf_addr = joining->base + joining->next->address;

		if (elf_addr - instruction->elf_addr >= instruction->size)
			break;
		add_value(&row, joining->next);
	}
	return r < 0 ? r : vec_push(&joining->rows, row);
}

static int make_rows(const struct disassembly_request *request, const struct code_job *job,
		     uint64_t base, struct arena *arena, struct disassembly *code)
{
	struct joining joining = { .next = request->values,
				   .end = request->values + request->n_values,
				   .base = base };
	int r = 0;

	for (size_t i = 0; i < job->n_instructions && r == 0; i++)
		r = add_instruction(&joining, code, &job->instructions[i]);
	if (r == 0)
		r = add_bare_rows(&joining, code, UINT64_MAX);
	if (r == 0) {
		code->n_rows = joining.rows.count;
		code->rows = arena_alloc_array(arena, code->n_rows + 1, sizeof(*code->rows));
		if (code->rows && code->n_rows > 0)
			memcpy(code->rows, joining.rows.items, code->n_rows * sizeof(*code->rows));
		r = code->rows ? 0 : -ENOMEM;
	}
	vec_release(&joining.rows);
	return r;
}

/* ---- names ----------------------------------------------------------------------------------- */

static int resolve(const struct disassembly_request *request, const uint64_t *elf_addrs,
		   size_t count, struct arena *arena, struct resolve_answer *ret_answer)
{
	const struct resolve_request resolve = {
		.id = &request->file->identity,
		.addresses = elf_addrs,
		.count = count,
	};

	return resolver_resolve(request->resolver, &resolve, arena, ret_answer);
}

static int add_places(const struct disassembly_request *request, struct arena *arena,
		      struct disassembly *code)
{
	uint64_t *elf_addrs = arena_alloc_array(arena, code->n_rows + 1, sizeof(*elf_addrs));
	struct resolve_answer answer;
	int r;

	if (!elf_addrs)
		return -ENOMEM;
	for (size_t i = 0; i < code->n_rows; i++)
		elf_addrs[i] = code->rows[i].elf_addr;
	r = resolve(request, elf_addrs, code->n_rows, arena, &answer);
	if (r < 0)
		return r;
	code->places = answer.places;
	code->n_places = answer.n_places;
	for (size_t i = 0; i < code->n_rows; i++)
		code->rows[i].place = answer.symbols[i].place;
	return 0;
}

/* The function that has the code of @place: the end of the chain of inlined calls. */
static const char *outermost_function(const struct resolve_answer *answer, uint32_t place)
{
	if (place == RESOLVE_NO_PLACE)
		return NULL;
	while (answer->places[place].caller != RESOLVE_NO_PLACE)
		place = answer->places[place].caller;
	return answer->places[place].function;
}

static bool is_elsewhere(const struct disassembly *code, const struct disassembly_row *row)
{
	return row->target != CODE_NO_TARGET && block_of(code, row->target) == DISASSEMBLY_NO_BLOCK;
}

/* Names the functions that jumps and calls to other code go to. */
static int add_targets(const struct disassembly_request *request, struct arena *arena,
		       struct disassembly *code)
{
	uint64_t *targets = arena_alloc_array(arena, code->n_rows + 1, sizeof(*targets));
	struct resolve_answer answer;
	size_t count = 0, next = 0;
	int r;

	if (!targets)
		return -ENOMEM;
	for (size_t i = 0; i < code->n_rows; i++)
		if (is_elsewhere(code, &code->rows[i]))
			targets[count++] = code->rows[i].target;
	r = resolve(request, targets, count, arena, &answer);
	for (size_t i = 0; i < code->n_rows && r == 0 && next < count; i++)
		if (is_elsewhere(code, &code->rows[i]))
			code->rows[i].target_function =
				outermost_function(&answer, answer.symbols[next++].place);
	return r;
}

int disassembly_make(const struct disassembly_request *request, struct arena *arena,
		     struct disassembly *ret_disassembly)
{
	struct disassembly code = { .why = "", .outcome = CODE_NO_FILE };
	struct code_job job = { .syntax = request->syntax };
	uint64_t base = 0;
	int r;

	r = find_blocks(request, arena, &code, &base);
	if (r < 0)
		return r;
	job.blocks = code.blocks;
	job.n_blocks = code.n_blocks;
	if (code.n_blocks > 0) {
		r = resolver_decode_code(request->resolver, &request->file->identity, &job, arena);
		if (r < 0)
			return r;
		code.outcome = job.outcome;
		code.machine = job.machine;
		code.why = arena_copy_text(arena, job.why, strlen(job.why));
	}
	r = code.why ? make_rows(request, &job, base, arena, &code) : -ENOMEM;
	if (r == 0)
		r = add_places(request, arena, &code);
	if (r == 0)
		r = add_targets(request, arena, &code);
	if (r == 0)
		*ret_disassembly = code;
	return r;
}
