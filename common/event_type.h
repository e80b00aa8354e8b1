/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Event types. The numbers are part of the store: never reuse a number. A batch describes its types
 * by {name, unit, kind}, so that a server stores and shows types that it does not know.
 *
 * What the values of a type are:
 *
 *   time    nanoseconds, or counts of the series' period
 *   sum     amounts that add up (bytes, events)
 *   state   the last value holds until the next one; zero ends it
 */
enum event_value_kind {
	EVENT_VALUE_TIME = 1,
	EVENT_VALUE_SUM = 2,
	EVENT_VALUE_STATE = 3,
	EVENT_VALUE_KIND_END,
};

/*          id         number name        unit     kind   what one sample's value measures */
/* clang-format off */
#define EVENT_TYPES(X)                                                                               \
	X(ON_CPU,    1, "on-cpu",    "ns",    TIME,  "time on CPU, one period per sample")           \
	X(OFF_CPU,   2, "off-cpu",   "ns",    TIME,  "time blocked, in pieces of at most 1 s")       \
	X(ON_GPU,    3, "on-gpu",    "ns",    TIME,  "time a GPU ran a kernel launched by the stack") \
	X(MEM_ALLOC, 4, "mem-alloc", "bytes", SUM,   "heap bytes allocated, unbiased by sampling")   \
	X(MEM_INUSE, 5, "mem-inuse", "bytes", STATE, "heap bytes allocated and not freed yet")       \
	X(HBM_ALLOC, 6, "hbm-alloc", "bytes", SUM,   "GPU memory allocated")                         \
	X(HBM_INUSE, 7, "hbm-inuse", "bytes", STATE, "GPU memory allocated and not freed yet")       \
	X(RDMA,      8, "rdma",      "bytes", SUM,   "bytes moved by RDMA verbs")                    \
	X(RUN_QUEUE, 9, "run-queue", "ns",    TIME,  "part of off-cpu: woken, but not on a CPU yet")
/* clang-format on */

enum event_type {
	EVENT_NONE = 0,
#define X(id, number, ...) EVENT_##id = number,
	EVENT_TYPES(X)
#undef X
		EVENT_TYPE_END,
};

/* First number that a store gives to a type that this program does not know. */
#define EVENT_FIRST_STORED 256

_Static_assert(EVENT_TYPE_END <= EVENT_FIRST_STORED, "numbers of stored types are higher");

/* An event type of the table above or of a store. */
struct event_type_info {
	enum event_type type; /* from EVENT_FIRST_STORED on: of a store */
	const char *name;
	const char *unit; /* "ns", "bytes", "events", ... */
	enum event_value_kind kind;
};

/* NULL: the table does not have the number. */
const struct event_type_info *event_type_info(unsigned int type);

/* "on-cpu"; NULL: unknown number. */
const char *event_type_name(unsigned int type);

/* "ns" or "bytes"; NULL: unknown number. */
const char *event_type_unit(unsigned int type);

/* 1000 for the unit "ns", because answers give times in microseconds; else 1. */
unsigned int event_unit_divisor(const char *unit);

/* Divisor for values in answers: event_unit_divisor() of the type's unit. */
unsigned int event_type_answer_divisor(unsigned int type);

/* EVENT_NONE: unknown name. */
enum event_type event_type_from_name(const char *name);
