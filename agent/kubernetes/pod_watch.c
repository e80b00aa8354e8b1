/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two lists, one from each source. The thread makes a new list without the lock, and then exchanges
 * it for the old one. If a source cannot be read, its old list is kept.
 */
#include "agent/kubernetes/pod_watch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "agent/upload/http_client.h"
#include "common/backoff.h"
#include "common/capabilities.h"
#include "common/clock.h"
#include "common/condition.h"
#include "common/file.h"
#include "common/log.h"
#include "common/thread.h"

/* Longest answer: 4096 Pods, or 1000 with unusually long descriptions of 16 KiB. */
#define MAX_ANSWER_BYTES (16 * MIB)

/* A token of a service account has about 1 KiB. */
#define MAX_TOKEN_BYTES (16 * KIB)

struct pod_watch {
	/* constant */
	char *folder, *url, *token_file, *ca_file;
	struct pod_watch_options options;

	/* of the thread */
	struct backoff backoff;
	bool folder_failed, request_failed; /* which was logged */

	pthread_t thread;
	bool is_running;
	atomic_bool stopping;

	pthread_mutex_t lock; /* for all that follows */
	pthread_cond_t wake;
	struct pod_list named;    /* of the folder */
	struct pod_list labelled; /* of the URL */
	char asked[POD_UID_SIZE]; /* the last Pod that was not known */
	bool wants_folder, wants_request;
	uint64_t folder_at_ns, request_at_ns; /* not before these times */
	uint64_t refresh_at_ns;               /* UINT64_MAX until a Pod was asked for */
	uint64_t generation;
	struct pod_watch_stats stats;
};

static uint64_t now_ns(void)
{
	return clock_monotonic_ns(&system_clock);
}

static bool is_set(const char *text)
{
	return text[0] != '\0';
}

/* A time that has passed if there is no work. */
static uint64_t next_work_ns(const struct pod_watch *watch)
{
	uint64_t at_ns = watch->refresh_at_ns;

	if (watch->wants_folder)
		at_ns = MIN(at_ns, watch->folder_at_ns);
	if (watch->wants_request)
		at_ns = MIN(at_ns, watch->request_at_ns);
	return at_ns;
}

struct work {
	bool folder, request;
};

/* Waits until a source is to be read. False: the thread has to end. */
static bool wait_for_work(struct pod_watch *watch, struct work *ret_work)
{
	uint64_t now;

	(void)pthread_mutex_lock(&watch->lock);
	while (!atomic_load(&watch->stopping) && now_ns() < next_work_ns(watch))
		(void)condition_wait_until(&watch->wake, &watch->lock, next_work_ns(watch));
	now = now_ns();
	if (now >= watch->refresh_at_ns) {
		watch->wants_folder = is_set(watch->folder);
		watch->wants_request = is_set(watch->url);
		watch->refresh_at_ns = now + watch->options.refresh_ns;
	}
	ret_work->folder = watch->wants_folder && now >= watch->folder_at_ns;
	ret_work->request = watch->wants_request && now >= watch->request_at_ns;
	if (ret_work->folder) {
		watch->wants_folder = false;
		watch->folder_at_ns = now + watch->options.folder_interval_ns;
	}
	if (ret_work->request)
		watch->wants_request = false;
	(void)pthread_mutex_unlock(&watch->lock);
	return !atomic_load(&watch->stopping);
}

static void exchange(struct pod_watch *watch, struct pod_list *list, struct pod_list *fresh)
{
	struct pod_list old;

	pod_list_sort(fresh);
	(void)pthread_mutex_lock(&watch->lock);
	old = *list;
	*list = *fresh;
	watch->generation++;
	watch->stats.pods = MAX(watch->named.pods.count, watch->labelled.pods.count);
	(void)pthread_mutex_unlock(&watch->lock);
	pod_list_release(&old);
}

static void read_folder(struct pod_watch *watch)
{
	struct pod_list fresh;
	int r = pod_list_init(&fresh);

	if (r == 0)
		r = pod_list_add_folder(&fresh, watch->folder);
	if (r == 0) {
		watch->folder_failed = false;
		exchange(watch, &watch->named, &fresh);
		return;
	}
	pod_list_release(&fresh);
	/* The list from the URL has the names too. */
	if (!watch->folder_failed && !is_set(watch->url))
		(void)log_warn_errno(r,
				     "cannot read the names of Pods in '%s': %m, processes have no "
				     "labels pod and pod_ns; mount this folder of the host, or set "
				     "kubernetes.pods_url",
				     watch->folder);
	watch->folder_failed = true;
}

