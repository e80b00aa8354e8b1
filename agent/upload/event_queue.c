/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The eventfd is written when the list stops being empty, and read when it becomes empty, both
 * under the lock. So it is readable exactly while the list has events.
 */
#include "agent/upload/event_queue.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct event_node {
	struct event_node *next;
	struct sender_event event;
};

void sender_event_release(struct sender_event *event)
{
	free(event->unknown_stacks);
	free(event->unknown_series);
	free(event->unknown_processes);
	free(event->unknown_executables);
	free(event->unknown_code_objects);
	*event = (struct sender_event){};
}

int event_queue_init(struct event_queue *queue)
{
	*queue = (struct event_queue){ .lock = PTHREAD_MUTEX_INITIALIZER };
	queue->end = &queue->first;
	queue->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return queue->fd < 0 ? -errno : 0;
}

void event_queue_release(struct event_queue *queue)
{
	struct sender_event event;

	while (event_queue_pop(queue, &event))
		sender_event_release(&event);
	if (queue->fd >= 0)
		(void)close(queue->fd);
	(void)pthread_mutex_destroy(&queue->lock);
}

static bool is_request(const struct sender_event *event)
{
	return event->type == SENDER_WANTED;
}

int event_queue_push_take(struct event_queue *queue, struct sender_event *event)
{
	struct event_node *node = malloc(sizeof(*node));
	bool was_empty;

	if (!node) {
		sender_event_release(event);
		return -ENOMEM;
	}
	node->next = NULL;
	node->event = *event;
	*event = (struct sender_event){};

	(void)pthread_mutex_lock(&queue->lock);
	if (is_request(&node->event) && queue->n_requests >= MAX_WAITING_REQUESTS) {
		(void)pthread_mutex_unlock(&queue->lock);
		sender_event_release(&node->event);
		free(node);
		return 0;
	}
	was_empty = !queue->first;
	*queue->end = node;
	queue->end = &node->next;
	queue->n_requests += is_request(&node->event);
	if (was_empty)
		(void)eventfd_write(queue->fd, 1);
	(void)pthread_mutex_unlock(&queue->lock);
	return 0;
}

int event_queue_pop(struct event_queue *queue, struct sender_event *ret_event)
{
	struct event_node *node;
	eventfd_t count;

	(void)pthread_mutex_lock(&queue->lock);
	node = queue->first;
	if (node) {
		queue->first = node->next;
		queue->n_requests -= is_request(&node->event);
		if (!queue->first) {
			queue->end = &queue->first;
			(void)eventfd_read(queue->fd, &count);
		}
	}
	(void)pthread_mutex_unlock(&queue->lock);
	if (!node)
		return 0;
	*ret_event = node->event;
	free(node);
	return 1;
}
