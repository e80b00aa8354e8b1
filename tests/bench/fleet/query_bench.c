/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks a server with replayed samples what users ask, one question at a time, and prints how long
 * the answers take.
 *
 *   query_bench --server URL --hosts N --from SECONDS --to SECONDS --service NAME [--seconds N]
 *               [--peer FILE]
 *
 * Each question is asked for about N seconds, at least MIN_ASKED times. The windows of 15 minutes
 * and the hosts are chosen randomly from those of the store, the same ones in every run. Exits with
 * 1 if there is no answer to one of the questions.
 *
 * The peer is the table of store_peer.h: SQL sums the values by stack, for the same windows and
 * hosts. It does not name the stacks, build a tree or print it.
 */

#include <argp.h>
#include <curl/curl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/clock.h"
#include "common/hash.h"
#include "common/limits.h"
#include "common/scoped.h"
#include "tests/bench/fleet/latencies.h"

#define MIN_ASKED 5

#define WINDOW_S (15 * 60)

#define SLOTS_PER_S (NSEC_PER_SEC / SLOT_NS)

#define ANSWER_MAX_BYTES (2 * GIB)

struct options {
	const char *server, *service, *peer;
	uint32_t n_hosts;
	uint64_t from_s, to_s, seconds;
};

/* @n_hosts 0: all. @window_s 0: the whole range. */
struct question {
	const char *name;
	bool is_service_list, is_total;
	uint32_t n_hosts;
	uint64_t window_s;
};

static const struct question questions[] = {
	{ .name = "10_hosts", .n_hosts = 10, .window_s = WINDOW_S },
	{ .name = "100_hosts", .n_hosts = 100, .window_s = WINDOW_S },
	{ .name = "day_all" },
	{ .name = "day_total", .is_total = true },
	{ .name = "services", .is_service_list = true },
};

static size_t on_answer(char *data, size_t size, size_t count, void *argument)
{
	return bytes_append(argument, data, size * count) < 0 ? 0 : size * count;
}

static uint64_t random_of(uint64_t round, uint64_t purpose, uint64_t below)
{
	const uint64_t key[] = { round, purpose };

	return below ? hash64_of(key, sizeof(key)) % below : 0;
}

struct window {
	uint64_t from_s, to_s; /* both inclusive */
	uint32_t first_host, n_hosts;
};

static struct window make_window(const struct options *options, const struct question *question,
				 uint64_t round)
{
	struct window window = { .from_s = options->from_s, .to_s = options->to_s };

	if (question->window_s && window.to_s - window.from_s > question->window_s) {
		window.from_s +=
			random_of(round, 'w', window.to_s - window.from_s - question->window_s);
		window.to_s = window.from_s + question->window_s - 1;
	}
	window.n_hosts = options->n_hosts;
	if (question->n_hosts && question->n_hosts < options->n_hosts) {
		window.n_hosts = question->n_hosts;
		window.first_host = (uint32_t)random_of(round, 'h', options->n_hosts);
	}
	return window;
}

/* Hosts that follow one another. After the last one the first one follows. */
static void append_filter(struct bytes *request, const struct options *options,
			  const struct window *window)
{
	(void)bytes_append_text(request, ",\"tag_filter\":\"host IN (");
	for (uint32_t i = 0; i < window->n_hosts; i++)
		(void)bytes_append_format(request, "%s'host-%05u'", i ? "," : "",
					  (window->first_host + i) % options->n_hosts);
	(void)bytes_append_text(request, ")\"");
}

static int make_request(struct bytes *request, const struct options *options,
			const struct question *question, uint64_t round)
{
	const struct window window = make_window(options, question, round);

	bytes_clear(request);
	(void)bytes_append_format(request,
				  "{\"app_service\":\"%s\",\"profile_event_type\":\"on-cpu\","
				  "\"profile_language_type\":\"eBPF\",\"time_start\":%" PRIu64
				  ",\"time_end\":%" PRIu64,
				  question->is_total ? "Total" : options->service, window.from_s,
				  window.to_s);
	if (window.n_hosts < options->n_hosts)
		append_filter(request, options, &window);
	(void)bytes_append(request, "}", 2);
	return bytes_error(request);
}

