/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The agent's connection to the server. One thread sends batches in order (from memory, or from the
 * spool on disk if the server was away) and returns the server's answers. A second thread uploads
 * debuginfo at a limited rate.
 *
 * A batch stays in the spool until the server has acknowledged it. It is tried again until it is
 * acknowledged, permanently refused (400, 413, 422), or dropped because the spool is full. A server
 * that is too old to read it does not refuse it permanently: the batch waits for the upgrade.
 *
 * The clocks of this host are sent with each batch, because the batch may have waited in the spool:
 * the server refuses batches with 503 while its clock and this host's differ by more than a day.
 *
 * The main thread never blocks on the sender: it submits batches by sender_submit() and gets
 * answers by sender_poll() when sender_event_fd() is readable.
 */

#include "common/bytes.h"
#include "common/executable_id.h"

struct sender;

struct sender_options {
	const char *server;       /* "http://host:port" or https */
	const char *token;        /* NULL: none */
	const char *ca_file;      /* NULL: the system's CA certificates */
	const char *boot_id;      /* of this host, sent with the clocks; NULL: unknown */
	const char *spool_folder; /* NULL: memory only */
	uint64_t spool_max_bytes;
	/* undelivered batches beyond this size are moved from memory to the spool */
	uint64_t memory_max_bytes;
	uint64_t upload_bytes_per_s; /* 0: no uploads */
	uint64_t retry_max_ns;       /* longest pause between retries */
	bool insecure_tls;
	/* false: the threads, which parse network input, give up all capabilities */
	bool keep_capabilities;
};

/* The longest interval of the key batch_interval: an agent obeys the server up to it. */
#define SENDER_MAX_INTERVAL_MS 60000

enum sender_event_type {
	SENDER_ACKNOWLEDGED = 1, /* epoch, sequence */
	/* epoch, sequence: the spool was full, or the server refused the batch permanently */
	SENDER_DROPPED = 2,
	/* epoch, sequence + numbers: the batch waits for sender_supplement() with definitions */
	SENDER_UNKNOWN = 3,
	SENDER_WANTED = 4, /* id, what: the server requests this executable */
	/* batch_interval_ms requested by the server, at most SENDER_MAX_INTERVAL_MS; 0: as
	 * configured */
	SENDER_INTERVAL = 5,
};

struct sender_event {
	enum sender_event_type type;
	uint64_t epoch;
	uint64_t sequence;
	/* owned by the event */
	uint32_t *unknown_stacks, *unknown_series, *unknown_processes, *unknown_executables;
	uint32_t *unknown_code_objects;
	size_t n_unknown_stacks, n_unknown_series, n_unknown_processes, n_unknown_executables;
	size_t n_unknown_code_objects;
	struct executable_id wanted_id;
	uint32_t wanted_what;     /* proto/batch.proto, Wanted.what */
	bool wanted_trusted_only; /* only from a file that only root can write */
	uint32_t batch_interval_ms;
};

void sender_event_release(struct sender_event *event);

/* Starts the threads. Batches that an earlier run left in the spool are sent first. */
int sender_new(const struct sender_options *options, struct sender **ret_sender);

/*
 * sender_stop() tries for up to @linger_ns to deliver queued batches, spools the others, and ends
 * the threads. sender_free() does the same with 0 ns.
 */
struct sender *sender_free(struct sender *sender);
void sender_stop(struct sender *sender, uint64_t linger_ns);

/* Takes the bytes out of @batch (leaves it empty). 0 or -ENOMEM. */
int sender_submit(struct sender *sender, uint64_t epoch, uint64_t sequence, struct bytes *batch);

/*
 * Submits an encoded batch with definitions only. It is sent before the batch that waits for it,
 * which waits for at most 10 s. It has a separate sequence, under which it is acknowledged or
 * dropped. If it is too late, it is dropped.
 */
int sender_supplement(struct sender *sender, uint64_t epoch, uint64_t sequence,
		      struct bytes *batch);

/* 1: *ret_event, which the caller releases; 0: there is no event. */
int sender_poll(struct sender *sender, struct sender_event *ret_event);
int sender_event_fd(const struct sender *sender);

/* An executable to upload: exactly one of @fd and @content is given. */
struct sender_upload {
	struct executable_id id;
	const char *name;      /* for messages */
	uint32_t what;         /* proto/batch.proto, Wanted.what */
	bool is_trusted;       /* only root can write the file */
	int fd;                /* a file of which ranges are sent; -1: none */
	int pieces_fd;         /* with fd: a pieced file (common/pieced_file.h) with the ranges */
	struct bytes *content; /* a whole file in memory; NULL: none */
};

/*
 * Queues an upload. Takes its descriptors and content, also on failure. -EBUSY: too many uploads
 * wait; -EPERM: upload_bytes_per_s is 0.
 */
int sender_upload_take(struct sender *sender, const struct sender_upload *upload);

/* Whether an upload would be accepted now. To be checked before preparing one. */
bool sender_has_upload_room(struct sender *sender);

struct sender_stats {
	uint64_t batches_sent, bytes_sent, batches_spooled, spool_bytes, batches_dropped,
		send_errors;
	uint64_t uploads_done, uploads_failed, upload_bytes;
	bool server_reachable;
};

void sender_stats(struct sender *sender, struct sender_stats *ret_stats);
