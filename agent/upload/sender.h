/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The agent's way to the network: one thread sends batches in order (from memory; from the spool on
 * disk after the server was away) and hands answers back, a second one uploads debuginfo at a
 * bounded rate.
 *
 * Nothing leaves the spool before the server has acknowledged it. A batch is tried again until it
 * is acknowledged, refused for good (400, 413, 415, 422), or the spool is full.
 *
 * The main thread never blocks on it: batches go in by sender_submit(), and what came back is
 * fetched by sender_poll() when sender_event_fd() is readable.
 */

#include "common/bytes.h"
#include "common/executable_id.h"

struct sender;

struct sender_options {
	const char *server;       /* "http://host:port" or https */
	const char *token;        /* NULL none */
	const char *ca_file;      /* NULL: the system's */
	const char *spool_folder; /* NULL: memory only */
	uint64_t spool_max_bytes;
	/* undelivered batches kept in memory before they go to the spool */
	uint64_t memory_max_bytes;
	uint64_t upload_bytes_per_s; /* 0: no uploads */
	uint64_t retry_max_ns;       /* ceiling of the back-off */
	bool insecure_tls;
	/* else the threads, which meet the network, give up all they have */
	bool keep_capabilities;
};

enum sender_event_type {
	SENDER_ACKNOWLEDGED = 1, /* epoch, sequence */
	/* epoch, sequence: the spool was full, or the server refused the batch for good */
	SENDER_DROPPED = 2,
	/* epoch, sequence + numbers: define them by sender_supplement(); the batch waits */
	SENDER_UNKNOWN = 3,
	SENDER_WANTED = 4,   /* id, what: the server asks for this executable */
	SENDER_INTERVAL = 5, /* batch_interval_ms asked for by the server; 0 as configured */
};

struct sender_event {
	enum sender_event_type type;
	uint64_t epoch;
	uint64_t sequence;
	/* owned by the event */
	uint32_t *unknown_stacks, *unknown_series, *unknown_processes, *unknown_executables;
	size_t n_unknown_stacks, n_unknown_series, n_unknown_processes, n_unknown_executables;
	struct executable_id wanted_id;
	uint32_t wanted_what;     /* proto/batch.proto, Wanted.what */
	bool wanted_trusted_only; /* not from a file that others than root can write */
	uint32_t batch_interval_ms;
};

void sender_event_release(struct sender_event *event);

/* Starts the thread; batches left in the spool by an earlier run are sent first. */
int sender_new(const struct sender_options *options, struct sender **ret_sender);

/* Stops the thread: tries for up to @linger_ns to deliver what is queued, then spools the rest. */
struct sender *sender_free(struct sender *sender);
void sender_stop(struct sender *sender, uint64_t linger_ns);

/* Takes the bytes out of @batch (leaves it empty). 0 or -ENOMEM. */
int sender_submit(struct sender *sender, uint64_t epoch, uint64_t sequence, struct bytes *batch);

/*
 * An encoded batch with definitions only, which goes out before the batch that waits for it (at
 * most 10 s). It has a sequence of its own, and is acknowledged or dropped under it; too late, it
 * is dropped.
 */
int sender_supplement(struct sender *sender, uint64_t epoch, uint64_t sequence,
		      struct bytes *batch);

/* 1: *ret_event filled, release it. 0: nothing waits. */
int sender_poll(struct sender *sender, struct sender_event *ret_event);
int sender_event_fd(const struct sender *sender);

/* An executable to upload: of @fd and @content exactly one is given. */
struct sender_upload {
	struct executable_id id;
	const char *name;      /* for messages */
	uint32_t what;         /* proto/batch.proto, Wanted.what */
	bool is_trusted;       /* only root can write the file */
	int fd;                /* else -1; a file of which parts are sent: */
	int pieces_fd;         /* with fd; a pieced file (common/pieced_file.h) that says which */
	struct bytes *content; /* else NULL; a whole file made in memory */
};

/*
 * Queues an upload. Its descriptors and content are taken, on failure too. At most a few wait:
 * -EBUSY beyond. -EPERM: upload_bytes_per_s is 0.
 */
int sender_upload_take(struct sender *sender, const struct sender_upload *upload);

/* Whether an upload would be taken now: ask before making one. */
bool sender_has_upload_room(struct sender *sender);

struct sender_stats {
	uint64_t batches_sent, bytes_sent, batches_spooled, spool_bytes, batches_dropped,
		send_errors;
	uint64_t uploads_done, uploads_failed, upload_bytes;
	bool server_reachable;
};

void sender_stats(struct sender *sender, struct sender_stats *ret_stats);
