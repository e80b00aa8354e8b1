/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A profile of another profiler. Decoders of other formats (pprof_profile.h, folded_profile.h,
 * otlp_profile.h) fill it, and foreign_profile_encode() makes a batch of it as agents send them, so
 * that the checks of batches and the storage engines see nothing new.
 *
 * Equal processes, series, code objects, executables and stacks get equal numbers, from 1 up. Each
 * profile is an epoch of its own, because its numbers mean nothing in another one. The epoch is
 * made of the profile's content: a retry has the same epoch, and is a duplicate.
 *
 * Functions return 0, or a negative errno with a reason in @reason: -EBADMSG the profile is
 * malformed, -EFBIG it exceeds a limit of import_limits.h, -ENOMEM. Used by one thread.
 */

#include "common/arena.h"
#include "common/bytes.h"
#include "common/hash.h"
#include "common/hash_table.h"
#include "common/string_table.h"
#include "common/vec.h"
#include "symbolizer/import/import_limits.h"
#include "symbolizer/store/batch.h"

#define FOREIGN_REASON_SIZE 256

/* A name and a value, as IDs of the profile's texts. */
struct foreign_label {
	string_id name, value;
};

VEC_DEFINE(foreign_label_vec, struct foreign_label);

struct foreign_process {
	string_id service;
	uint32_t pid;
	uint32_t first_label, n_labels; /* in foreign_profile.labels */
};

struct foreign_event {
	string_id name, unit;
	uint32_t kind;  /* enum event_value_kind */
	uint32_t scale; /* a value of the profile is so many units */
};

struct foreign_series {
	uint32_t process; /* number */
	uint32_t tid;
	string_id thread_name;
	uint32_t event; /* number */
	uint64_t period_ns;
	uint32_t first_label, n_labels;
};

struct foreign_code {
	string_id language, function, file;
};

struct foreign_executable {
	struct executable_id id;
	string_id name;
};

/* As struct batch_frame, but without padding, because stacks are hashed. */
struct foreign_frame {
	uint32_t kind, object;
	uint64_t address;
};

static_assert(sizeof(struct foreign_frame) == 16, "no padding");

struct foreign_stack {
	uint32_t first_frame, n_frames; /* in foreign_profile.frames, leaf first */
	uint32_t cut;                   /* enum stack_cut */
};

struct foreign_profile {
	struct arena *arena; /* of decoded messages, and of the encoded batch */
	char *reason;        /* [FOREIGN_REASON_SIZE] */
	struct string_table *texts;
	struct hash_table *numbers; /* struct hash128 of a definition -> uint32_t */
	struct foreign_label_vec labels;
	VEC_DEFINE(, struct foreign_process) processes;
	VEC_DEFINE(, struct foreign_event) events;
	VEC_DEFINE(, struct foreign_series) series;
	VEC_DEFINE(, struct foreign_code) codes;
	VEC_DEFINE(, struct foreign_executable) executables;
	VEC_DEFINE(, struct foreign_frame) frames;
	VEC_DEFINE(, struct foreign_stack) stacks;
	VEC_DEFINE(, struct batch_row) rows;
	uint64_t from_ns, until_ns; /* wall clock, [from, until) */
	uint32_t n_parts;           /* of each value */
	const char *host;           /* "": unknown */
	const char *program;        /* that sent the profile: "pprof", "nodespy" */
	struct hash128 content;     /* of all that determines the profile */
	/* For the answer: values that were added; labels that were left out. */
	uint64_t n_values, n_labels_left_out;
};

/* @reason has FOREIGN_REASON_SIZE bytes. Borrows @arena and @reason. Returns 0 or -ENOMEM. */
int foreign_profile_new(struct arena *arena, char *reason, struct foreign_profile **ret_profile);
struct foreign_profile *foreign_profile_free(struct foreign_profile *profile);

/* Format the reason and return -EBADMSG or -EFBIG. */
int foreign_bad(struct foreign_profile *profile, const char *format, ...) printf_like(2, 3);
int foreign_too_much(struct foreign_profile *profile, const char *format, ...) printf_like(2, 3);

/* Sets the reason and returns -EFBIG: the arena, which is full, has a fixed size. */
int foreign_no_room(struct foreign_profile *profile);

/*
 * Sets the time that the samples cover, before the first value. @n_values: how many there are, by
 * which the number of parts of a value is chosen.
 */
int foreign_set_range(struct foreign_profile *profile, uint64_t from_ns, uint64_t until_ns,
		      size_t n_values);

/* Interns a text. Invalid UTF-8 is replaced, and a long text is cut to what a batch may hold. */
int foreign_text(struct foreign_profile *profile, const char *text, size_t length,
		 string_id *ret_id);

/*
 * Adds labels to a process or a series that is made next: sorts @labels by name, drops all but the
 * first of equal names, those without a name, and those beyond @max.
 */
int foreign_sort_labels(struct foreign_profile *profile, struct foreign_label_vec *labels,
			size_t max);

/* @labels are those of foreign_sort_labels(). */
int foreign_process(struct foreign_profile *profile, string_id service, uint32_t pid,
		    const struct foreign_label_vec *labels, uint32_t *ret_number);

/* The event type of values with this type and unit. */
int foreign_event(struct foreign_profile *profile, const char *type, const char *unit,
		  uint32_t *ret_number);

/* @series without its labels. */
int foreign_series(struct foreign_profile *profile, const struct foreign_series *series,
		   const struct foreign_label_vec *labels, uint32_t *ret_number);

/* Make a frame of code with a name, or of an address in an executable. */
int foreign_named_frame(struct foreign_profile *profile, const struct foreign_code *code,
			uint8_t kind, uint32_t line, struct foreign_frame *ret_frame);
int foreign_executable(struct foreign_profile *profile, const struct executable_id *id,
		       string_id name, uint32_t *ret_number);

/* @frames are leaf first. Those beyond STACK_MAX_FRAMES are cut off at the root. */
int foreign_stack(struct foreign_profile *profile, const struct foreign_frame *frames,
		  size_t n_frames, uint32_t *ret_number);

/* Adds a value over the whole time of the profile. A state is set at its end. */
int foreign_add(struct foreign_profile *profile, uint32_t series, uint32_t stack, uint64_t value);

/* Adds a value at one time, which lies in the time of the profile. */
int foreign_add_at(struct foreign_profile *profile, uint32_t series, uint32_t stack, uint64_t value,
		   uint64_t wall_ns);

/*
 * Appends the batch to @out, as POST /v1/ingest receives it. The memory of the arena is used.
 * @agent: identifies the sender, in all its profiles.
 */
int foreign_profile_encode(struct foreign_profile *profile, const struct hash128 *agent,
			   struct bytes *out);

DEFINE_SCOPED(struct foreign_profile *, foreign_profile_free);
