/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Events on their way from the network threads to the main thread: a list under a lock, and an
 * eventfd that is readable while the list is not empty.
 */

#include <pthread.h>

#include "agent/upload/sender.h"

/*
 * Orders of the server that the main thread has not taken up. More are dropped: the server repeats
 * what it still wants. Acknowledgements are never dropped; there is one per batch.
 */
#define MAX_WAITING_ORDERS 1024

struct event_node;

struct event_queue {
	pthread_mutex_t lock;
	struct event_node *first;
	struct event_node **end;
	size_t n_orders;
	int fd;
};

int event_queue_init(struct event_queue *queue);
void event_queue_release(struct event_queue *queue);

/* Takes what @event owns, also on failure. 0 or -ENOMEM. */
int event_queue_push_take(struct event_queue *queue, struct sender_event *event);

/* 1 *ret_event filled, 0 none. */
int event_queue_pop(struct event_queue *queue, struct sender_event *ret_event);
