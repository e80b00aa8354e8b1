/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture keeps each batch twice: as a message, which replay.c changes and packs again, and
 * decoded, which the sums and the supplements are made from.
 */

#include "tests/bench/fleet/capture.h"

#include <dirent.h>

#include "common/file.h"
#include "common/zstd_frame.h"
#include "proto/proto_arena.h"
#include "symbolizer/ingest/batch_decoder.h"

/* Ten minutes of a host with thousands of processes take about 200 MiB. */
#define CAPTURE_MAX_BYTES (4 * GIB)

static int read_batch(struct capture *capture, struct bytes_view body, struct capture_batch *out,
		      char message[CAPTURE_MESSAGE_SIZE])
{
	scoped(bytes_release) struct bytes plain = BYTES_INIT(BATCH_MAX_BYTES);
	char reason[DECODE_MESSAGE_SIZE];
	int r;

	r = zstd_decompress(body, &plain);
	if (r < 0) {
		(void)snprintf(message, CAPTURE_MESSAGE_SIZE, "not a zstd frame: %s", strerror(-r));
		return r;
	}
	r = batch_decode_plain(bytes_view_of(&plain), capture->arena, &out->batch, reason);
	if (r < 0) {
		(void)snprintf(message, CAPTURE_MESSAGE_SIZE, "%s", reason);
		return r;
	}
	out->message = proto_arena_unpack(&hearth__v1__batch__descriptor, capture->arena,
					  bytes_view_of(&plain), NULL);
	if (!out->message) {
		(void)snprintf(message, CAPTURE_MESSAGE_SIZE, "no memory for another batch");
		return -ENOMEM;
	}
	return 0;
}

static int index_definitions(struct capture *capture, const struct batch *batch)
{
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < batch->n_series; i++) {
		struct batch_series *series;

		r = hash_table_insert(capture->series, &batch->series[i].number, (void **)&series);
		if (r >= 0)
			*series = batch->series[i];
	}
	for (uint32_t i = 0; r >= 0 && i < batch->n_processes; i++) {
		const struct batch_process *process = &batch->processes[i];

		if (process->start_time_ns < capture->opened_ns)
			continue;
		r = hash_table_insert(capture->new_processes, &process->number, NULL);
		if (r >= 0)
			r = hash_table_insert(capture->new_pids, &process->pid, NULL);
	}
	return MIN(r, 0);
}

static int add_up(const struct capture *capture, struct capture_batch *out)
{
	for (uint32_t i = 0; i < out->batch.n_rows; i++) {
		const struct batch_row *row = &out->batch.rows[i];
		const struct batch_series *series = hash_table_find(capture->series, &row->series);

		if (!series)
			return -EBADMSG;
		out->sums[series->type] += row->value * MAX(series->period_ns, UINT64_C(1));
		out->n_samples += series->period_ns ? row->value : 1;
	}
	return 0;
}

static int add_batch(struct capture *capture, struct bytes_view body,
		     char message[CAPTURE_MESSAGE_SIZE])
{
	struct capture_batch *out = &capture->batches[capture->n_batches];
	const struct capture_batch *first = capture->batches;
	int r;

	r = read_batch(capture, body, out, message);
	if (r < 0)
		return r;
	if (out->batch.epoch != first->batch.epoch) {
		(void)snprintf(message, CAPTURE_MESSAGE_SIZE, "it is of another epoch");
		return -EBADMSG;
	}
	if (capture->n_batches == 0)
		capture->opened_ns = out->message->opened_monotonic_ns;
	capture->closed_ns = out->message->closed_monotonic_ns;
	r = index_definitions(capture, &out->batch);
	if (r < 0)
		return r;
	r = add_up(capture, out);
	if (r < 0)
		(void)snprintf(message, CAPTURE_MESSAGE_SIZE, "a row has an undefined series");
	capture->n_batches++;
	return r;
}

static int capture_new(size_t n_batches, struct capture **ret_capture)
{
	scoped(capture_freep) struct capture *capture = calloc(1, sizeof(*capture));
	int r;

	if (!capture)
		return -ENOMEM;
	r = arena_new(CAPTURE_MAX_BYTES, &capture->arena);
	if (r == 0)
		r = hash_table_new(sizeof(uint32_t), sizeof(struct batch_series), 0,
				   &capture->series);
	if (r == 0)
		r = hash_table_new(sizeof(uint32_t), 0, 0, &capture->new_processes);
	if (r == 0)
		r = hash_table_new(sizeof(uint32_t), 0, 0, &capture->new_pids);
	if (r < 0)
		return r;
	capture->batches = arena_alloc_array(capture->arena, n_batches, sizeof(*capture->batches));
	if (!capture->batches)
		return -ENOMEM;
	*ret_capture = take_ptr(capture);
	return 0;
}

int capture_from_bodies(const struct bytes_view *bodies, size_t count, struct capture **ret_capture,
			char ret_message[CAPTURE_MESSAGE_SIZE])
{
	scoped(capture_freep) struct capture *capture = NULL;
	int r;

	(void)snprintf(ret_message, CAPTURE_MESSAGE_SIZE, "no batch");
	if (count == 0)
		return -ENODATA;
	r = capture_new(count, &capture);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = add_batch(capture, bodies[i], ret_message);
	if (r < 0)
		return r;
	*ret_capture = take_ptr(capture);
	return 0;
}

static int is_batch_file(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 6 && strcmp(entry->d_name + length - 6, ".batch") == 0;
}

static int read_files(const char *folder, struct dirent **entries, size_t count,
		      struct capture **ret_capture, char message[CAPTURE_MESSAGE_SIZE])
{
	scoped(capture_freep) struct capture *capture = NULL;
	int r;

	r = capture_new(count, &capture);
	for (size_t i = 0; r == 0 && i < count; i++) {
		scoped(bytes_release) struct bytes body = BYTES_INIT(BATCH_MAX_COMPRESSED_BYTES);
		char reason[CAPTURE_MESSAGE_SIZE] = "";
		scoped_free char *path = NULL;

		if (asprintf(&path, "%s/%s", folder, entries[i]->d_name) < 0) {
			path = NULL;
			return -ENOMEM;
		}
		r = file_read(path, &body);
		if (r == 0)
			r = add_batch(capture, bytes_view_of(&body), reason);
		if (r < 0)
			(void)snprintf(message, CAPTURE_MESSAGE_SIZE, "'%.200s': %.250s", path,
				       reason[0] ? reason : strerror(-r));
	}
	if (r < 0)
		return r;
	*ret_capture = take_ptr(capture);
	return 0;
}

int capture_open(const char *folder, struct capture **ret_capture,
		 char ret_message[CAPTURE_MESSAGE_SIZE])
{
	struct dirent **entries = NULL;
	int count = scandir(folder, &entries, is_batch_file, alphasort);
	int r = -ENODATA;

	(void)snprintf(ret_message, CAPTURE_MESSAGE_SIZE, "'%.300s' has no batches", folder);
	if (count > 0)
		r = read_files(folder, entries, (size_t)count, ret_capture, ret_message);
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
	return r;
}

struct capture *capture_free(struct capture *capture)
{
	if (!capture)
		return NULL;
	(void)hash_table_free(capture->series);
	(void)hash_table_free(capture->new_processes);
	(void)hash_table_free(capture->new_pids);
	(void)arena_free(capture->arena);
	free(capture);
	return NULL;
}
