/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Events from the network threads to the main thread: a list under a lock, and an eventfd that is
 * readable while the list is not empty.
 */

#include <pthread.h>

#include "agent/upload/sender.h"

/*
 * Maximum number of waiting requests of the server for executables. Further ones are dropped,
 * because the server repeats them. Acknowledgements are never dropped; there is one per batch.
 */
#define MAX_WAITING_REQUESTS 1024

struct event_node;

struct event_queue {
	pthread_mutex_t lock;
	struct event_node *first;
	struct event_node **end;
	size_t n_requests;
	int fd;
};

int event_queue_init(struct event_queue *queue);
void event_queue_release(struct event_queue *queue);

/* Takes what @event owns, also on failure. 0 or -ENOMEM. */
int event_queue_push_take(struct event_queue *queue, struct sender_event *event);

/* 1: *ret_event; 0: the queue is empty. */
int event_queue_pop(struct event_queue *queue, struct sender_event *ret_event);