static bool contains(const struct bytes *answer, const char *text)
{
	return answer->size && memmem(answer->data, answer->size, text, strlen(text));
}

static int check(const struct question *question, const struct bytes *answer, CURLcode code,
		 long status)
{
	const char *mark = question->is_service_list ? "\"name\"" : "\"profile_location_str\"";

	if (code == CURLE_OK && status == 200 && contains(answer, mark))
		return 0;
	fprintf(stderr, "no answer to '%s' (status %ld, %s): %.*s\n", question->name, status,
		curl_easy_strerror(code), (int)MIN(answer->size, (size_t)500),
		answer->data ? (const char *)answer->data : "");
	return -EBADMSG;
}

static int ask_once(CURL *easy, const struct options *options, const struct question *question,
		    uint64_t round, struct latencies *latencies)
{
	scoped(bytes_release) struct bytes request = BYTES_INIT(MIB);
	scoped(bytes_release) struct bytes answer = BYTES_INIT(ANSWER_MAX_BYTES);
	uint64_t began_ns;
	char url[256];
	CURLcode code;
	long status = 0;
	int r;

	r = make_request(&request, options, question, round);
	if (r < 0)
		return r;
	(void)snprintf(url, sizeof(url), "%s%s", options->server,
		       question->is_service_list ? "/v1/services" : "/v1/profile/ProfileTracing");
	(void)curl_easy_setopt(easy, CURLOPT_URL, url);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, &answer);
	if (question->is_service_list)
		(void)curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
	else
		(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, (const char *)request.data);
	began_ns = clock_monotonic_ns(&system_clock);
	code = curl_easy_perform(easy);
	r = vec_push(latencies, clock_monotonic_ns(&system_clock) - began_ns);
	(void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	return r < 0 ? r : check(question, &answer, code, status);
}

static int ask(CURL *easy, const struct options *options, const struct question *question)
{
	uint64_t end_ns = clock_monotonic_ns(&system_clock) + options->seconds * NSEC_PER_SEC;
	struct latencies latencies = {};
	int r = 0;

	for (uint64_t round = 0;
	     r == 0 && (round < MIN_ASKED || clock_monotonic_ns(&system_clock) < end_ns); round++)
		r = ask_once(easy, options, question, round, &latencies);
	if (r == 0) {
		printf("query.%s_asked %zu times\n", question->name, latencies.count);
		printf("query.p50_%s_ms %.2f ms\n", question->name,
		       latencies_percentile_ms(&latencies, 50));
		printf("query.p99_%s_ms %.2f ms\n", question->name,
		       latencies_percentile_ms(&latencies, 99));
		(void)fflush(stdout);
	}
	vec_release(&latencies);
	return r;
}

/* Time of one question to the peer. The hosts are @first_host .. @first_host + @n_hosts, modulo. */
static int ask_peer_once(sqlite3_stmt *statement, const struct options *options,
			 const struct window *window, struct latencies *latencies)
{
	uint64_t began_ns = clock_monotonic_ns(&system_clock);
	int r;

	(void)sqlite3_bind_text(statement, 1, options->service, -1, SQLITE_STATIC);
	(void)sqlite3_bind_int64(statement, 2, options->n_hosts);
	(void)sqlite3_bind_int64(statement, 3, options->n_hosts - window->first_host);
	(void)sqlite3_bind_int64(statement, 4, window->n_hosts);
	(void)sqlite3_bind_int64(statement, 5, (int64_t)(window->from_s * SLOTS_PER_S));
	(void)sqlite3_bind_int64(statement, 6, (int64_t)((window->to_s + 1) * SLOTS_PER_S));
	while ((r = sqlite3_step(statement)) == SQLITE_ROW)
		;
	(void)sqlite3_reset(statement);
	if (r != SQLITE_DONE)
		return -EIO;
	return vec_push(latencies, clock_monotonic_ns(&system_clock) - began_ns);
}

