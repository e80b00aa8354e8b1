/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Event types. The numbers are part of the wire format and of the store: never reuse a number.
 */

/*          id         number name        unit    what one sample's value measures */
/* clang-format off */
#define EVENT_TYPES(X)                                                                            \
	X(ON_CPU,    1, "on-cpu",    "ns",    "time on CPU, one period per sample")               \
	X(OFF_CPU,   2, "off-cpu",   "ns",    "time blocked, in pieces of at most 1 s")           \
	X(ON_GPU,    3, "on-gpu",    "ns",    "time a GPU ran a kernel launched by the stack")    \
	X(MEM_ALLOC, 4, "mem-alloc", "bytes", "heap bytes allocated, unbiased by sampling")       \
	X(MEM_INUSE, 5, "mem-inuse", "bytes", "heap bytes allocated and not freed yet")           \
	X(HBM_ALLOC, 6, "hbm-alloc", "bytes", "GPU memory allocated")                             \
	X(HBM_INUSE, 7, "hbm-inuse", "bytes", "GPU memory allocated and not freed yet")           \
	X(RDMA,      8, "rdma",      "bytes", "bytes moved by RDMA verbs")                        \
	X(RUN_QUEUE, 9, "run-queue", "ns",    "part of off-cpu: woken, but not on a CPU yet")
/* clang-format on */

enum event_type {
	EVENT_NONE = 0,
#define X(id, number, ...) EVENT_##id = number,
	EVENT_TYPES(X)
#undef X
		EVENT_TYPE_END,
};

/* "on-cpu"; NULL: unknown number. */
const char *event_type_name(unsigned int type);

/* "ns" or "bytes"; NULL: unknown number. */
const char *event_type_unit(unsigned int type);

/* Divisor for values in answers, which give times in microseconds: 1000 for ns, else 1. */
unsigned int event_type_answer_divisor(unsigned int type);

/* EVENT_NONE: unknown name. */
enum event_type event_type_from_name(const char *name);
