/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions are found by symbols. In a stripped file they are found by the calls and addresses in
 * functions that are known, with or without call frame information.
 */
#include "agent/unwind/x86_code/musl_rows.h"

#include <elf.h>

#include "agent/unwind/file/elf_code.h"
#include "agent/unwind/x86_code/function_analysis.h"
#include "agent/unwind/x86_code/x86_instruction.h"
#include "common/file.h"
#include "common/scoped.h"
#include "common/search.h"

/* All of musl has 0.6 MB. A statically linked program may have more. */
#define MAX_CODE_BYTES (32 * MIB)

#define MAX_SYMBOLS_BYTES (32 * MIB)

/* musl has 3000. */
#define MAX_FUNCTIONS (1u << 17)

/*
 * Rounds of following calls. A stripped program needs ten from main to its innermost function, a
 * program with symbols needs one.
 */
#define MAX_ROUNDS 16

/* Size of the start code: 48 31 ed 48 89 e7 48 8d 35 <4> 48 83 e4 f0 e8 <4> */
#define START_BYTES 22

static const uint8_t start_code[] = { 0x48, 0x31, 0xed, 0x48, 0x89, 0xe7, 0x48, 0x8d, 0x35 };
static const uint8_t start_call[] = { 0x48, 0x83, 0xe4, 0xf0, 0xe8 };
#define START_CALL_AT 13

/* mov $15,%rax; syscall */
static const uint8_t restore_rt[] = { 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 };

struct function {
	uint64_t start;
	uint64_t size; /* 0: unknown */
	bool is_analyzed;
};

VEC_DEFINE(function_vec, struct function);

struct musl_rows {
	const struct elf_file *elf;
	struct unwind_builder *builder;
	struct code_range code;
	struct function_vec functions; /* the first n_sorted of them by rising start */
	size_t n_sorted;
	struct code_address_vec found;
	struct function_analysis *analysis;
};

int musl_rows_are_needed(const struct elf_file *elf)
{
	uint8_t code[START_BYTES];
	ssize_t n;

	if (elf->machine != EM_X86_64 || elf->entry == 0)
		return 0;
	n = elf_code_read(elf, elf->entry, code, sizeof(code));
	if (n < 0)
		return (int)n;
	return n == START_BYTES && memcmp(code, start_code, sizeof(start_code)) == 0 &&
	       memcmp(code + START_CALL_AT, start_call, sizeof(start_call)) == 0;
}

const struct load_segment *musl_rows_segment(const struct elf_file *elf, uint64_t *ret_size)
{
	const struct load_segment *segment = elf_segment_at(elf, elf->entry, PF_X);

	if (!segment || segment->file_offset > elf->file_size)
		return NULL;
	*ret_size = MIN(segment->file_size, elf->file_size - segment->file_offset);
	*ret_size = MIN(*ret_size, (uint64_t)MAX_CODE_BYTES);
	return segment;
}

/* ---- functions ------------------------------------------------------------------------------- */

static int add_symbols(struct musl_rows *musl, const char *section_name)
{
	const struct elf_section *section = elf_file_section(musl->elf, section_name);
	scoped(bytes_release) struct bytes content = BYTES_INIT(MAX_SYMBOLS_BYTES);
	int r = 0;

	if (!section || section->type == SHT_NOBITS || section->size > MAX_SYMBOLS_BYTES)
		return 0;
	r = elf_file_read_section(musl->elf, section, &content);
	for (size_t at = 0; r == 0 && at + sizeof(Elf64_Sym) <= content.size;
	     at += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;

		memcpy(&symbol, content.data + at, sizeof(symbol));
		if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF &&
		    musl->functions.count < MAX_FUNCTIONS)
			r = vec_push(&musl->functions, (struct function){ .start = symbol.st_value,
									  .size = symbol.st_size });
	}
	return r;
}

static int compare_functions(const void *left, const void *right)
{
	const struct function *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	/* Of two symbols at one address, the one with a size is first. */
	return a->size > b->size ? -1 : a->size < b->size;
}

static void sort_functions(struct musl_rows *musl)
{
	struct function_vec *functions = &musl->functions;
	size_t count = 0;

	if (functions->count > 1)
		qsort(functions->items, functions->count, sizeof(*functions->items),
		      compare_functions);
	for (size_t i = 0; i < functions->count; i++) {
		if (count == 0 || functions->items[count - 1].start != functions->items[i].start)
			functions->items[count++] = functions->items[i];
		else
			functions->items[count - 1].is_analyzed |= functions->items[i].is_analyzed;
	}
	functions->count = count;
	musl->n_sorted = count;
}

/* The index of the first function that begins after @start. */
static size_t function_after(const struct musl_rows *musl, uint64_t start)
{
	return lower_bound(at, musl->n_sorted, musl->functions.items[at].start <= start);
}

