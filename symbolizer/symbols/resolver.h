/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * (executable identity, ELF address) -> names. Tables are made from the debuginfo store when they
 * are first wanted, and anew when it has something better, so that names of the past change too
 * (symbol_cache.h). Thread-safe.
 */

#include "common/arena.h"
#include "symbolizer/symbols/cache/symbol_cache.h"

struct resolver;

int resolver_new(const struct symbol_cache_options *options, struct resolver **ret_resolver);
struct resolver *resolver_free(struct resolver *resolver);

/* RESOLVE_STATUSES(X): X(id, number, name); every other status than the first is a reason. */
/* clang-format off */
#define RESOLVE_STATUSES(X)                                                                        \
	X(RESOLVED, 0, "resolved")                                                                 \
	X(RESOLVE_NO_DEBUGINFO, 1, "no debuginfo") /* nothing was uploaded for this identity */    \
	X(RESOLVE_STRIPPED, 2, "stripped")         /* what was has exported symbols at best */     \
	X(RESOLVE_OUTSIDE, 3, "address outside")   /* no function of the table is there */         \
	X(RESOLVE_PENDING, 4, "table pending")     /* the table is being made: ask again */        \
	X(RESOLVE_FAILED, 5, "table failed")       /* none can be made of the file; see why */
/* clang-format on */

enum resolve_status {
#define X(id, number, name) id = (number),
	RESOLVE_STATUSES(X)
#undef X
};

/* NULL for a number that is none. */
const char *resolve_status_name(enum resolve_status status);

#define RESOLVE_NO_PLACE UINT32_MAX
#define RESOLVE_NO_START UINT64_MAX

/*
 * A place in the source. Places are few compared with addresses, and dense: whoever counts or
 * labels them can have an array beside them.
 */
struct symbol_place {
	const char *function;     /* for people: demangled; NULL: only the line is known */
	const char *linkage_name; /* NULL with function */
	const char *file;         /* NULL when not known */
	uint32_t line;            /* 0 when not known */
	uint32_t caller; /* the place, lower than this one, of the call that was inlined; or
			    RESOLVE_NO_PLACE: the function that has the code */
};

struct symbol {
	enum resolve_status status;
	uint32_t place; /* the innermost; or RESOLVE_NO_PLACE. Also without status RESOLVED: a line
			   may be known where no function is */
	uint64_t start; /* without status RESOLVED: ELF address of the beginning of the function;
			   RESOLVE_NO_START when that is not known either */
};

struct resolve_request {
	const struct executable_id *id;
	bool kernel_image;         /* addresses are relative to the symbol _text */
	const uint64_t *addresses; /* [count]; rising ones are fastest */
	size_t count;
	uint64_t patience_ns; /* for a table that is being made */
};

/*
 * All in the arena.
 *
 *   symbols[count]    as the addresses
 *   places[n_places]  callers before what was inlined into them
 */
struct resolve_answer {
	struct symbol *symbols;
	struct symbol_place *places;
	size_t n_places;
	bool pending; /* another answer may come when the table is made, also for what has a name */
	const char *why; /* of "table failed", and what of the files could not be used; or "" */
};

/* 0 or negative errno (only out of memory). */
int resolver_resolve(struct resolver *resolver, const struct resolve_request *request,
		     struct arena *arena, struct resolve_answer *ret_answer);

/* What is known of the table of @id. Has it made if that was not tried. */
int resolver_status(struct resolver *resolver, const struct executable_id *id,
		    struct table_status *ret_status);

/* Somebody has removed the debuginfo of @id, and wants its names gone, too. */
int resolver_forget(struct resolver *resolver, const struct executable_id *id);

struct symbol_cache_counts resolver_counts(struct resolver *resolver);

DEFINE_SCOPED(struct resolver *, resolver_free);
