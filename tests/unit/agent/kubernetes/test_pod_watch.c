/* SPDX-License-Identifier: Apache-2.0 */
/* A kubelet that answers as each test wants it. */
#include "agent/kubernetes/pod_watch.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/stat.h>

#include "common/file.h"
#include "common/log.h"
#include "tests/support/http_peer.h"
#include "tests/support/unit.h"
#include "tests/support/wait_until.h"

#define UID_WEB   "42ad382b-ed0b-446d-9aab-3fdce8b4f9e2"
#define UID_OTHER "0adffe8e-9849-4e05-b4cd-92d2d1e1f1c3"

#define SECOND_TOKEN "second-token"

/* Longer than any test: loaded machines take their time. */
#define NEVER_NS (3600 * NSEC_PER_SEC)

struct kubelet {
	struct http_peer *peer;
	pthread_mutex_t lock;
	unsigned int status;
	const char *answer;
	unsigned int n_requests;
	char method[8], path[64], authorization[64];
	const char *second_answer; /* to requests with the token SECOND_TOKEN; NULL: none */
};

static const char list_of_web[] =
	"{\"items\":[{\"metadata\":{\"name\":\"web-0\",\"namespace\":\"shop\",\"uid\":\"" UID_WEB
	"\",\"labels\":{\"app\":\"web\"}},\"spec\":{\"nodeName\":\"node-7\"}}]}";

#define LABELS_OF_WEB "pod=web-0 pod_ns=shop pod_node=node-7 k8s.label.app=web "

static void on_request(void *argument, const struct http_peer_request *request,
		       struct http_peer_answer *answer)
{
	struct kubelet *kubelet = argument;
	bool is_second;

	(void)pthread_mutex_lock(&kubelet->lock);
	kubelet->n_requests++;
	(void)snprintf(kubelet->method, sizeof(kubelet->method), "%s", request->method);
	(void)snprintf(kubelet->path, sizeof(kubelet->path), "%s", request->path);
	(void)snprintf(kubelet->authorization, sizeof(kubelet->authorization), "%s",
		       request->authorization);
	answer->status = kubelet->status;
	answer->body = BYTES_INIT(MIB);
	is_second = strcmp(request->authorization, "Bearer " SECOND_TOKEN) == 0;
	(void)bytes_append_text(&answer->body, is_second && kubelet->second_answer
						       ? kubelet->second_answer
						       : kubelet->answer);
	(void)pthread_mutex_unlock(&kubelet->lock);
}

static void start_kubelet(struct kubelet *kubelet, unsigned int status, const char *answer)
{
	*kubelet = (struct kubelet){ .status = status, .answer = answer };
	(void)pthread_mutex_init(&kubelet->lock, NULL);
	assert_ok(http_peer_start(0, on_request, kubelet, &kubelet->peer));
}

static void stop_kubelet(struct kubelet *kubelet)
{
	(void)http_peer_stop(kubelet->peer);
	(void)pthread_mutex_destroy(&kubelet->lock);
}

static void set_answer(struct kubelet *kubelet, unsigned int status, const char *answer)
{
	(void)pthread_mutex_lock(&kubelet->lock);
	kubelet->status = status;
	kubelet->answer = answer;
	(void)pthread_mutex_unlock(&kubelet->lock);
}

static unsigned int n_requests(struct kubelet *kubelet)
{
	unsigned int count;

	(void)pthread_mutex_lock(&kubelet->lock);
	count = kubelet->n_requests;
	(void)pthread_mutex_unlock(&kubelet->lock);
	return count;
}

static struct pod_watch *new_watch(const char *folder, const struct kubelet *kubelet,
				   const char *token_file)
{
	char url[64] = "";
	struct pod_watch *watch;

	if (kubelet)
		(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/pods",
			       http_peer_port(kubelet->peer));
	assert_ok(pod_watch_new(
		&(struct pod_watch_options){
			.folder = folder,
			.url = url,
			.token_file = token_file,
			.ca_file = "",
			.folder_interval_ns = NSEC_PER_MSEC,
			.request_interval_ns = NSEC_PER_MSEC,
			.retry_first_ns = NSEC_PER_MSEC,
			.retry_max_ns = 10 * NSEC_PER_MSEC,
			.refresh_ns = NEVER_NS,
			.request_timeout_ns = NEVER_NS,
			.keep_capabilities = true,
		},
		&watch));
	return watch;
}

static void append(void *arg, const char *name, const char *value)
{
	char *text = arg;
	size_t length = strlen(text);

	if (*value)
		(void)snprintf(text + length, 512 - length, "%s=%s ", name, value);
}

/* Asks for the Pod. Whether its labels are @expected. */
static bool has_labels(struct pod_watch *watch, const char *uid, const char *expected)
{
	char text[512] = "";

	pod_watch_find(watch, uid, append, text);
	return strcmp(text, expected) == 0;
}

static struct pod_watch_stats stats_of(struct pod_watch *watch)
{
	struct pod_watch_stats stats;

	pod_watch_stats(watch, &stats);
	return stats;
}

static void a_folder_of_logs_names_pods(void **state)
{
	const char *folder = *state;
	struct pod_watch *watch = new_watch(folder, NULL, "");
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/shop_web-0_" UID_WEB, folder);
	assert_ok(mkdir(path, 0700));
	wait_until(has_labels(watch, UID_WEB, "pod=web-0 pod_ns=shop "));
	/* A Pod that starts later is found too. */
	assert_true(has_labels(watch, UID_OTHER, ""));
	(void)snprintf(path, sizeof(path), "%s/shop_web-1_" UID_OTHER, folder);
	assert_ok(mkdir(path, 0700));
	wait_until(has_labels(watch, UID_OTHER, "pod=web-1 pod_ns=shop "));
	assert_true(pod_watch_generation(watch) >= 2);
	(void)pod_watch_free(watch);
}