static uint64_t end_of(const struct musl_rows *musl, const struct function *function)
{
	size_t after = function_after(musl, function->start);

	if (function->size > 0)
		return function->start + MIN(function->size, UINT64_MAX - function->start);
	return after < musl->n_sorted ? musl->functions.items[after].start : UINT64_MAX;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const uint8_t *code_at(const struct musl_rows *musl, uint64_t address, size_t size)
{
	uint64_t offset = address - musl->code.vaddr;

	if (address < musl->code.vaddr || offset > musl->code.bytes.size ||
	    size > musl->code.bytes.size - offset)
		return NULL;
	return musl->code.bytes.data + offset;
}

static int add_rule(struct musl_rows *musl, uint64_t start, uint64_t size, enum unwind_cfa cfa)
{
	struct unwind_builder_row row = { .start = start, .rule = { .cfa = (uint8_t)cfa } };

	return unwind_builder_add_rows(musl->builder, &row, 1, start + size);
}

static bool is_trampoline(const struct musl_rows *musl, const struct function *function)
{
	const uint8_t *code = code_at(musl, function->start, sizeof(restore_rt));

	return code && memcmp(code, restore_rt, sizeof(restore_rt)) == 0;
}

/*
 * Added before all other rows, because the byte before a trampoline belongs to it too: the kernel
 * returns to its first byte, and return addresses are looked up one byte before.
 */
static int add_trampolines(struct musl_rows *musl)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < musl->n_sorted; i++) {
		const struct function *function = &musl->functions.items[i];

		if (is_trampoline(musl, function))
			r = add_rule(musl, function->start - 1, sizeof(restore_rt) + 1,
				     UNWIND_CFA_SIGNAL);
	}
	return r;
}

/*
 * Appends the addresses that the function refers to to @found, and with @adds also its rows to the
 * builder.
 */
static int analyze(struct musl_rows *musl, const struct function *function, bool adds)
{
	const struct unwind_builder_row *rows;
	uint64_t end;
	size_t count;
	int r;

	if (unwind_builder_covers(musl->builder, function->start) || is_trampoline(musl, function))
		return 0;
	r = function_analysis_run(musl->analysis, function->start, end_of(musl, function),
				  &musl->found, &end);
	if (r <= 0 || !adds)
		return r;
	rows = function_analysis_rows(musl->analysis, &count);
	return unwind_builder_add_rows(musl->builder, rows, count, end);
}

static int compare_addresses(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* Appends new addresses as functions after the sorted ones. 1: there are new ones. */
static int take_found(struct musl_rows *musl)
{
	struct code_address_vec *found = &musl->found;
	size_t n_sorted = musl->n_sorted;
	int r = 0;

	if (found->count > 1)
		qsort(found->items, found->count, sizeof(*found->items), compare_addresses);
	for (size_t i = 0; r == 0 && i < found->count; i++) {
		uint64_t start = found->items[i];
		size_t after = function_after(musl, start);

		if (i > 0 && found->items[i - 1] == start)
			continue;
		if (after > 0 && musl->functions.items[after - 1].start == start)
			continue;
		if (musl->functions.count < MAX_FUNCTIONS)
			r = vec_push(&musl->functions, (struct function){ .start = start });
	}
	vec_clear(found);
	return r < 0 ? r : musl->functions.count > n_sorted;
}

/* In a file without symbols, functions with call frame information refer to those without. */
static int analyze_described(struct musl_rows *musl)
{
	uint64_t start, end, rows_end;
	int r = 0;

	for (size_t i = 0; r >= 0 && unwind_builder_range(musl->builder, i, &start, &end); i++)
		r = function_analysis_run(musl->analysis, start, end, &musl->found, &rows_end);
	return r < 0 ? r : take_found(musl);
}

/* Analyzes all functions, and those that are found by that. */
static int discover(struct musl_rows *musl)
{
	int r = 1;

	for (size_t round = 0; r > 0 && round < MAX_ROUNDS; round++) {
		sort_functions(musl);
		for (size_t i = 0; r >= 0 && i < musl->n_sorted; i++) {
			if (!musl->functions.items[i].is_analyzed)
				r = analyze(musl, &musl->functions.items[i], false);
			musl->functions.items[i].is_analyzed = true;
		}
		if (r >= 0)
			r = take_found(musl);
	}
	return r;
}

/*
 * The end of a function may be the start of the next one, so rows are added only when all functions
 * are known.
 */
static int add_functions(struct musl_rows *musl)
{
	int r = discover(musl);

	if (r < 0)
		return r;
	sort_functions(musl);
	r = add_trampolines(musl);
	for (size_t i = 0; r >= 0 && i < musl->n_sorted; i++)
		r = analyze(musl, &musl->functions.items[i], true);
	return MIN(r, 0);
}

static int add_program(struct musl_rows *musl)
{
	int r;

	unwind_builder_sort(musl->builder);
	r = add_rule(musl, musl->elf->entry, START_BYTES, UNWIND_CFA_END);
	if (r < 0)
		return r;
	r = function_analysis_new(&musl->code, &musl->analysis);
	if (r < 0)
		return r;
	r = add_symbols(musl, ".symtab");
	if (r < 0)
		return r;
	r = add_symbols(musl, ".dynsym");
	if (r < 0)
		return r;
	r = vec_push(&musl->functions, (struct function){ .start = musl->elf->entry });
	if (r == 0 && !elf_file_section(musl->elf, ".symtab"))
		r = analyze_described(musl);
	return r < 0 ? r : add_functions(musl);
}

int musl_rows_add(const struct elf_file *elf, struct unwind_builder *builder)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(MAX_CODE_BYTES);
	struct musl_rows musl = { .elf = elf, .builder = builder };
	const struct load_segment *segment;
	uint64_t size;
	int r;

	segment = musl_rows_segment(elf, &size);
	if (!segment)
		return 0;
	r = bytes_reserve(&content, (size_t)size);
	if (r == 0)
		r = pread_all(elf->fd, content.data, (size_t)size, segment->file_offset);
	if (r < 0)
		return r;
	content.size = (size_t)size;
	musl.code =
		(struct code_range){ .bytes = bytes_view_of(&content), .vaddr = segment->vaddr };
	r = add_program(&musl);
	(void)function_analysis_free(musl.analysis);
	vec_release(&musl.functions);
	vec_release(&musl.found);
	return r < 0 ? r : 1;
}
