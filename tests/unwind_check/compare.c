/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The FDEs of readelf are compared one by one. Differences are kept and explained once all FDEs are
 * known. Rules from expressions are kept too, and compared with the texts of a second run.
 */
#include "tests/unwind_check/compare.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/unwind/unwind_compile.h"
#include "agent/unwind/x86_code/cfi_gaps.h"
#include "agent/unwind/x86_code/crt_rows.h"
#include "common/elf/elf_file.h"
#include "common/scoped.h"
#include "tests/unwind_check/match.h"

/* Most differences that are explained. Further ones are counted as differing. */
#define MAX_KEPT 200000

/* A row of the table with its full address. */
struct flat_row {
	uint64_t address;
	uint16_t rule;
};

struct covered {
	uint64_t start;
	uint64_t end;
};

struct mismatch {
	size_t fde; /* its number in readelf's order */
	uint64_t address;
	struct readelf_row row;
	struct abi_unwind_rule rule;
};

struct expected_text {
	bool is_debug_frame;
	uint64_t fde_offset;
	uint64_t address;
	char cfa[160];
	char fp[80];
};

VEC_DEFINE(flat_row_vec, struct flat_row);
VEC_DEFINE(covered_vec, struct covered);
VEC_DEFINE(mismatch_vec, struct mismatch);
VEC_DEFINE(expected_text_vec, struct expected_text);

struct check {
	const char *path;
	const struct elf_file *elf;
	const struct cfi_machine *machine;
	struct unwind_table table;
	struct flat_row_vec rows;
	struct cfi_gap_vec gaps;
	struct crt_range start_code[CRT_MAX_RANGES];
	int n_start_code;
	struct covered_vec fdes; /* in readelf's order */
	struct mismatch_vec mismatches;
	struct expected_text_vec texts;
	size_t next_text;
	struct comparison *comparison;
	FILE *details;
};

/* ---- expressions ----------------------------------------------------------------------------- */

static int expect_text(struct check *check, const struct readelf_fde *fde,
		       const struct readelf_row *row, const struct abi_unwind_rule *rule)
{
	struct expected_text text = { .is_debug_frame = fde->is_debug_frame,
				      .fde_offset = fde->offset,
				      .address = row->address };

	if (strcmp(row->cfa, "exp") == 0)
		text_of_cfa(rule, text.cfa, sizeof(text.cfa));
	if (strcmp(row->fp, "exp") == 0)
		text_of_fp(rule, text.fp, sizeof(text.fp));
	return vec_push(&check->texts, text);
}

/* The texts of one FDE, in the order in which the rows were kept. */
static int on_text(void *argument, bool is_debug_frame, uint64_t offset, const char *text)
{
	struct check *check = argument;

	while (check->next_text < check->texts.count) {
		const struct expected_text *expected = &check->texts.items[check->next_text];

		if (expected->is_debug_frame != is_debug_frame || expected->fde_offset != offset)
			break;
		check->next_text++;
		if (strstr(text, expected->cfa) && strstr(text, expected->fp)) {
			check->comparison->counts[OUTCOME_EXPRESSION]++;
			continue;
		}
		check->comparison->counts[OUTCOME_DIFFERS]++;
		fprintf(check->details, "%s: %" PRIx64 ": differs: '%s' '%s' is not in:\n%s",
			check->path, expected->address, expected->cfa, expected->fp, text);
	}
	return 0;
}

static int check_expressions(struct check *check)
{
	int r;

	if (check->texts.count == 0)
		return 0;
	r = readelf_expressions(check->path, on_text, check);
	if (r == 0 && check->next_text < check->texts.count) {
		check->comparison->counts[OUTCOME_DIFFERS] += check->texts.count - check->next_text;
		fprintf(check->details, "%s: %zu expressions are not in readelf's text\n",
			check->path, check->texts.count - check->next_text);
	}
	return r;
}

/* ---- FDEs ------------------------------------------------------------------------------------ */

