/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For tests of what store.h and store_view.h promise. Each test runs with each embedded engine. The
 * engine of segments runs twice: with rows in memory, and with rows in segments and roll-ups.
 */

#include "tests/unit/symbolizer/store/segment_store/segment_store_fixture.h"

struct contract_engine {
	const char *name;
	int (*open)(const char *folder, const struct test_clock *clock, struct store **ret_store);
	void (*settle)(struct store *store); /* NULL: batches are stored as they stay */
	bool settles_each_batch;
};

struct contract {
	const struct contract_engine *engine;
	char *folder;
	struct test_clock clock; /* NOON at first */
	struct arena *arena;
	struct store *store; /* open */
	struct store_view *views[8];
	size_t n_views;
};

int contract_setup_sqlite(void **state);
int contract_setup_memory(void **state);
int contract_setup_segments(void **state);
int contract_teardown(void **state);

/* write_batch() and write_batch_in(). Arrays of ret_missing are in the fixture's arena. */
int contract_write(struct contract *contract, struct batch_builder *builder);
int contract_write_in(struct contract *contract, const char *tenant, struct batch_builder *builder,
		      struct store_missing *ret_missing);

/* A view that the teardown closes. Results are valid as long as their view. */
struct store_view *contract_view(struct contract *contract, const char *tenant);

/* Moves the rows into the files that count for retention by size. */
void contract_settle(struct contract *contract);

/* Stops and starts the server. */
void contract_reopen(struct contract *contract);

/* All series of the view's tenant, in the fixture's arena. */
struct store_series *contract_series(struct contract *contract, struct store_view *view,
				     size_t *ret_count);

/* The handle of the only host of the view's tenant. */
uint32_t contract_host(struct contract *contract, struct store_view *view);

/* Loads the stack of the last row of the first series. Returns its handle. */
uint64_t contract_last_stack(struct contract *contract, struct store_view *view,
			     struct store_stack *ret_stack);

/* clang-format off */
/* For what the other engine lacks. */
#define on_sqlite(test)                                                                            \
	{ #test " (sqlite)", test, contract_setup_sqlite, contract_teardown, NULL }

#define on_each_engine(test)                                                                       \
	{ #test " (sqlite)", test, contract_setup_sqlite, contract_teardown, NULL },               \
	{ #test " (memory)", test, contract_setup_memory, contract_teardown, NULL },               \
	{ #test " (segments)", test, contract_setup_segments, contract_teardown, NULL }
/* clang-format on */
