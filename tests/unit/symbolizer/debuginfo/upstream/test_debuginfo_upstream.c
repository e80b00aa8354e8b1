/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test plays an upstream server: it counts requests, and checks how its answers are used.
 */

#include "symbolizer/debuginfo/upstream/debuginfo_upstream.h"

#include <stdatomic.h>

#include "tests/support/http_peer.h"
#include "tests/unit/symbolizer/debuginfo/debuginfo_fixture.h"

#define TEN_MINUTES_NS (600 * NSEC_PER_SEC)

struct other_server {
	struct clock clock;
	_Atomic uint64_t now_ns;
	struct http_peer *peer;
	struct bytes content; /* the body of its answers; empty: 404 */
	_Atomic unsigned int n_asked;
	char last_path[256];
	atomic_bool holds; /* the server delays its answers */
	struct debuginfo_store *store;
	struct debuginfo_upstream *upstream;
};

static uint64_t other_now(const struct clock *clock)
{
	return container_of(clock, struct other_server, clock)->now_ns;
}

static void answer(void *argument, const struct http_peer_request *request,
		   struct http_peer_answer *reply)
{
	struct other_server *other = argument;

	other->n_asked++;
	(void)snprintf(other->last_path, sizeof(other->last_path), "%s", request->path);
	while (atomic_load(&other->holds))
		(void)usleep(1000);
	reply->status = other->content.size > 0 ? 200 : 404;
	reply->body = BYTES_INIT(MAX_SAMPLE_BYTES);
	assert_ok(bytes_append(&reply->body, other->content.data, other->content.size));
}

static void start(struct other_server *other, const char *folder)
{
	struct debuginfo_upstream_options options = { .timeout_ns = 10 * NSEC_PER_SEC,
						      .max_bytes = 64 * MIB };
	char message[DEBUGINFO_MESSAGE_SIZE];
	char url[64];

	other->clock = (struct clock){ .monotonic_ns = other_now, .wall_ns = other_now };
	if (other->now_ns == 0)
		other->now_ns = 1700000000 * NSEC_PER_SEC;
	assert_ok(http_peer_start(0, answer, other, &other->peer));
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", http_peer_port(other->peer));
	options.urls = url;
	other->store = open_debuginfo_at(folder, &other->clock);
	assert_ok(debuginfo_upstream_new(other->store, &options, &other->upstream, message));
}

static void stop(struct other_server *other)
{
	other->upstream = debuginfo_upstream_free(other->upstream);
	other->store = debuginfo_store_free(other->store);
	other->peer = http_peer_stop(other->peer);
}

/* Requests the file and waits. Returns whether it was stored. */
static bool fetch(struct other_server *other, const struct debuginfo_key *key,
		  const struct debuginfo_hops *hops)
{
	struct debuginfo_entry entry;

	if (debuginfo_upstream_want(other->upstream, key, hops) == UPSTREAM_IS_ASKED)
		debuginfo_upstream_wait(other->upstream, key, 20 * NSEC_PER_SEC);
	return debuginfo_find_kind(other->store, key, &entry) > 0;
}

static void a_downloaded_file_has_origin_upstream(void **state)
{
	struct other_server other = {};
	struct executable_id id = sample_identity();
	const struct debuginfo_key key = key_of(&id, DEBUGINFO_KIND_DEBUGINFO);
	static const struct debuginfo_hops none = {};
	struct debuginfo_entry entry;

	read_sample(SAMPLE_DEBUG, &other.content);
	start(&other, *state);
	assert_true(fetch(&other, &key, &none));
	assert_string_equal(other.last_path,
			    "/buildid/00112233445566778899aabbccddeeff00112233/debuginfo");
	assert_int_equal(debuginfo_find(other.store, &id, &entry), 1);
	assert_int_equal(entry.origin, DEBUGINFO_FROM_UPSTREAM);
	assert_int_equal(debuginfo_upstream_counts(other.upstream).n_fetched, 1);
	assert_int_equal(debuginfo_upstream_counts(other.upstream).bytes, other.content.size);
	stop(&other);
	bytes_release(&other.content);
}