/* The last row at or before @address; SIZE_MAX: there is none. */
static size_t flat_row_at(const struct check *check, uint64_t address)
{
	size_t low = 0, high = check->rows.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (check->rows.items[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low == 0 ? SIZE_MAX : low - 1;
}

static int keep_mismatch(struct check *check, const struct readelf_row *row, uint64_t address,
			 const struct abi_unwind_rule *rule)
{
	struct mismatch mismatch = {
		.fde = check->fdes.count - 1, .address = address, .row = *row, .rule = *rule
	};

	if (check->mismatches.count == MAX_KEPT) {
		check->comparison->counts[OUTCOME_DIFFERS]++;
		return 0;
	}
	return vec_push(&check->mismatches, mismatch);
}

/* readelf's row is valid in [row->address, end). */
static int check_row(struct check *check, const struct readelf_fde *fde,
		     const struct readelf_row *row, uint64_t end)
{
	const struct abi_unwind_rule *rule = unwind_table_find(&check->table, row->address);
	enum match match = match_rule(check->machine, fde->is_signal_frame, row, rule);
	uint64_t at = row->address;
	size_t i = flat_row_at(check, at);

	/* Rows of the table within it must repeat its first rule. */
	for (i = i == SIZE_MAX ? 0 : i + 1; match < MATCH_NOT && i < check->rows.count; i++) {
		const struct flat_row *flat = &check->rows.items[i];

		if (flat->address >= end)
			break;
		rule = &check->table.rules[flat->rule];
		match = MAX(match, match_rule(check->machine, fde->is_signal_frame, row, rule));
		at = flat->address;
	}
	if (match < MATCH_NOT && unwind_table_find(&check->table, end - 1) != rule) {
		rule = unwind_table_find(&check->table, end - 1);
		match = MATCH_NOT;
		at = end - 1;
	}
	if (match == MATCH_EXPRESSION)
		return expect_text(check, fde, row, rule);
	if (match == MATCH_NOT)
		return keep_mismatch(check, row, at, rule);
	if (match == MATCH_NOT_EXPRESSIBLE)
		fprintf(check->details, "%s: %" PRIx64 ": not expressible: %s fp %s ra %s\n",
			check->path, row->address, row->cfa, row->fp, row->ra);
	check->comparison->counts[match == MATCH_EQUAL ? OUTCOME_EQUAL : OUTCOME_NOT_EXPRESSIBLE]++;
	return 0;
}

static int on_fde(void *argument, const struct readelf_fde *fde)
{
	struct check *check = argument;
	int r = vec_push(&check->fdes, (struct covered){ fde->start, fde->end });

	check->comparison->n_fdes++;
	for (size_t i = 0; r == 0 && i < fde->rows.count; i++) {
		const struct readelf_row *row = &fde->rows.items[i];
		uint64_t end = i + 1 < fde->rows.count ? row[1].address : fde->end;

		end = MIN(end, fde->end);
		if (row->address < end)
			r = check_row(check, fde, row, end);
	}
	return r;
}

/* ---- differences ----------------------------------------------------------------------------- */

static bool is_in_executable_segment(const struct elf_file *elf, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < elf->n_load_segments; i++) {
		const struct load_segment *segment = &elf->load_segments[i];

		if ((segment->flags & PF_X) && start >= segment->vaddr &&
		    end - segment->vaddr <= segment->memory_size)
			return true;
	}
	return false;
}

static enum outcome explain(const struct check *check, const struct mismatch *mismatch)
{
	const struct covered *fde = &check->fdes.items[mismatch->fde];

	if (!is_in_executable_segment(check->elf, fde->start, fde->end))
		return OUTCOME_OUTSIDE;
	for (size_t i = 0; i < mismatch->fde; i++)
		if (mismatch->address >= check->fdes.items[i].start &&
		    mismatch->address < check->fdes.items[i].end)
			return OUTCOME_OVERLAP;
	if (mismatch->rule.cfa == UNWIND_CFA_END)
		return OUTCOME_ENTRY;
	return mismatch->rule.cfa == UNWIND_CFA_NONE ? OUTCOME_LOST : OUTCOME_DIFFERS;
}

static void explain_mismatches(struct check *check)
{
	static const char *const names[] = {
#define X(id, name, meaning) name,
		OUTCOMES(X)
#undef X
	};

	for (size_t i = 0; i < check->mismatches.count; i++) {
		const struct mismatch *mismatch = &check->mismatches.items[i];
		enum outcome outcome = explain(check, mismatch);

		check->comparison->counts[outcome]++;
		fprintf(check->details,
			"%s: %" PRIx64 ": %s: readelf %s fp %s ra %s; table cfa %u %d register %u "
			"fp %u %d ra %u %d\n",
			check->path, mismatch->address, names[outcome], mismatch->row.cfa,
			mismatch->row.fp, mismatch->row.ra, mismatch->rule.cfa,
			mismatch->rule.cfa_offset, mismatch->rule.cfa_register, mismatch->rule.fp,
			mismatch->rule.fp_offset, mismatch->rule.ra, mismatch->rule.ra_offset);
	}
}

/* ---- gaps ------------------------------------------------------------------------------------ */

static int compare_covered(const void *left, const void *right)
{
	const struct covered *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* Returns whether the row at @address, or at the end of padding there, comes from code. */
static bool is_from_code(const struct check *check, uint64_t address)
{
	uint64_t after_padding = (address + 15) / 16 * 16;

	for (int i = 0; i < check->n_start_code; i++)
		if (address - check->start_code[i].vaddr < check->start_code[i].size ||
		    after_padding - check->start_code[i].vaddr < check->start_code[i].size)
			return true;
	return cfi_gaps_contain(&check->gaps, address) ||
	       cfi_gaps_contain(&check->gaps, after_padding);
}

/*
 * Returns whether it is a row that ends stacks at the program's entry, or in the byte before a
 * function.
 */
static bool is_entry(const struct check *check, const struct flat_row *row, uint64_t end)
{
	if (check->table.rules[row->rule].cfa != UNWIND_CFA_END)
		return false;
	return row->address == check->elf->entry || row->address == end - 1;
}

/*
 * [start, end) has no FDE. There the table may only have rows for padding, for the byte before a
 * signal frame, for entries, and from code.
 */
static void check_gap(struct check *check, uint64_t start, uint64_t end)
{
	bool is_padding = end - start < 16 && end % 16 == 0;

	for (size_t i = flat_row_at(check, start);
	     i < check->rows.count && check->rows.items[i].address < end; i++) {
		const struct flat_row *row = &check->rows.items[i];
		const struct abi_unwind_rule *rule = &check->table.rules[row->rule];
		bool is_before_signal_frame =
			row->address == end - 1 && rule->cfa == UNWIND_CFA_SIGNAL;

		if (rule->cfa == UNWIND_CFA_NONE || is_before_signal_frame || is_padding)
			continue;
		if (is_entry(check, row, end) || rule->cfa == UNWIND_CFA_CLONE ||
		    is_from_code(check, MAX(row->address, start))) {
			check->comparison->counts[OUTCOME_FROM_CODE]++;
			continue;
		}
		check->comparison->counts[OUTCOME_INVENTED]++;
		fprintf(check->details,
			"%s: %" PRIx64 ": invented: cfa %u %d in a gap of %" PRIu64 "\n",
			check->path, row->address, rule->cfa, rule->cfa_offset, end - start);
	}
}

static void check_gaps(struct check *check)
{
	uint64_t end;

	if (check->fdes.count == 0)
		return;
	qsort(check->fdes.items, check->fdes.count, sizeof(*check->fdes.items), compare_covered);
	end = check->fdes.items[0].end;
	for (size_t i = 1; i < check->fdes.count; i++) {
		const struct covered *fde = &check->fdes.items[i];

		if (fde->start > end)
			check_gap(check, end, fde->start);
		end = MAX(end, fde->end);
	}
	if (check->rows.count > 0)
		check_gap(check, end,
			  MAX(end, check->rows.items[check->rows.count - 1].address) + 1);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int flatten(struct check *check)
{
	const struct unwind_table *table = &check->table;
	int r = vec_reserve(&check->rows, table->n_rows);

	for (uint32_t page = 0; r == 0 && page < table->n_pages; page++)
		for (uint32_t i = table->page_first[page]; i < table->page_first[page + 1]; i++)
			check->rows.items[check->rows.count++] = (struct flat_row){
				.address = table->base_address +
					   ((uint64_t)page << UNWIND_PAGE_SHIFT) +
					   table->rows[i].offset,
				.rule = table->rows[i].rule,
			};
	return r;
}

static int run_check(struct check *check)
{
	struct unwind_table_stats stats;
	int r = unwind_table_compile(check->elf, &(struct unwind_options){}, &check->table, &stats);

	if (r < 0)
		return r;
	check->comparison->n_table_rows += check->table.n_rows;
	check->comparison->n_table_bytes += check->table.n_rows * sizeof(struct abi_unwind_row) +
					    check->table.n_pages * sizeof(uint32_t) +
					    check->table.n_rules * sizeof(struct abi_unwind_rule);
	r = flatten(check);
	if (r == 0)
		r = cfi_gaps_find(check->elf, &check->gaps);
	if (r >= 0)
		r = check->n_start_code = crt_ranges_find(check->elf, check->start_code);
	if (r < 0)
		return r;
	r = readelf_rows(check->path, check->machine->elf_machine == EM_X86_64 ? "rbp" : "x29",
			 on_fde, check);
	if (r < 0)
		return r;
	r = check_expressions(check);
	explain_mismatches(check);
	check_gaps(check);
	return r;
}

int compare_file(const char *path, struct comparison *comparison, FILE *details)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	struct check check = { .path = path, .comparison = comparison, .details = details };
	int r;

	if (fd < 0)
		return -errno;
	r = elf_file_open(fd, &elf);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	check.elf = elf;
	check.machine = cfi_machine_of(elf->machine);
	if (!check.machine || (elf->type != ET_EXEC && elf->type != ET_DYN))
		return 0;
	r = run_check(&check);
	unwind_table_release(&check.table);
	vec_release(&check.rows);
	vec_release(&check.gaps);
	vec_release(&check.fdes);
	vec_release(&check.mismatches);
	vec_release(&check.texts);
	return r < 0 ? r : 1;
}

uint64_t comparison_rows(const struct comparison *comparison)
{
	uint64_t rows = 0;

	for (size_t i = 0; i < OUTCOME_INVENTED; i++)
		rows += comparison->counts[i];
	return rows;
}

uint64_t comparison_agreeing(const struct comparison *comparison)
{
	return comparison->counts[OUTCOME_EQUAL] + comparison->counts[OUTCOME_EXPRESSION];
}
