/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting uploads are a short queue under a lock. An upload that fails for lack of a connection is
 * tried a few times and then given up. The server will request the executable again, maybe from
 * another agent.
 */
#include "agent/upload/uploader.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "agent/upload/http_client.h"
#include "common/capabilities.h"
#include "common/clock.h"
#include "common/condition.h"
#include "common/log.h"
#include "common/pieced_file.h"
#include "common/thread.h"

#define MAX_WAITING_UPLOADS 4
#define MAX_ATTEMPTS        3
#define FIRST_PAUSE_S       2U
#define MAX_ANSWER_BYTES    ((size_t)(16 * KIB))
#define MAX_NAME_SIZE       256

/* Number of refused files that are remembered. */
#define MAX_REFUSALS 64

struct upload {
	struct executable_id id;
	char name[MAX_NAME_SIZE]; /* for messages */
	uint32_t what;
	bool is_trusted;
	int fd, pieces_fd;    /* -1: content is sent */
	struct bytes content; /* a whole file */
};

/* A file that the server refused. It would refuse it again for the same reason. */
struct refusal {
	struct executable_id id;
	uint32_t what;
	bool is_trusted;
};

struct uploader {
	char *server; /* for messages */
	uint64_t bytes_per_s;
	struct http_client *client;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool is_running;
	bool keep_capabilities;
	atomic_bool stopping;
	struct upload waiting[MAX_WAITING_UPLOADS];
	size_t n_waiting;
	uint64_t done, failed, bytes;
	struct refusal refusals[MAX_REFUSALS]; /* a ring, used only by the thread */
	size_t n_refusals;
};

/* The bytes of one upload. */
struct upload_source {
	struct uploader *uploader;
	struct pieced_file *extract; /* NULL: the bytes of content, from next on */
	struct bytes_view content;
	size_t next;
};

static void upload_release(struct upload *upload)
{
	scoped_close(&upload->fd);
	scoped_close(&upload->pieces_fd);
	bytes_release(&upload->content);
	*upload = (struct upload){ .fd = -1, .pieces_fd = -1 };
}

static int read_source(void *argument, void *buffer, size_t size)
{
	struct upload_source *source = argument;

	if (source->extract)
		return pieced_file_read(source->extract, buffer, size);
	assert(size <= source->content.size - source->next);
	memcpy(buffer, source->content.data + source->next, size);
	source->next += size;
	return 0;
}

static int rewind_source(void *argument)
{
	struct upload_source *source = argument;

	if (source->extract)
		pieced_file_rewind(source->extract);
	source->next = 0;
	return 0;
}

static bool watch_source(void *argument)
{
	const struct upload_source *source = argument;

	return !atomic_load(&source->uploader->stopping);
}

static bool was_refused(const struct uploader *uploader, const struct upload *upload)
{
	for (size_t i = 0; i < MIN(uploader->n_refusals, (size_t)MAX_REFUSALS); i++) {
		const struct refusal *refusal = &uploader->refusals[i];

		if (executable_id_equal(&refusal->id, &upload->id) &&
		    refusal->what == upload->what && refusal->is_trusted == upload->is_trusted)
			return true;
	}
	return false;
}

/* Ignores refusals because of the token or the server's disk space. */
static void note_refusal(struct uploader *uploader, const struct upload *upload, long status)
{
	if (status != 400 && status != 413 && status != 422)
		return;
	uploader->refusals[uploader->n_refusals++ % MAX_REFUSALS] = (struct refusal){
		.id = upload->id,
		.what = upload->what,
		.is_trusted = upload->is_trusted,
	};
}

/* 1: done; 0: to be tried again; negative errno: given up. */
static int classify(const struct upload *upload, struct uploader *uploader, int r,
		    const struct http_answer *answer)
{
	if (r == -ECANCELED)
		return r;
	if (r == -EIO || (r == 0 && (answer->status >= 500 || answer->status == 429))) {
		log_debug("cannot upload '%s' to '%s' yet: %s (status %ld)", upload->name,
			  uploader->server, answer->message, answer->status);
		return 0;
	}
	if (r < 0)
		return log_warn_errno(r, "cannot read '%s' for the upload, giving up: %m",
				      upload->name);
	/* 409: another agent has uploaded it in the meantime. */
	if ((answer->status >= 200 && answer->status < 300) || answer->status == 409)
		return 1;
	note_refusal(uploader, upload, answer->status);
	log_warn("server '%s' refuses debuginfo of '%s' (status %ld), giving up: %.*s",
		 uploader->server, upload->name, answer->status, (int)MIN(answer->body.size, 200u),
		 answer->body.size ? (const char *)answer->body.data : "");
	return -EBADMSG;
}

