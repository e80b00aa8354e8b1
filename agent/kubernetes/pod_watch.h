/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Keeps the list of this host's Pods up to date, in a thread: neither a slow disk nor a kubelet
 * that does not answer delays samples.
 *
 * The thread sleeps until the caller asks for a Pod that it does not know. Then it reads the folder
 * of logs, and requests the list from the URL, which has labels too. From then on it also reads
 * both every few minutes, because labels may change. All functions are called by one thread.
 */

#include "agent/kubernetes/pod_list.h"

/* Texts are copied. "" switches a source off. */
struct pod_watch_options {
	const char *folder; /* "/var/log/pods" */
	const char *url;    /* of a v1.PodList: "https://HOST:10250/pods" */
	const char *token_file;
	const char *ca_file; /* "": the authorities of the system */
	bool insecure_tls;
	bool keep_capabilities; /* false: the thread, which parses network input, has none */

	/* Shortest time between two readings of the folder, and between two requests. */
	uint64_t folder_interval_ns;
	uint64_t request_interval_ns;
	/* Times between requests after failures, which double. */
	uint64_t retry_first_ns, retry_max_ns;
	uint64_t refresh_ns; /* time after which both sources are read again */
	uint64_t request_timeout_ns;
};

/* The intervals of the agent. */
#define POD_WATCH_DEFAULTS                                                                         \
	.folder_interval_ns = NSEC_PER_SEC, .request_interval_ns = 5 * NSEC_PER_SEC,               \
	.retry_first_ns = NSEC_PER_SEC, .retry_max_ns = 300 * NSEC_PER_SEC,                        \
	.refresh_ns = 300 * NSEC_PER_SEC, .request_timeout_ns = 10 * NSEC_PER_SEC

struct pod_watch;

/* 0 or negative errno. */
int pod_watch_new(const struct pod_watch_options *options, struct pod_watch **ret_watch);
/* Ends a request that is in progress. */
struct pod_watch *pod_watch_free(struct pod_watch *watch);

typedef void pod_label_fn(void *arg, const char *name, const char *value);

/*
 * Calls @label for what is known of the Pod: pod, pod_ns, pod_node, k8s.label.NAME. If its name or
 * its labels are not known, the thread is woken to look for them.
 */
void pod_watch_find(struct pod_watch *watch, const char *uid, pod_label_fn *label, void *arg);

/* Increases whenever a list was read. */
uint64_t pod_watch_generation(struct pod_watch *watch);

struct pod_watch_stats {
	uint64_t pods;   /* that are known */
	uint64_t read;   /* lists that were received from the URL */
	uint64_t failed; /* requests that gave no list */
};

void pod_watch_stats(struct pod_watch *watch, struct pod_watch_stats *ret_stats);

DEFINE_SCOPED(struct pod_watch *, pod_watch_free);
