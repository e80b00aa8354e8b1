/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Resolves (executable identity, ELF address) to functions and source lines. A symbol table is
 * compiled from the debuginfo store when it is first used, and again when the store has a better
 * file (symbol_cache.h). So an upload also names samples that were stored before. Thread-safe.
 */

#include "common/arena.h"
#include "symbolizer/symbols/cache/code_decoder.h"
#include "symbolizer/symbols/cache/symbol_cache.h"

struct resolver;

int resolver_new(const struct symbol_cache_options *options, struct resolver **ret_resolver);
struct resolver *resolver_free(struct resolver *resolver);

/*
 * RESOLVE_STATUSES(X): X(id, number, name). All but the first say why an address has no function.
 */
/* clang-format off */
#define RESOLVE_STATUSES(X)                                                                        \
	X(RESOLVED, 0, "resolved")                                                                 \
	X(RESOLVE_NO_DEBUGINFO, 1, "no debuginfo") /* no file was uploaded for this identity */    \
	X(RESOLVE_STRIPPED, 2, "stripped")         /* the file has only exported symbols, if any */\
	X(RESOLVE_OUTSIDE, 3, "address outside")   /* the table has no function there */           \
	X(RESOLVE_PENDING, 4, "table pending")     /* the table is being compiled: try again */    \
	X(RESOLVE_FAILED, 5, "table failed")       /* the file cannot be compiled; see why */
/* clang-format on */

enum resolve_status {
#define X(id, number, name) id = (number),
	RESOLVE_STATUSES(X)
#undef X
};

/* Returns the name of @status, or NULL for an unknown number. */
const char *resolve_status_name(enum resolve_status status);

#define RESOLVE_NO_PLACE UINT32_MAX
#define RESOLVE_NO_START UINT64_MAX

/*
 * A source location of an answer. Places are numbered from 0 and are fewer than addresses, so
 * callers can count or label them in an array.
 */
struct symbol_place {
	const char *function;     /* display name; NULL: only the line is known */
	const char *linkage_name; /* NULL if function is */
	const char *file;         /* NULL: not known */
	uint32_t line;            /* 0: not known */
	uint32_t first_line;      /* of the definition of the function; 0: not known */
	/*
	 * The place of the inlined call, a lower number than this one; RESOLVE_NO_PLACE if the
	 * function is not inlined.
	 */
	uint32_t caller;
};

struct symbol {
	enum resolve_status status;
	/*
	 * The innermost place, or RESOLVE_NO_PLACE. May be set without status RESOLVED, because a
	 * line can be known without a function.
	 */
	uint32_t place;
	/*
	 * If status is not RESOLVED: ELF address at which the function starts, or RESOLVE_NO_START.
	 */
	uint64_t start;
};

struct resolve_request {
	const struct executable_id *id;
	bool kernel_image;         /* addresses are relative to the symbol _text */
	const uint64_t *addresses; /* [count]; fastest if they rise */
	size_t count;
	uint64_t patience_ns; /* time to wait for a table that is being compiled */
};

/*
 * The answer; its memory is in the arena.
 *
 *   symbols[count]    symbols[i] is of addresses[i]
 *   places[n_places]  a caller precedes the places inlined into it
 */
struct resolve_answer {
	struct symbol *symbols;
	struct symbol_place *places;
	size_t n_places;
	/* The table is being compiled. The answer may change then, also where it has names. */
	bool pending;
	const char
		*why; /* reason of RESOLVE_FAILED, or what could not be used of the files, or "" */
};

/* Returns 0 or -ENOMEM. */
int resolver_resolve(struct resolver *resolver, const struct resolve_request *request,
		     struct arena *arena, struct resolve_answer *ret_answer);

/* Selects code of a function in one executable. */
struct resolve_code_request {
	const struct executable_id *id;
	bool kernel_image;         /* addresses are relative to the symbol _text */
	const char *function;      /* display or linkage name; NULL: functions without a name */
	const uint64_t *addresses; /* [count], rising: the code around each of them */
	size_t count;
};

/*
 *   blocks[n_blocks]  rising, without overlap and without bytes
 */
struct resolve_code_answer {
	uint64_t base; /* add it to the addresses of the request to get ELF addresses */
	struct code_block *blocks;
	size_t n_blocks;
};

/*
 * Finds the contiguous code of the function around each address. There are no blocks if the table
 * is missing, is being compiled, or has no such function there. Does not wait. Returns 0 or
 * -ENOMEM.
 */
int resolver_find_code(struct resolver *resolver, const struct resolve_code_request *request,
		       struct arena *arena, struct resolve_code_answer *ret_answer);

/* code_decoder_run(). */
int resolver_decode_code(struct resolver *resolver, const struct executable_id *id,
			 struct code_job *job, struct arena *arena);

/* Reads the state of the table of @id. Starts compiling the table if that was not attempted yet. */
int resolver_status(struct resolver *resolver, const struct executable_id *id,
		    struct table_status *ret_status);

/* Removes the table of @id; called when a user has removed its debuginfo. */
int resolver_forget(struct resolver *resolver, const struct executable_id *id);

struct symbol_cache_counts resolver_counts(struct resolver *resolver);

DEFINE_SCOPED(struct resolver *, resolver_free);