static bool may_go_on(void *argument)
{
	struct pod_watch *watch = argument;

	return !atomic_load(&watch->stopping);
}

/* The token is read for each request, because the kubelet replaces it every hour. */
static int read_token(const struct pod_watch *watch, struct bytes *token, char *message)
{
	int r;

	if (!is_set(watch->token_file))
		return 0;
	r = file_read(watch->token_file, token);
	if (r < 0) {
		(void)snprintf(message, HTTP_MESSAGE_SIZE,
			       "cannot read kubernetes.token_file '%s': %s", watch->token_file,
			       strerror(-r));
		return r;
	}
	for (size_t i = 0; i < token->size; i++) {
		if (token->data[i] == '\n' || token->data[i] == '\r')
			token->size = i;
	}
	return bytes_append_byte(token, 0);
}

static int request_list(struct pod_watch *watch, const char *token, struct http_answer *answer)
{
	scoped(http_client_freep) struct http_client *client = NULL;
	int r = http_client_new(
		&(struct http_client_options){
			.server = watch->url,
			.token = token,
			.ca_file = watch->ca_file,
			.insecure_tls = watch->options.insecure_tls,
		},
		&client);

	if (r < 0)
		return r;
	r = http_client_request(client,
				&(struct http_request){
					.path = "",
					.get = true,
					.timeout_ns = watch->options.request_timeout_ns,
					.watch = may_go_on,
					.argument = watch,
				},
				answer);
	if (r == 0 && answer->status != 200) {
		(void)snprintf(answer->message, sizeof(answer->message), "the status is %ld%s",
			       answer->status,
			       answer->status == 401 || answer->status == 403
				       ? ", the token must be allowed to read nodes/pods of the "
					 "kubelet, or pods of the API server"
				       : "");
		r = -EPROTO;
	}
	return r;
}

static int read_list(struct pod_watch *watch, struct pod_list *list, struct http_answer *answer)
{
	scoped(bytes_release) struct bytes token = BYTES_INIT(MAX_TOKEN_BYTES);
	int r = read_token(watch, &token, answer->message);

	if (r == 0)
		r = request_list(watch, (const char *)token.data, answer);
	if (r < 0)
		return r;
	r = pod_list_add_json(list, bytes_view_of(&answer->body));
	if (r < 0)
		(void)snprintf(answer->message, sizeof(answer->message), "the answer %s",
			       r == -EBADMSG ? "is no v1.PodList in JSON" : "has too many Pods");
	return r;
}

/* Decides when the next request is made. */
static void note_request(struct pod_watch *watch, bool succeeded)
{
	uint64_t pause_ns = watch->options.request_interval_ns;

	(void)pthread_mutex_lock(&watch->lock);
	watch->stats.read += succeeded;
	watch->stats.failed += !succeeded;
	/* A list that still lacks the Pod must not be requested for each process of it. */
	if (!succeeded)
		pause_ns = backoff_failed(&watch->backoff);
	else if (is_set(watch->asked) && !pod_list_find(&watch->labelled, watch->asked))
		pause_ns = MAX(pause_ns, backoff_failed(&watch->backoff));
	else
		backoff_succeeded(&watch->backoff);
	watch->request_at_ns = now_ns() + pause_ns;
	watch->wants_request = watch->wants_request || !succeeded;
	(void)pthread_mutex_unlock(&watch->lock);
}

static void request(struct pod_watch *watch)
{
	struct http_answer answer = { .body = BYTES_INIT(MAX_ANSWER_BYTES) };
	struct pod_list fresh;
	int r = pod_list_init(&fresh);

	if (r == 0)
		r = read_list(watch, &fresh, &answer);
	if (r == 0)
		exchange(watch, &watch->labelled, &fresh);
	else
		pod_list_release(&fresh);
	bytes_release(&answer.body);
	note_request(watch, r == 0);
	if (r < 0 && r != -ECANCELED && !watch->request_failed)
		log_warn("cannot get the list of Pods from '%s': %s, trying again; processes have "
			 "no labels of their Pods",
			 watch->url, is_set(answer.message) ? answer.message : strerror(-r));
	if (r != -ECANCELED)
		watch->request_failed = r < 0;
}