static void a_missing_file_is_requested_at_growing_intervals(void **state)
{
	struct other_server other = {};
	struct executable_id id = sample_identity();
	const struct debuginfo_key key = key_of(&id, DEBUGINFO_KIND_DEBUGINFO);
	static const struct debuginfo_hops none = {};
	struct debuginfo_entry entry;
	uint64_t wait_ns = TEN_MINUTES_NS;

	start(&other, *state);
	for (unsigned int n = 1; n <= 4; n++) {
		assert_false(fetch(&other, &key, &none));
		assert_int_equal(other.n_asked, n);
		other.now_ns += wait_ns - NSEC_PER_SEC;
		/* Also after a restart. */
		stop(&other);
		start(&other, *state);
		assert_false(fetch(&other, &key, &none));
		assert_int_equal(other.n_asked, n);
		other.now_ns += 2 * NSEC_PER_SEC;
		wait_ns *= 2;
	}
	for (unsigned int n = 5; n <= 12; n++) {
		assert_false(fetch(&other, &key, &none));
		other.now_ns += UINT64_C(7) * 86400 * NSEC_PER_SEC + NSEC_PER_SEC;
	}
	assert_int_equal(other.n_asked, 12);

	/* An upload clears the negative cache. */
	assert_false(fetch(&other, &key, &none));
	assert_int_equal(put_file(other.store, DEBUGINFO_FROM_AGENT, SAMPLE_STRIPPED, &entry), 1);
	assert_false(fetch(&other, &key, &none));
	assert_int_equal(other.n_asked, 14);
	stop(&other);
}

static void concurrent_requests_share_one_download(void **state)
{
	struct other_server other = {};
	struct executable_id id = sample_identity();
	const struct debuginfo_key key = key_of(&id, DEBUGINFO_KIND_DEBUGINFO);
	static const struct debuginfo_hops none = {};
	struct debuginfo_entry entry;

	read_sample(SAMPLE_DEBUG, &other.content);
	atomic_store(&other.holds, true);
	start(&other, *state);
	for (int i = 0; i < 50; i++)
		assert_int_equal(
			debuginfo_upstream_want(other.upstream, &key, i % 2 ? &none : NULL),
			UPSTREAM_IS_ASKED);
	/* This wait ends before the answer. */
	debuginfo_upstream_wait(other.upstream, &key, NSEC_PER_MSEC);
	assert_int_equal(debuginfo_find(other.store, &id, &entry), 0);
	atomic_store(&other.holds, false);
	debuginfo_upstream_wait(other.upstream, &key, 20 * NSEC_PER_SEC);
	assert_int_equal(debuginfo_find(other.store, &id, &entry), 1);
	assert_int_equal(other.n_asked, 1);
	stop(&other);
	bytes_release(&other.content);
}

static void a_file_of_another_build_id_is_refused(void **state)
{
	struct other_server other = {};
	struct executable_id id = sample_identity();
	static const struct debuginfo_hops none = {};
	struct debuginfo_entry entry;
	struct debuginfo_key key;

	id.bytes[3] ^= 1;
	key = key_of(&id, DEBUGINFO_KIND_DEBUGINFO);
	read_sample(SAMPLE_DEBUG, &other.content);
	start(&other, *state);
	assert_false(fetch(&other, &key, &none));
	assert_int_equal(debuginfo_upstream_counts(other.upstream).n_refused, 1);
	/* Debug sections with the right build-ID are not an executable. */
	id = sample_identity();
	key = key_of(&id, DEBUGINFO_KIND_EXECUTABLE);
	assert_false(fetch(&other, &key, &none));
	assert_int_equal(debuginfo_upstream_counts(other.upstream).n_refused, 2);
	assert_int_equal(debuginfo_find(other.store, &id, &entry), 1);
	stop(&other);
	bytes_release(&other.content);
}

/* The first bytes end the transfer. It counts as refused, not as a failure of the server. */
static void an_html_page_is_refused(void **state)
{
	static const struct debuginfo_hops none = {};
	struct other_server other = { .content = BYTES_INIT(100) };
	struct executable_id id = sample_identity();
	const struct debuginfo_key key = key_of(&id, DEBUGINFO_KIND_DEBUGINFO);

	assert_ok(bytes_append_text(&other.content, "#!/bin/sh\n"));
	start(&other, *state);
	assert_false(fetch(&other, &key, &none));
	assert_int_equal(debuginfo_upstream_counts(other.upstream).n_refused, 1);
	stop(&other);
	bytes_release(&other.content);
}

