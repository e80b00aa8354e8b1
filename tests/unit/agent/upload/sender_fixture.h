/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A sender with a scripted server. A batch is the text "EPOCH SEQUENCE", which the server records
 * when it accepts the batch.
 */

#include <pthread.h>

#include "agent/upload/sender.h"
#include "agent/upload/spool.h"
#include "tests/support/http_peer.h"
#include "tests/support/unit.h"

#define EPOCH            7
#define MAX_ACCEPTED     256
#define FIRST_SUPPLEMENT 100
#define MEMORY_BYTES     MIB
#define EVENT_LIMIT_MS   20000

struct server {
	struct http_peer *peer;
	uint16_t port;
	int port_keeper; /* keeps the port while the server is down; else -1 */
	pthread_mutex_t lock;
	struct spool_key accepted[MAX_ACCEPTED];
	size_t n_accepted;
	unsigned int n_requests;
	/* the script */
	unsigned int bad_answers; /* this many requests are answered with bad_status */
	unsigned int bad_status;
	const char *bad_text; /* body of these answers; NULL: none */
	uint64_t refused_sequence;
	uint64_t unknown_sequence; /* until supplement_sequence is accepted; UINT64_MAX: all */
	uint64_t supplement_sequence;
	bool fails_after_supplement; /* the request after one with FIRST_SUPPLEMENT or more */
	bool answers_html;
	bool requests_executable;
	uint32_t interval_ms; /* requested together with the executable */
	char authorization[64], content_type[64], clock[192];
};

void server_up(struct server *server);
void server_down(struct server *server);

/* The server runs already: later changes of the script need the lock. */
struct server *new_server(void);
void free_server(struct server *server);
struct sender *new_sender(const struct server *server, const char *spool_folder,
			  uint64_t memory_bytes);
void fill_batch(struct bytes *batch, uint64_t epoch, uint64_t sequence);
void submit(struct sender *sender, uint64_t sequence);

/* Waits for the next event. */
struct sender_event next_event(struct sender *sender);
void expect_event(struct sender *sender, enum sender_event_type type, uint64_t sequence);
void expect_accepted(struct server *server, size_t count, const uint64_t *sequences);

/* Waits until the sender has counted at least these failures and batches. */
void wait_for_stats(struct sender *sender, const struct sender_stats *least);

/* Waits until the sender has counted @errors failures: it has noticed that the server is away. */
void wait_for_errors(struct sender *sender, uint64_t errors);
size_t count_spooled(const char *folder);
