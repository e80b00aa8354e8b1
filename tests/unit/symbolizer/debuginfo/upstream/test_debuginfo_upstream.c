/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/debuginfo/upstream/debuginfo_upstream.h"

#include <stdatomic.h>

#include "tests/support/http_peer.h"
#include "tests/unit/symbolizer/debuginfo/debuginfo_fixture.h"

/*
 * Another server, played by the test: what it is asked for, how often, and what becomes of its
 * answers.
 */

#define TEN_MINUTES_NS (600 * NSEC_PER_SEC)

struct other_server {
	struct clock clock;
	_Atomic uint64_t now_ns;
	struct http_peer *peer;
	struct bytes content; /* what it answers with; none: 404 */
	_Atomic unsigned int n_asked;
	char last_path[256];
	atomic_bool holds; /* its answers back */
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

/* Asks, waits for the outcome, and says whether it came. */
static bool fetch(struct other_server *other, const struct debuginfo_key *key,
		  const struct debuginfo_hops *hops)
{
	struct debuginfo_entry entry;

	if (debuginfo_upstream_want(other->upstream, key, hops) == UPSTREAM_IS_ASKED)
		debuginfo_upstream_wait(other->upstream, key, 20 * NSEC_PER_SEC);
	return debuginfo_find_kind(other->store, key, &entry) > 0;
}

static void what_comes_is_stored_as_upstreams(void **state)
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

static void what_is_missing_is_asked_for_after_growing_times(void **state)
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
		/* Also in another life. */
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

	/* An upload ends it. */
	assert_false(fetch(&other, &key, &none));
	assert_int_equal(put_file(other.store, DEBUGINFO_FROM_AGENT, SAMPLE_STRIPPED, &entry), 1);
	assert_false(fetch(&other, &key, &none));
	assert_int_equal(other.n_asked, 14);
	stop(&other);
}

static void many_wishes_are_one_request(void **state)
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
	/* Patience ends before the answer comes. */
	debuginfo_upstream_wait(other.upstream, &key, NSEC_PER_MSEC);
	assert_int_equal(debuginfo_find(other.store, &id, &entry), 0);
	atomic_store(&other.holds, false);
	debuginfo_upstream_wait(other.upstream, &key, 20 * NSEC_PER_SEC);
	assert_int_equal(debuginfo_find(other.store, &id, &entry), 1);
	assert_int_equal(other.n_asked, 1);
	stop(&other);
	bytes_release(&other.content);
}

static void another_file_than_was_asked_for_is_refused(void **state)
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
	/* Debug sections are no executable, though the build-ID is right. */
	id = sample_identity();
	key = key_of(&id, DEBUGINFO_KIND_EXECUTABLE);
	assert_false(fetch(&other, &key, &none));
	assert_int_equal(debuginfo_upstream_counts(other.upstream).n_refused, 2);
	assert_int_equal(debuginfo_find(other.store, &id, &entry), 1);
	stop(&other);
	bytes_release(&other.content);
}

/* Its first bytes end the transfer; it is a refusal all the same, not a failure of the server. */
static void a_page_in_place_of_a_file_is_refused(void **state)
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

static void a_request_that_went_in_circles_or_came_far_asks_nobody(void **state)
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

static void what_agents_run_is_asked_for_in_the_background(void **state)
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
	/* Other servers know nothing of identities that are not GNU build-IDs. */
	assert_ok(executable_id_set(&go, EXECUTABLE_ID_GO, "abcdefgh", 8));
	assert_int_equal(debuginfo_want(other.store, &go, agent), 1);
	assert_int_equal(other.n_asked, 1);
	stop(&other);
	bytes_release(&other.content);
}

static void a_server_that_is_away_rests_and_the_end_does_not_wait_for_it(void **state)
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

static void addresses_are_checked(void **state)
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
		IN_FOLDER(what_comes_is_stored_as_upstreams),
		IN_FOLDER(what_is_missing_is_asked_for_after_growing_times),
		IN_FOLDER(many_wishes_are_one_request),
		IN_FOLDER(another_file_than_was_asked_for_is_refused),
		IN_FOLDER(a_page_in_place_of_a_file_is_refused),
		IN_FOLDER(a_request_that_went_in_circles_or_came_far_asks_nobody),
		IN_FOLDER(what_agents_run_is_asked_for_in_the_background),
		IN_FOLDER(a_server_that_is_away_rests_and_the_end_does_not_wait_for_it),
		cmocka_unit_test(addresses_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
