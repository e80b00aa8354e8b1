/* SPDX-License-Identifier: Apache-2.0 */
/* A kubelet that answers as each test wants it. */
#include "agent/kubernetes/pod_watch.h"

#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

#include "common/file.h"
#include "common/log.h"
#include "tests/support/http_peer.h"
#include "tests/support/unit.h"

#define UID_WEB   "42ad382b-ed0b-446d-9aab-3fdce8b4f9e2"
#define UID_OTHER "0adffe8e-9849-4e05-b4cd-92d2d1e1f1c3"

#define WAIT_MS 10000

struct kubelet {
	struct http_peer *peer;
	pthread_mutex_t lock;
	unsigned int status;
	const char *answer;
	unsigned int n_requests;
	char method[8], path[64], authorization[64];
};

static const char list_of_web[] =
	"{\"items\":[{\"metadata\":{\"name\":\"web-0\",\"namespace\":\"shop\",\"uid\":\"" UID_WEB
	"\",\"labels\":{\"app\":\"web\"}},\"spec\":{\"nodeName\":\"node-7\"}}]}";

static void on_request(void *argument, const struct http_peer_request *request,
		       struct http_peer_answer *answer)
{
	struct kubelet *kubelet = argument;

	(void)pthread_mutex_lock(&kubelet->lock);
	kubelet->n_requests++;
	(void)snprintf(kubelet->method, sizeof(kubelet->method), "%s", request->method);
	(void)snprintf(kubelet->path, sizeof(kubelet->path), "%s", request->path);
	(void)snprintf(kubelet->authorization, sizeof(kubelet->authorization), "%s",
		       request->authorization);
	answer->status = kubelet->status;
	answer->body = BYTES_INIT(MIB);
	(void)bytes_append_text(&answer->body, kubelet->answer);
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
			.refresh_ns = 3600 * NSEC_PER_SEC,
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

/* Asks until the labels of the Pod are @expected, or fails. */
static void expect_labels(struct pod_watch *watch, const char *uid, const char *expected)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	char text[512];

	for (int waited_ms = 0; waited_ms < WAIT_MS; waited_ms += 2) {
		text[0] = '\0';
		pod_watch_find(watch, uid, append, text);
		if (strcmp(text, expected) == 0)
			return;
		(void)nanosleep(&pause, NULL);
	}
	fail_msg("'%s' instead of '%s'", text, expected);
}

static void a_folder_of_logs_names_pods(void **state)
{
	const char *folder = *state;
	struct pod_watch *watch = new_watch(folder, NULL, "");
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/shop_web-0_" UID_WEB, folder);
	assert_ok(mkdir(path, 0700));
	expect_labels(watch, UID_WEB, "pod=web-0 pod_ns=shop ");
	/* A Pod that starts later is found too. */
	expect_labels(watch, UID_OTHER, "");
	(void)snprintf(path, sizeof(path), "%s/shop_web-1_" UID_OTHER, folder);
	assert_ok(mkdir(path, 0700));
	expect_labels(watch, UID_OTHER, "pod=web-1 pod_ns=shop ");
	assert_true(pod_watch_generation(watch) >= 2);
	(void)pod_watch_free(watch);
}

static void a_kubelet_is_asked_with_the_token_of_the_file(void **state)
{
	const char *folder = *state;
	struct pod_watch_stats stats;
	struct pod_watch *watch;
	struct kubelet kubelet;
	char token_file[256];

	(void)snprintf(token_file, sizeof(token_file), "%s/token", folder);
	assert_ok(file_replace(token_file, "first-token\n", 12, 0600));
	start_kubelet(&kubelet, 200, list_of_web);
	watch = new_watch("", &kubelet, token_file);
	expect_labels(watch, UID_WEB, "pod=web-0 pod_ns=shop pod_node=node-7 k8s.label.app=web ");
	assert_string_equal(kubelet.method, "GET");
	assert_string_equal(kubelet.path, "/pods");
	assert_string_equal(kubelet.authorization, "Bearer first-token");
	pod_watch_stats(watch, &stats);
	assert_int_equal(stats.pods, 1);
	assert_int_equal(stats.failed, 0);

	/* The kubelet replaces tokens. */
	assert_ok(file_replace(token_file, "second-token", 12, 0600));
	set_answer(&kubelet, 200,
		   "{\"items\":[{\"metadata\":{\"name\":\"new\",\"uid\":\"" UID_OTHER "\"}}]}");
	expect_labels(watch, UID_OTHER, "pod=new ");
	assert_string_equal(kubelet.authorization, "Bearer second-token");
	(void)pod_watch_free(watch);
	stop_kubelet(&kubelet);
}

static void a_failed_request_is_repeated_and_the_old_list_is_kept(void **state)
{
	struct pod_watch_stats stats;
	struct pod_watch *watch;
	struct kubelet kubelet;

	(void)state;
	start_kubelet(&kubelet, 403, "Forbidden");
	watch = new_watch("", &kubelet, "");
	expect_labels(watch, UID_WEB, "");
	while (n_requests(&kubelet) < 3)
		expect_labels(watch, UID_WEB, "");
	set_answer(&kubelet, 200, "{\"kind\":\"Status\"}");
	expect_labels(watch, UID_WEB, "");
	set_answer(&kubelet, 200, list_of_web);
	expect_labels(watch, UID_WEB, "pod=web-0 pod_ns=shop pod_node=node-7 k8s.label.app=web ");
	pod_watch_stats(watch, &stats);
	assert_true(stats.failed >= 3);
	assert_true(stats.read >= 1);
	set_answer(&kubelet, 500, "");
	expect_labels(watch, UID_OTHER, "");
	expect_labels(watch, UID_WEB, "pod=web-0 pod_ns=shop pod_node=node-7 k8s.label.app=web ");
	(void)pod_watch_free(watch);
	stop_kubelet(&kubelet);
}

static void nothing_is_read_before_a_pod_is_asked_for(void **state)
{
	const struct timespec pause = { .tv_nsec = 50000000 };
	struct pod_watch *watch;
	struct kubelet kubelet;

	(void)state;
	start_kubelet(&kubelet, 200, list_of_web);
	watch = new_watch("", &kubelet, "");
	(void)nanosleep(&pause, NULL);
	assert_int_equal(n_requests(&kubelet), 0);
	assert_int_equal(pod_watch_generation(watch), 0);
	(void)pod_watch_free(watch);
	stop_kubelet(&kubelet);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_folder_of_logs_names_pods),
		in_folder(a_kubelet_is_asked_with_the_token_of_the_file),
		cmocka_unit_test(a_failed_request_is_repeated_and_the_old_list_is_kept),
		cmocka_unit_test(nothing_is_read_before_a_pod_is_asked_for),
	};

	log_set_level(LOG_LEVEL_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
