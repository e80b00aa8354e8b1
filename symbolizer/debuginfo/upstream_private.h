/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The parts of the upstream client: one transfer (upstream_transfer.c), what is known to be missing
 * (upstream_miss.c), and the queue (debuginfo_upstream.c).
 */

#include <stdatomic.h>

#include "symbolizer/debuginfo/debuginfo_upstream.h"

/* One name of ours in Via and X-Forwarded-For, made anew at every start. */
#define UPSTREAM_NAME_SIZE sizeof("hearth-0123456789abcdef")

/* What a request of ours carries in either header; one with more came from too far away. */
#define UPSTREAM_HOPS_SIZE 1024

/* Servers a request may have come through, as elfutils' debuginfod has it. */
#define UPSTREAM_MAX_HOPS 8

enum transfer_outcome {
	TRANSFER_STORED,
	TRANSFER_MISSING,
	TRANSFER_REFUSED, /* too large, or not what was asked for */
	TRANSFER_FAILED,  /* the server cannot be asked, or our disk is full */
};

struct upstream_server {
	char *url;           /* without a slash at the end */
	char *authorization; /* a header line, or NULL */
};

/* One thread's. */
struct transfer;

struct transfer_settings {
	struct debuginfo_store *store;
	uint64_t timeout_ns;
	uint64_t max_bytes;
	const atomic_bool *stopping;
};

struct transfer_job {
	struct executable_id id;
	enum debuginfo_kind kind;
	const char *path;
	const char *via; /* values of the headers, with our own name */
	const char *forwarded_for;
};

int transfer_new(const struct transfer_settings *settings, struct transfer **ret_transfer);
struct transfer *transfer_free(struct transfer *transfer);

/* Fetches from @server and stores. *ret_bytes: so many came. */
enum transfer_outcome transfer_run(struct transfer *transfer, const struct upstream_server *server,
				   const struct transfer_job *job, uint64_t *ret_bytes);

/* 1 the key is known to be missing for now, 0 it may be asked for. */
int upstream_is_missing(struct debuginfo_store *store, const struct debuginfo_key *key);

/* How often in a row, and when it may be asked for again. 1 known to be missing, 0 was not found to
 * be. */
int upstream_last_miss(struct debuginfo_store *store, const struct debuginfo_key *key,
		       uint32_t *ret_failures, uint64_t *ret_again_wall_ns);

/* @failed: nobody could be asked, which says little about tomorrow. */
void upstream_note_missing(struct debuginfo_store *store, const struct debuginfo_key *key,
			   bool failed);

DEFINE_SCOPED(struct transfer *, transfer_free);