static int send_once(struct uploader *uploader, const struct upload *upload,
		     struct upload_source *source, uint64_t size)
{
	scoped(bytes_release) struct bytes body = BYTES_INIT(MAX_ANSWER_BYTES);
	struct http_answer answer = { .body = body };
	char id[EXECUTABLE_ID_TEXT_SIZE];
	scoped_free char *path = NULL;
	int r;

	executable_id_format(&upload->id, id);
	if (asprintf(&path, "/v1/debuginfo/%s", id) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	(void)rewind_source(source);
	r = http_client_request(uploader->client,
				&(struct http_request){
					.path = path,
					.content_type = "application/octet-stream",
					.header = upload->is_trusted
							  ? "X-Hearth-Origin: agent"
							  : "X-Hearth-Origin: agent-user",
					.size = size,
					.read = read_source,
					.rewind = rewind_source,
					.max_bytes_per_s = uploader->bytes_per_s,
					.watch = watch_source,
					.argument = source,
				},
				&answer);
	body = answer.body;
	return classify(upload, uploader, r, &answer);
}

/* False: the uploader is stopping. */
static bool pause_for(struct uploader *uploader, unsigned int seconds)
{
	uint64_t until_ns = clock_monotonic_ns(&system_clock) + seconds * NSEC_PER_SEC;

	(void)pthread_mutex_lock(&uploader->lock);
	while (!atomic_load(&uploader->stopping) &&
	       condition_wait_until(&uploader->wake, &uploader->lock, until_ns))
		;
	(void)pthread_mutex_unlock(&uploader->lock);
	return !atomic_load(&uploader->stopping);
}

static int send_all_attempts(struct uploader *uploader, const struct upload *upload,
			     struct upload_source *source, uint64_t size)
{
	for (unsigned int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
		int r;

		if (attempt > 0 && !pause_for(uploader, FIRST_PAUSE_S << attempt))
			return -ECANCELED;
		r = send_once(uploader, upload, source, size);
		if (r != 0)
			return r;
	}
	log_warn("cannot upload debuginfo of '%s' to '%s' after %d attempts, giving up",
		 upload->name, uploader->server, MAX_ATTEMPTS);
	return -EIO;
}

static void process(struct uploader *uploader, const struct upload *upload)
{
	struct pieced_file extract;
	struct upload_source source = { .uploader = uploader };
	uint64_t size = upload->content.size;
	int r = was_refused(uploader, upload) ? -EBADMSG : 0;

	if (r == 0 && upload->fd >= 0) {
		r = pieced_file_open(upload->pieces_fd, upload->fd, &extract);
		if (r == 0) {
			source.extract = &extract;
			size = extract.size;
		} else {
			log_debug_errno(r,
					"cannot read the extract of '%s', giving up its upload: %m",
					upload->name);
		}
	}
	source.content = bytes_view_of(&upload->content);
	if (r == 0)
		r = send_all_attempts(uploader, upload, &source, size);

	(void)pthread_mutex_lock(&uploader->lock);
	if (r == 1) {
		uploader->done++;
		uploader->bytes += size;
	} else {
		uploader->failed++;
	}
	(void)pthread_mutex_unlock(&uploader->lock);
	if (r == 1)
		log_info("uploaded debuginfo of '%s' (%" PRIu64 " KiB) to '%s'", upload->name,
			 size / KIB, uploader->server);
}

/* False: the thread has to end. */
static bool wait_for_upload(struct uploader *uploader, struct upload *ret_upload)
{
	(void)pthread_mutex_lock(&uploader->lock);
	while (!atomic_load(&uploader->stopping) && uploader->n_waiting == 0)
		(void)pthread_cond_wait(&uploader->wake, &uploader->lock);
	if (!atomic_load(&uploader->stopping)) {
		*ret_upload = uploader->waiting[0];
		uploader->n_waiting--;
		memmove(&uploader->waiting[0], &uploader->waiting[1],
			uploader->n_waiting * sizeof(uploader->waiting[0]));
	}
	(void)pthread_mutex_unlock(&uploader->lock);
	return !atomic_load(&uploader->stopping);
}

static void *run(void *argument)
{
	struct uploader *uploader = argument;
	struct upload upload = { .fd = -1, .pieces_fd = -1 };

	if (!uploader->keep_capabilities)
		(void)capabilities_limit(0);
	while (wait_for_upload(uploader, &upload)) {
		process(uploader, &upload);
		upload_release(&upload);
	}
	return NULL;
}

static int start(struct uploader *uploader)
{
	int r = thread_start("hearth-upload", run, uploader, &uploader->thread);

	if (r < 0)
		return r;
	uploader->is_running = true;
	return 0;
}

int uploader_new(const struct sender_options *options, struct uploader **ret_uploader)
{
	const struct http_client_options client_options = {
		.server = options->server,
		.token = options->token,
		.ca_file = options->ca_file,
		.insecure_tls = options->insecure_tls,
	};
	scoped(uploader_freep) struct uploader *uploader = calloc(1, sizeof(*uploader));
	int r;

	if (!uploader)
		return -ENOMEM;
	(void)pthread_mutex_init(&uploader->lock, NULL);
	condition_init(&uploader->wake);
	uploader->bytes_per_s = options->upload_bytes_per_s;
	uploader->keep_capabilities = options->keep_capabilities;
	uploader->server = strdup(options->server);
	if (!uploader->server)
		return -ENOMEM;
	r = http_client_new(&client_options, &uploader->client);
	if (r < 0)
		return r;
	r = start(uploader);
	if (r < 0)
		return r;
	*ret_uploader = take_ptr(uploader);
	return 0;
}

struct uploader *uploader_free(struct uploader *uploader)
{
	if (!uploader)
		return NULL;
	if (uploader->is_running) {
		(void)pthread_mutex_lock(&uploader->lock);
		atomic_store(&uploader->stopping, true);
		(void)pthread_cond_broadcast(&uploader->wake);
		(void)pthread_mutex_unlock(&uploader->lock);
		http_client_wake(uploader->client);
		(void)pthread_join(uploader->thread, NULL);
	}
	for (size_t i = 0; i < uploader->n_waiting; i++)
		upload_release(&uploader->waiting[i]);
	(void)http_client_free(uploader->client);
	(void)pthread_cond_destroy(&uploader->wake);
	(void)pthread_mutex_destroy(&uploader->lock);
	free(uploader->server);
	free(uploader);
	return NULL;
}

int uploader_take(struct uploader *uploader, const struct sender_upload *request)
{
	struct upload upload = {
		.id = request->id,
		.what = request->what,
		.is_trusted = request->is_trusted,
		.fd = request->fd,
		.pieces_fd = request->fd >= 0 ? request->pieces_fd : -1,
	};
	int r = 0;

	(void)snprintf(upload.name, sizeof(upload.name), "%s", request->name ? request->name : "");
	if (request->content) {
		upload.content = *request->content;
		*request->content = BYTES_INIT(request->content->ceiling);
	}
	(void)pthread_mutex_lock(&uploader->lock);
	if (uploader->n_waiting == MAX_WAITING_UPLOADS) {
		r = -EBUSY;
	} else {
		uploader->waiting[uploader->n_waiting++] = upload;
		(void)pthread_cond_signal(&uploader->wake);
	}
	(void)pthread_mutex_unlock(&uploader->lock);
	if (r < 0)
		upload_release(&upload);
	return r;
}

bool uploader_has_room(struct uploader *uploader)
{
	bool has_room;

	(void)pthread_mutex_lock(&uploader->lock);
	has_room = uploader->n_waiting < MAX_WAITING_UPLOADS;
	(void)pthread_mutex_unlock(&uploader->lock);
	return has_room;
}

void uploader_stats(struct uploader *uploader, struct sender_stats *stats)
{
	(void)pthread_mutex_lock(&uploader->lock);
	stats->uploads_done = uploader->done;
	stats->uploads_failed = uploader->failed;
	stats->upload_bytes = uploader->bytes;
	(void)pthread_mutex_unlock(&uploader->lock);
}
