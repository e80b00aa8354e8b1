/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One download from an upstream server into the store: a GET request whose body is appended to an
 * upload. A transfer belongs to one thread, which reuses it for one request after another.
 */

#include <stdatomic.h>

#include "symbolizer/debuginfo/debuginfo_store.h"
#include "symbolizer/debuginfo/upstream/upstream_servers.h"

/* Size of our requests' Via and X-Forwarded-For headers. Longer ones are refused as a loop. */
#define UPSTREAM_HOPS_SIZE 1024

enum transfer_outcome {
	TRANSFER_STORED,
	TRANSFER_MISSING,
	TRANSFER_REFUSED, /* too large, or not the requested file */
	TRANSFER_FAILED,  /* the server cannot be asked, or our disk is full */
};

struct transfer;

struct transfer_settings {
	struct debuginfo_store *store;
	uint64_t timeout_ns; /* without a byte */
	uint64_t max_bytes;  /* of one file */
	const atomic_bool *stopping;
};

struct transfer_job {
	struct executable_id id;
	enum debuginfo_kind kind;
	const char *path;
	const char *via; /* values of the headers, including our name */
	const char *forwarded_for;
};

int transfer_new(const struct transfer_settings *settings, struct transfer **ret_transfer);
struct transfer *transfer_free(struct transfer *transfer);

/* Downloads from @server and stores the file. *ret_bytes: bytes received. */
enum transfer_outcome transfer_run(struct transfer *transfer, const struct upstream_server *server,
				   const struct transfer_job *job, uint64_t *ret_bytes);

DEFINE_SCOPED(struct transfer *, transfer_free);
