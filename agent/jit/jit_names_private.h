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

/* Bytes that may be read: refilled with time up to a maximum. */
struct jit_allowance {
	int64_t bytes;
	uint64_t refilled_ns; /* 0: it is full */
};

/* What is known of one code, by its entry (and the place in the code if it has source lines). */
struct jit_known {
	uint32_t object; /* number of a code object; 0: it has no name; or JIT_ASKED */
	uint32_t line;
};

/* Its name was asked for. */
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
	struct jit_source source; /* the path is owned */
	uint32_t number;
	uint64_t last_window;      /* with a wanted address */
	struct hash_table *wanted; /* uint64_t pc -> uint64_t time of the first sample */
	struct jit_file files[JIT_FORMATS];
	struct jit_allowance allowance;
	enum jit_step step;
	size_t format;   /* that is being read or named */
	bool is_limited; /* this look-up left a part of a file */
	/* an address without a name was wanted since the last look-up began */
	bool lacks_names;
	uint64_t asked[JIT_MAX_NAMES]; /* keys, in the order of the request */
	size_t n_asked;
};

struct jit_names {
	struct jit_names_options options;
	struct hash_table *processes; /* uint32_t number -> struct jit_process * */
	struct avoid_list *avoided;   /* files and processes that helpers failed on */
	struct jit_allowance allowance;
	uint64_t window;
	size_t n_busy;
	/* there was no room for a code object: names are asked for again in the next window */
	bool lacks_objects;
	struct jit_names_stats stats;
	struct jit_codes codes;
	struct helper_message message;
};

/* Begins a look-up, unless one is in progress. */
void jit_look_up(struct jit_process *process);

/* Ranges of all files. */
size_t jit_names_n_ranges(const struct jit_names *names);

/* NULL: there is no process with this number any more. */
struct jit_process *jit_names_process(const struct jit_names *names, uint32_t number);

/* jit_name_cache.c */

int jit_file_init(struct jit_file *file);
void jit_file_release(struct jit_file *file);

/* Forgets all that was read. */
void jit_file_clear(struct jit_file *file);

/*
 * The code at @pc at @time_ns: *ret_key identifies its name and line. False: the file describes no
 * code there.
 */
bool jit_file_find(const struct jit_file *file, uint64_t pc, uint64_t time_ns, uint64_t *ret_key);

/* What is known of the code; NULL: nothing, or its code object was removed. */
struct jit_known *jit_file_known(const struct jit_file *file, const struct code_objects *objects,
				 uint64_t key);

/* Lists names that the wanted addresses need: up to JIT_MAX_NAMES into process->asked. */
void jit_file_ask(struct jit_process *process, struct jit_file *file);

/* Keeps the names of an answer. Returns their number, or negative errno. */
int jit_file_take_names(struct jit_process *process, struct jit_file *file,
			const struct helper_message *answer);

/* Forgets that names were asked for which got no answer. */
void jit_file_forget_asked(struct jit_process *process, struct jit_file *file);

static inline struct jit_wanted jit_wanted_of(uint64_t key)
{
	return (struct jit_wanted){ .offset = (uint32_t)(key >> 32), .code_offset = (uint32_t)key };
}
