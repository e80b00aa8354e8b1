/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A view over segments made of random models, and the sums that a plain loop over the rows of the
 * models gives. Groups are the numbers of processes.
 */

#include "tests/unit/symbolizer/store/segment/segment_fixture.h"

#include "common/hash_table.h"
#include "symbolizer/store/segment_view/segment_view.h"

#define SLOTS_PER_HOUR UINT64_C(360000)
/* A whole hour since 1970. */
#define FIRST_SLOT (SLOTS_PER_HOUR * 47223)

/* This process is not selected. */
#define UNSELECTED_PROCESS 3
#define N_PROCESSES        5

struct view_test {
	struct arena *arena;
	struct segment_view *view;
	struct cancel cancel;
	struct model all; /* rows of all parts */
	struct store_series *series;
	size_t n_series;
	struct store_sum_series *selected;
	size_t n_selected;
};

/* For cmocka_unit_test_setup_teardown(). */
int view_setup(void **state);
int view_teardown(void **state);

enum part_form {
	PART_ENCODED,
	PART_OLD,     /* encoded in format 1 */
	PART_DECODED, /* the view gets the tables, as of a segment in memory */
};

/* Adds the segment of @model, and its rows to test->all. Slots are of the first hour on. */
void view_add_model(struct view_test *test, const struct model *model, enum part_form form,
		    const struct segment_part *flags);

/* Adds @segment, encoded. */
void view_add_segment(struct view_test *test, const struct segment *segment,
		      const struct segment_part *part);

/* Bytes of @segment in the arena. */
struct bytes_view encode(const struct segment *segment, struct arena *arena);

/* Finds the series with samples in the range, and selects them. */
void view_select(struct view_test *test, const uint64_t range[2]);

/* Number of the process and thread of a series, as in struct model_row. */
unsigned int process_number(const struct store_series *series);
unsigned int thread_number(const struct store_series *series);
unsigned int host_number(const struct store_series *series);

/* model_stack_key() of a stack of the view. */
uint64_t view_stack_key(const struct view_test *test, uint64_t stack);

/* The sums of test->all are those of the view. */
void assert_view_sums(const struct view_test *test, const struct store_sum_query *query);

/* A query for the selected series. */
static inline struct store_sum_query sum_query(const struct view_test *test,
					       const uint64_t range[2])
{
	return (struct store_sum_query){ .series = test->selected,
					 .n_series = test->n_selected,
					 .from_slot = range[0],
					 .to_slot = range[1] };
}
