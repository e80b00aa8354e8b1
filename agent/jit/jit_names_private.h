/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Shared by jit_names.c (processes and windows), jit_look_up.c (one look-up of a process) and
 * jit_name_cache.c (names of the code of one file).
 */

#include "agent/helper/avoid_list.h"
#include "agent/helper/jit_protocol.h"
#include "agent/jit/jit_names.h"
#include "agent/jit/jit_ranges.h"
#include "common/hash_table.h"

/* A token bucket: the number of bytes that may be read now. It grows with time, up to a maximum. */
struct jit_allowance {
	int64_t bytes;        /* below 0 if the last piece was larger than the rest */
	uint64_t refilled_ns; /* monotonic; 0: not used yet, so it has the maximum */
};

/*
 * The name of a function that an entry of the file describes; with source lines in the file, the
 * name of one address in the function.
 */
struct jit_known {
	/* number of a code object; 0: the entry has no name; JIT_ASKED: a helper reads the name */
	uint32_t object;
	uint32_t line;
};

#define JIT_ASKED UINT32_MAX

struct jit_file {
	int fd; /* -1: none */
	uint64_t device, inode;
	struct jit_position position;
	struct jit_ranges ranges;
	struct hash_table *known; /* uint64_t of jit_key() -> struct jit_known */
};

enum jit_step {
	JIT_IDLE,
	JIT_OPENING,
	JIT_READING,
	JIT_NAMING,
};

struct jit_process {
	struct jit_names *names;
	struct jit_source source;  /* the path is owned */
	uint32_t number;           /* of the process in the process table */
	uint64_t last_window;      /* the last window that had a wanted address */
	struct hash_table *wanted; /* uint64_t pc -> uint64_t time of the first sample */
	struct jit_file files[JIT_FORMATS];
	struct jit_allowance allowance;
	enum jit_step step;
	size_t format;   /* enum jit_format of the file that this look-up reads or names now */
	bool is_limited; /* this look-up did not read a file to its end, to bound the cost */
	/* an address without a name was wanted since the last look-up began */
	bool lacks_names;
	uint64_t asked[JIT_MAX_NAMES]; /* keys of names, in the order of the request */
	size_t n_asked;
};

struct jit_names {
	struct jit_names_options options;
	struct hash_table *processes;   /* uint32_t number -> struct jit_process * */
	struct avoid_list *avoided;     /* files and processes that helpers could not read */
	struct jit_allowance allowance; /* of all processes together */
	uint64_t window;                /* number of the open window */
	size_t n_busy;                  /* processes with a look-up in progress */
	/* the table of code objects was full: names are requested again in the next window */
	bool lacks_objects;
	struct jit_names_stats stats;
	struct jit_codes codes;
	struct helper_message message;
};

/* Begins a look-up, unless one is in progress. */
void jit_look_up(struct jit_process *process);

/* Number of ranges of all files of all processes. */
size_t jit_names_n_ranges(const struct jit_names *names);

/* NULL: the process with this number was forgotten. */
struct jit_process *jit_names_process(const struct jit_names *names, uint32_t number);

/* jit_name_cache.c */

int jit_file_init(struct jit_file *file);
void jit_file_release(struct jit_file *file);

/* Forgets the ranges and names, and the position up to which the file was read. */
void jit_file_clear(struct jit_file *file);

/*
 * Finds the code that was at @pc at @time_ns. *ret_key identifies its name and line in @file.
 * False: the file describes no code there.
 */
bool jit_file_find(const struct jit_file *file, uint64_t pc, uint64_t time_ns, uint64_t *ret_key);

/* The stored name of @key; NULL: not requested yet, or its code object was removed. */
struct jit_known *jit_file_known(const struct jit_file *file, const struct code_objects *objects,
				 uint64_t key);

/* Lists in process->asked up to JIT_MAX_NAMES keys of wanted addresses whose names are unknown. */
void jit_file_ask(struct jit_process *process, struct jit_file *file);

/* Stores the names of a helper's answer. Returns their number, or negative errno. */
int jit_file_take_names(struct jit_process *process, struct jit_file *file,
			const struct helper_message *answer);

/* Removes the marks JIT_ASKED of names that the answer lacks, so that they are requested again. */
void jit_file_forget_asked(struct jit_process *process, struct jit_file *file);

static inline struct jit_wanted jit_wanted_of(uint64_t key)
{
	return (struct jit_wanted){ .offset = (uint32_t)(key >> 32), .code_offset = (uint32_t)key };
}