static void a_kubelet_is_asked_with_the_token_of_the_file(void **state)
{
	const char *folder = *state;
	struct pod_watch *watch;
	struct kubelet kubelet;
	char token_file[256];

	(void)snprintf(token_file, sizeof(token_file), "%s/token", folder);
	assert_ok(file_replace(token_file, "first-token\n", 12, 0600));
	start_kubelet(&kubelet, 200, list_of_web);
	watch = new_watch("", &kubelet, token_file);
	wait_until(has_labels(watch, UID_WEB, LABELS_OF_WEB));
	assert_int_equal(stats_of(watch).pods, 1);
	assert_int_equal(stats_of(watch).failed, 0);

	/* The kubelet replaces tokens. A request with the old one may be in progress. */
	(void)pthread_mutex_lock(&kubelet.lock);
	assert_string_equal(kubelet.method, "GET");
	assert_string_equal(kubelet.path, "/pods");
	assert_string_equal(kubelet.authorization, "Bearer first-token");
	kubelet.second_answer =
		"{\"items\":[{\"metadata\":{\"name\":\"new\",\"uid\":\"" UID_OTHER "\"}}]}";
	(void)pthread_mutex_unlock(&kubelet.lock);
	assert_ok(file_replace(token_file, SECOND_TOKEN, strlen(SECOND_TOKEN), 0600));
	wait_until(has_labels(watch, UID_OTHER, "pod=new "));
	(void)pod_watch_free(watch);
	stop_kubelet(&kubelet);
}

/* Waits for @count failed requests. The first one may have got an earlier answer of the kubelet. */
static void wait_for_failures(struct pod_watch *watch, unsigned int count)
{
	const uint64_t before = stats_of(watch).failed;

	wait_until(stats_of(watch).failed >= before + count);
}

static void a_failed_request_is_repeated_and_the_old_list_is_kept(void **state)
{
	struct pod_watch *watch;
	struct kubelet kubelet;

	(void)state;
	start_kubelet(&kubelet, 403, "Forbidden");
	watch = new_watch("", &kubelet, "");
	assert_true(has_labels(watch, UID_WEB, ""));
	wait_until(n_requests(&kubelet) >= 3);
	assert_true(has_labels(watch, UID_WEB, ""));
	set_answer(&kubelet, 200, "{\"kind\":\"Status\"}");
	wait_for_failures(watch, 2);
	assert_true(has_labels(watch, UID_WEB, ""));
	set_answer(&kubelet, 200, list_of_web);
	wait_until(has_labels(watch, UID_WEB, LABELS_OF_WEB));
	assert_true(stats_of(watch).failed >= 3);
	/* The thread counts the list after it has stored it. */
	wait_until(stats_of(watch).read >= 1);
	set_answer(&kubelet, 500, "");
	assert_true(has_labels(watch, UID_OTHER, ""));
	wait_for_failures(watch, 2);
	assert_true(has_labels(watch, UID_WEB, LABELS_OF_WEB));
	(void)pod_watch_free(watch);
	stop_kubelet(&kubelet);
}

/* Whether the thread of the watch waits for something. */
static bool thread_sleeps(void)
{
	scoped(bytes_release) struct bytes status = BYTES_INIT(64 * KIB);
	struct dirent *entry;
	DIR *threads = opendir("/proc/self/task");
	bool sleeps = false;

	assert_non_null(threads);
	while ((entry = readdir(threads))) {
		char path[300];

		(void)snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
		bytes_clear(&status);
		if (file_read(path, &status) < 0 || bytes_append_byte(&status, 0) < 0)
			continue;
		sleeps = sleeps || (strstr((const char *)status.data, "Name:\thearth-pods\n") &&
				    strstr((const char *)status.data, "State:\tS"));
	}
	(void)closedir(threads);
	return sleeps;
}

static void nothing_is_read_before_a_pod_is_asked_for(void **state)
{
	const char *folder = *state;
	struct pod_watch *watch;
	struct kubelet kubelet;
	char token_file[256];

	/* Each request has the token of its time. */
	(void)snprintf(token_file, sizeof(token_file), "%s/token", folder);
	assert_ok(file_replace(token_file, "too-early", 9, 0600));
	start_kubelet(&kubelet, 200, "");
	kubelet.second_answer = list_of_web;
	watch = new_watch("", &kubelet, token_file);
	wait_until(thread_sleeps());
	assert_int_equal(pod_watch_generation(watch), 0);
	assert_ok(file_replace(token_file, SECOND_TOKEN, strlen(SECOND_TOKEN), 0600));
	wait_until(has_labels(watch, UID_WEB, LABELS_OF_WEB));
	assert_int_equal(stats_of(watch).failed, 0);
	(void)pod_watch_free(watch);
	stop_kubelet(&kubelet);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_folder_of_logs_names_pods),
		in_folder(a_kubelet_is_asked_with_the_token_of_the_file),
		cmocka_unit_test(a_failed_request_is_repeated_and_the_old_list_is_kept),
		in_folder(nothing_is_read_before_a_pod_is_asked_for),
	};

	log_set_level(LOG_LEVEL_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
