/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Turns requests with profiles of other profilers into batches (foreign_profile.h). There is one
 * function for each format. A request is decoded as a whole before anything is stored.
 *
 * All functions return 0, or a negative errno with a reason in the result: -EBADMSG the request is
 * malformed, -EFBIG it exceeds a limit, -ENOMEM. Thread-safe.
 */

#include "common/bytes.h"
#include "common/memory_budget.h"
#include "common/vec.h"
#include "symbolizer/import/foreign_profile.h"

/* What the parameters of a request say. Texts may be NULL, times 0, if it does not say it. */
struct import_request {
	/* The service, and labels: "shop{region=eu,process.pid=12}". */
	const char *name;
	uint64_t from_ns, until_ns; /* wall clock */
	uint64_t now_ns;
	const char *program; /* that sent it */
	/* Of folded stacks: what a value is ("samples", "objects", ...), and how many it counts a
	 * second of CPU time. */
	const char *units;
	uint64_t sample_rate_hz;
	struct memory_budget *memory; /* NULL: no limit for all requests together */
};

VEC_DEFINE(import_batches, struct bytes);

/* Zeroed before. The caller calls import_result_release(), also after an error. */
struct import_result {
	struct import_batches batches; /* bodies for ingest_batch() */
	/* Wall clock: the begin of the first profile, and the end of the last one. */
	uint64_t from_ns, until_ns;
	uint64_t n_values, n_labels_left_out;
	/* Of OTLP: profiles that are wrong while others of the request are not. */
	uint64_t n_rejected;
	char reason
		[FOREIGN_REASON_SIZE]; /* of an error, or of the first profile that was rejected */
};

void import_result_release(struct import_result *result);

/* A profile of pprof, which may be compressed by gzip. */
int import_pprof(const struct import_request *request, struct bytes_view body,
		 struct import_result *result);

/* Lines "outermost;...;leaf value", or ("lines") one line for each sample. */
int import_folded(const struct import_request *request, struct bytes_view body, bool has_values,
		  struct import_result *result);

/* The message push.v1.PushRequest (proto/push.proto). */
int import_push(const struct import_request *request, struct bytes_view body,
		struct import_result *result);

/*
 * The message ExportProfilesServiceRequest of OTLP (otlp_form.h has the versions), which may be
 * compressed by gzip. Returns 0 also if some of its profiles, but not all, are rejected.
 */
int import_otlp(const struct import_request *request, struct bytes_view body,
		struct import_result *result);