static void a_request_in_a_loop_or_with_many_hops_is_not_forwarded(void **state)
{
	static const struct {
		const char *via;
		const char *forwarded_for;
		bool asks;
	} cases[] = {
		{ "1.1 hearth-0000000000000000", "10.0.0.1", true },
		{ NULL, "1, 2, 3, 4, 5, 6, 7", true },
		{ NULL, "1, 2, 3, 4, 5, 6, 7, 8", false },
		{ "a, b, c, d, e, f, g, h", NULL, false },
	};
	struct other_server other = {};
	struct executable_id id = sample_identity();
	char longest[2048];
	const struct debuginfo_hops too_long = { .via = longest };
	struct debuginfo_key key;

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	start(&other, *state);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct debuginfo_hops hops = { cases[i].via, cases[i].forwarded_for };

		id.bytes[0] = (uint8_t)i;
		key = key_of(&id, DEBUGINFO_KIND_DEBUGINFO);
		assert_int_equal(debuginfo_upstream_want(other.upstream, &key, &hops),
				 cases[i].asks ? UPSTREAM_IS_ASKED : UPSTREAM_HAS_NOTHING);
		debuginfo_upstream_wait(other.upstream, &key, 20 * NSEC_PER_SEC);
	}
	id.bytes[0] = 99;
	key = key_of(&id, DEBUGINFO_KIND_DEBUGINFO);
	assert_int_equal(debuginfo_upstream_want(other.upstream, &key, &too_long),
			 UPSTREAM_HAS_NOTHING);
	assert_int_equal(other.n_asked, 2);
	stop(&other);
}

static void executables_of_agents_are_requested_in_the_background(void **state)
{
	static const uint8_t agent[16] = { 1 };
	struct other_server other = {};
	struct executable_id id = sample_identity(), go;
	const struct debuginfo_key key = key_of(&id, DEBUGINFO_KIND_DEBUGINFO);
	struct debuginfo_entry entry;

	read_sample(SAMPLE_DEBUG, &other.content);
	start(&other, *state);
	assert_int_equal(debuginfo_want(other.store, &id, agent), 1);
	debuginfo_upstream_wait(other.upstream, &key, 20 * NSEC_PER_SEC);
	assert_int_equal(debuginfo_find(other.store, &id, &entry), 1);
	/* Other servers know GNU build-IDs only. */
	assert_ok(executable_id_set(&go, EXECUTABLE_ID_GO, "abcdefgh", 8));
	assert_int_equal(debuginfo_want(other.store, &go, agent), 1);
	assert_int_equal(other.n_asked, 1);
	stop(&other);
	bytes_release(&other.content);
}

static void an_unreachable_server_is_skipped_and_does_not_delay_the_stop(void **state)
{
	static const struct debuginfo_hops none = {};
	struct other_server other = {};
	struct executable_id id = sample_identity();
	struct debuginfo_key key = key_of(&id, DEBUGINFO_KIND_DEBUGINFO);
	scoped_fd int port_keeper = -1;

	start(&other, *state);
	port_keeper = http_peer_keep_port(other.peer);
	assert_ok(port_keeper);
	other.peer = http_peer_stop(other.peer);
	assert_false(fetch(&other, &key, &none));
	assert_int_equal(debuginfo_upstream_counts(other.upstream).n_failed, 1);
	for (uint8_t i = 1; i < 20; i++) {
		key.id.bytes[0] = i;
		assert_false(fetch(&other, &key, &none));
	}
	assert_int_equal(debuginfo_upstream_counts(other.upstream).n_failed, 20);
	debuginfo_upstream_stop(other.upstream);
	key.id.bytes[0] = 77;
	assert_int_equal(debuginfo_upstream_want(other.upstream, &key, &none),
			 UPSTREAM_HAS_NOTHING);
	stop(&other);
}

static void urls_are_checked(void **state)
{
	static const struct {
		const char *url;
		int r;
	} cases[] = {
		{ "http://127.0.0.1:8002", 0 },
		{ "https://debuginfod.example.org/", 0 },
		{ "https://peer.example.org /etc/hearth/peer-token", 0 },
		{ "127.0.0.1:8002", -EINVAL },
		{ "file:///etc", -EINVAL },
		{ "http://", -EINVAL },
		{ "http:///x", -EINVAL },
		{ "", -EINVAL },
	};
	char message[DEBUGINFO_MESSAGE_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(
			debuginfo_upstream_check_url(cases[i].url, strlen(cases[i].url), message),
			cases[i].r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_downloaded_file_has_origin_upstream),
		in_folder(a_missing_file_is_requested_at_growing_intervals),
		in_folder(concurrent_requests_share_one_download),
		in_folder(a_file_of_another_build_id_is_refused),
		in_folder(an_html_page_is_refused),
		in_folder(a_request_in_a_loop_or_with_many_hops_is_not_forwarded),
		in_folder(executables_of_agents_are_requested_in_the_background),
		in_folder(an_unreachable_server_is_skipped_and_does_not_delay_the_stop),
		cmocka_unit_test(urls_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