static int ask_peer(sqlite3_stmt *statement, const struct options *options,
		    const struct question *question)
{
	uint64_t end_ns = clock_monotonic_ns(&system_clock) + options->seconds * NSEC_PER_SEC;
	struct latencies latencies = {};
	int r = 0;

	for (uint64_t round = 0;
	     r == 0 && (round < MIN_ASKED || clock_monotonic_ns(&system_clock) < end_ns); round++) {
		const struct window window = make_window(options, question, round);

		r = ask_peer_once(statement, options, &window, &latencies);
	}
	if (r == 0)
		printf("query.peer_p50_%s_ms %.2f ms\nquery.peer_p99_%s_ms %.2f ms\n",
		       question->name, latencies_percentile_ms(&latencies, 50), question->name,
		       latencies_percentile_ms(&latencies, 99));
	vec_release(&latencies);
	return r;
}

static int ask_peer_all(const struct options *options)
{
	static const char sql[] =
		"SELECT stack, sum(value) FROM sample WHERE series IN "
		"(SELECT id FROM series WHERE service = ?1 AND (host + ?3) % ?2 < ?4) "
		"AND slot >= ?5 AND slot < ?6 GROUP BY stack";
	sqlite3_stmt *statement = NULL;
	sqlite3 *db = NULL;
	int r = 0;

	if (sqlite3_open_v2(options->peer, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) {
		fprintf(stderr, "cannot open '%s': %s\n", options->peer, sqlite3_errmsg(db));
		r = -EIO;
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(questions); i++)
		if (!questions[i].is_total && !questions[i].is_service_list)
			r = ask_peer(statement, options, &questions[i]);
	(void)sqlite3_finalize(statement);
	(void)sqlite3_close(db);
	return r;
}

enum { OPTION_FROM = 1, OPTION_TO, OPTION_SERVICE, OPTION_PEER };

static const struct argp_option argp_options[] = {
	{ "server", 's', "URL", 0, "The server", 0 },
	{ "hosts", 'n', "N", 0, "Number of hosts", 0 },
	{ "from", OPTION_FROM, "SECONDS", 0, "Begin of the samples", 0 },
	{ "to", OPTION_TO, "SECONDS", 0, "End of the samples", 0 },
	{ "service", OPTION_SERVICE, "NAME", 0, "The service", 0 },
	{ "peer", OPTION_PEER, "FILE", 0, "The table of the peer", 0 },
	{ "seconds", 't', "N", 0, "Time for each question", 0 },
	{},
};

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 's':
		options->server = text;
		return 0;
	case 'n':
		options->n_hosts = (uint32_t)strtoul(text, NULL, 10);
		return 0;
	case OPTION_FROM:
		options->from_s = strtoull(text, NULL, 10);
		return 0;
	case OPTION_TO:
		options->to_s = strtoull(text, NULL, 10);
		return 0;
	case OPTION_PEER:
		options->peer = text;
		return 0;
	case OPTION_SERVICE:
		options->service = text;
		return 0;
	case 't':
		options->seconds = strtoull(text, NULL, 10);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = { .options = argp_options, .parser = parse_option };
	struct options options = { .seconds = 20 };
	CURL *easy;
	int result = 0;

	(void)argp_parse(&argp, argc, argv, 0, NULL, &options);
	easy = curl_easy_init();
	if (!easy || !options.server || !options.service || options.to_s <= options.from_s) {
		fprintf(stderr, "--server, --hosts, --from, --to and --service are required\n");
		return 2;
	}
	(void)curl_easy_setopt(easy, CURLOPT_PROXY, "");
	(void)curl_easy_setopt(easy, CURLOPT_TIMEOUT, 300L);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_answer);
	for (size_t i = 0; i < ARRAY_SIZE(questions); i++)
		if (ask(easy, &options, &questions[i]) < 0)
			result = 1;
	curl_easy_cleanup(easy);
	if (options.peer && ask_peer_all(&options) < 0)
		result = 1;
	return result;
}