static void *run(void *argument)
{
	struct pod_watch *watch = argument;
	struct work work;

	if (!watch->options.keep_capabilities)
		(void)capabilities_limit(0);
	while (wait_for_work(watch, &work)) {
		if (work.folder)
			read_folder(watch);
		if (work.request)
			request(watch);
	}
	return NULL;
}

static bool copy_options(struct pod_watch *watch, const struct pod_watch_options *options)
{
	watch->options = *options;
	watch->folder = strdup(options->folder);
	watch->url = strdup(options->url);
	watch->token_file = strdup(options->token_file);
	watch->ca_file = strdup(options->ca_file);
	return watch->folder && watch->url && watch->token_file && watch->ca_file;
}

int pod_watch_new(const struct pod_watch_options *options, struct pod_watch **ret_watch)
{
	scoped(pod_watch_freep) struct pod_watch *watch = calloc(1, sizeof(*watch));
	int r;

	if (!watch)
		return -ENOMEM;
	(void)pthread_mutex_init(&watch->lock, NULL);
	condition_init(&watch->wake);
	watch->refresh_at_ns = UINT64_MAX;
	backoff_init(&watch->backoff, options->retry_first_ns, options->retry_max_ns,
		     clock_wall_ns(&system_clock));
	if (!copy_options(watch, options))
		return -ENOMEM;
	r = thread_start("hearth-pods", run, watch, &watch->thread);
	if (r < 0)
		return r;
	watch->is_running = true;
	*ret_watch = take_ptr(watch);
	return 0;
}

struct pod_watch *pod_watch_free(struct pod_watch *watch)
{
	if (!watch)
		return NULL;
	if (watch->is_running) {
		(void)pthread_mutex_lock(&watch->lock);
		atomic_store(&watch->stopping, true);
		(void)pthread_cond_broadcast(&watch->wake);
		(void)pthread_mutex_unlock(&watch->lock);
		(void)pthread_join(watch->thread, NULL);
	}
	pod_list_release(&watch->named);
	pod_list_release(&watch->labelled);
	(void)pthread_cond_destroy(&watch->wake);
	(void)pthread_mutex_destroy(&watch->lock);
	free(watch->folder);
	free(watch->url);
	free(watch->token_file);
	free(watch->ca_file);
	free(watch);
	return NULL;
}

/* Wakes the thread for the sources that do not have the Pod. */
static void ask(struct pod_watch *watch, const char *uid, bool is_named)
{
	(void)snprintf(watch->asked, sizeof(watch->asked), "%s", uid);
	if (watch->refresh_at_ns == UINT64_MAX)
		watch->refresh_at_ns = now_ns() + watch->options.refresh_ns;
	watch->wants_folder = watch->wants_folder || (!is_named && is_set(watch->folder));
	watch->wants_request = watch->wants_request || is_set(watch->url);
	(void)pthread_cond_signal(&watch->wake);
}

void pod_watch_find(struct pod_watch *watch, const char *uid, pod_label_fn *label, void *arg)
{
	const struct pod *labelled, *pod;

	(void)pthread_mutex_lock(&watch->lock);
	labelled = pod_list_find(&watch->labelled, uid);
	pod = labelled ? labelled : pod_list_find(&watch->named, uid);
	if (!pod || (!labelled && is_set(watch->url)))
		ask(watch, uid, pod != NULL);
	if (pod) {
		label(arg, "pod", pod->name);
		label(arg, "pod_ns", pod->name_space);
		label(arg, "pod_node", pod->node);
	}
	for (size_t i = 0; pod && i < pod->n_labels; i++)
		label(arg, pod->labels[i].name, pod->labels[i].value);
	(void)pthread_mutex_unlock(&watch->lock);
}

uint64_t pod_watch_generation(struct pod_watch *watch)
{
	uint64_t generation;

	(void)pthread_mutex_lock(&watch->lock);
	generation = watch->generation;
	(void)pthread_mutex_unlock(&watch->lock);
	return generation;
}

void pod_watch_stats(struct pod_watch *watch, struct pod_watch_stats *ret_stats)
{
	(void)pthread_mutex_lock(&watch->lock);
	*ret_stats = watch->stats;
	(void)pthread_mutex_unlock(&watch->lock);
}
