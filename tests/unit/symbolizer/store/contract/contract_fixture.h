/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For tests of what store.h and store_view.h promise. Each test runs with each embedded engine. The
 * engine of segments runs twice: with rows in memory, and with rows in segments and roll-ups.
 */

#include "symbolizer/store/sqlite/make_room.h"
#include "tests/unit/symbolizer/store/segment_store/segment_store_fixture.h"

struct contract_engine {
	const char *name;
	/* As a server does at its start: makes room, and opens. */
	int (*open)(const char *folder, const struct test_clock *clock,
		    const struct retention_limits *limits, struct store **ret_store);
	int (*settle)(struct store *store); /* NULL: batches are stored as they stay */
	bool settles_each_batch;
	/* The bytes and the days that count for retention. */
	uint64_t (*folder_bytes)(const char *folder, size_t *ret_days);
	int (*back_up)(const char *folder, const char *target);
};

struct contract {
	const struct contract_engine *engine;
	char *folder;
	struct test_clock clock;        /* NOON at first */
	struct retention_limits limits; /* none at first */
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

/* Stops the server unless it is stopped, and starts it with the fixture's limits. */
void contract_reopen(struct contract *contract);

/* All files are valid, as far as the engine can check. */
void assert_no_faults(struct store *store);

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

/* For the life of the files, which does not depend on when rows become segments. */
#define on_both_engines(test)                                                                      \
	on_sqlite(test),                                                                           \
	{ #test " (segments)", test, contract_setup_memory, contract_teardown, NULL }

#define on_each_engine(test)                                                                       \
	{ #test " (sqlite)", test, contract_setup_sqlite, contract_teardown, NULL },               \
	{ #test " (memory)", test, contract_setup_memory, contract_teardown, NULL },               \
	{ #test " (segments)", test, contract_setup_segments, contract_teardown, NULL }
/* clang-format on */
