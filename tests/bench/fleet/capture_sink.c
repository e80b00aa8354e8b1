/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers an agent like a server, and keeps the bodies of its batches.
 *
 *   capture_sink FOLDER
 *
 * Prints the port, which is free and on loopback, and runs until SIGTERM or SIGINT. Each batch is
 * acknowledged and written to FOLDER/EPOCH-SEQUENCE.batch (hexadecimal, so that names sort by
 * time) as the agent sent it. The agent therefore sends definitions with their first use only.
 * Everything else is answered with 404.
 */

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/file.h"
#include "common/limits.h"
#include "common/zstd_frame.h"
#include "proto/batch.pb-c.h"
#include "proto/proto_arena.h"
#include "tests/support/http_peer.h"

static int read_key(struct bytes_view body, uint64_t *ret_epoch, uint64_t *ret_sequence)
{
	scoped(bytes_release) struct bytes plain = BYTES_INIT(BATCH_MAX_BYTES);
	scoped(arena_freep) struct arena *arena = NULL;
	const Hearth__V1__Batch *batch;
	int r;

	r = zstd_decompress(body, &plain);
	if (r == 0)
		r = arena_new(BATCH_MAX_DECODED_BYTES, &arena);
	if (r < 0)
		return r;
	batch = proto_arena_unpack(&hearth__v1__batch__descriptor, arena, bytes_view_of(&plain),
				   NULL);
	if (!batch)
		return -EBADMSG;
	*ret_epoch = batch->epoch;
	*ret_sequence = batch->sequence;
	return 0;
}

static int keep(const char *folder, struct bytes_view body, uint64_t epoch, uint64_t sequence)
{
	scoped_free char *path = NULL;

	if (asprintf(&path, "%s/%016" PRIx64 "-%016" PRIx64 ".batch", folder, epoch, sequence) <
	    0) {
		path = NULL;
		return -ENOMEM;
	}
	return file_replace(path, body.data, body.size, 0644);
}

static int acknowledge(uint64_t epoch, uint64_t sequence, struct bytes *body)
{
	Hearth__V1__BatchAnswer answer;
	int r;

	hearth__v1__batch_answer__init(&answer);
	answer.epoch = epoch;
	answer.acknowledged_sequence = sequence;
	r = bytes_reserve(body, hearth__v1__batch_answer__get_packed_size(&answer));
	if (r < 0)
		return r;
	body->size += hearth__v1__batch_answer__pack(&answer, body->data + body->size);
	return 0;
}

static void on_request(void *argument, const struct http_peer_request *request,
		       struct http_peer_answer *answer)
{
	const char *folder = argument;
	uint64_t epoch, sequence;
	int r;

	answer->status = 404;
	if (strcmp(request->path, "/v1/ingest") != 0)
		return;
	r = read_key(request->body, &epoch, &sequence);
	if (r == 0)
		r = keep(folder, request->body, epoch, sequence);
	if (r == 0)
		r = acknowledge(epoch, sequence, &answer->body);
	if (r < 0)
		fprintf(stderr, "capture_sink: cannot keep a batch in '%s': %s\n", folder,
			strerror(-r));
	answer->status = r < 0 ? 503 : 200;
}

int main(int argc, char **argv)
{
	struct http_peer *peer;
	sigset_t stop;
	int r, signal;

	if (argc != 2) {
		fprintf(stderr, "usage: capture_sink FOLDER\n");
		return 2;
	}
	r = make_folders(argv[1], 0755);
	if (r < 0) {
		fprintf(stderr, "capture_sink: cannot create '%s': %s\n", argv[1], strerror(-r));
		return 1;
	}
	/* Blocked before the peer's thread starts, so that only sigwait() gets them. */
	(void)sigemptyset(&stop);
	(void)sigaddset(&stop, SIGTERM);
	(void)sigaddset(&stop, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &stop, NULL);
	r = http_peer_start(0, on_request, argv[1], &peer);
	if (r < 0) {
		fprintf(stderr, "capture_sink: cannot listen: %s\n", strerror(-r));
		return 1;
	}
	printf("%u\n", http_peer_port(peer));
	(void)fflush(stdout);
	(void)sigwait(&stop, &signal);
	(void)http_peer_stop(peer);
	return 0;
}
