/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A request is repeated after a temporary failure: no answer, a full queue, a proxy that lost its
 * server. It is not repeated if the server refuses it. The upload of a file in pieces continues
 * where it was interrupted, because the server recognises the file by its hash.
 */

#include "symbolizer/cli/upload/upload_file.h"

#include <fcntl.h>
#include <gnutls/crypto.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "common/backoff.h"
#include "common/elf/build_id.h"
#include "common/elf/richness.h"
#include "common/file.h"
#include "common/hash.h"
#include "symbolizer/cli/print/scoped_json.h"

/* Consecutive failures without progress; about two minutes. */
#define MAX_TRIES 8

#define MAX_WAIT_NS (30 * NSEC_PER_SEC)

#define HASH_PIECE_BYTES ((size_t)(256 * KIB))

#define SHA256_BYTES 32

struct upload {
	struct client *client;
	const struct upload_settings *settings;
	const char *path;
	int fd;
	uint64_t size;
	struct executable_id id;
	enum debuginfo_richness richness;
	bool has_code;
	bool is_split;
	struct backoff backoff;
	struct upload_result *result;
};

const char *upload_outcome_name(enum upload_outcome outcome)
{
	static const char *const names[] = {
		[UPLOAD_DONE] = "uploaded",
		[UPLOAD_NOT_NEEDED] = "not needed",
		[UPLOAD_SKIPPED] = "skipped",
		[UPLOAD_FAILED] = "failed",
	};

	static_assert(ARRAY_SIZE(names) == UPLOAD_OUTCOME_COUNT, "every outcome has a name");
	return names[outcome];
}

printf_like(3, 4) static void end_with(struct upload *upload, enum upload_outcome outcome,
				       const char *format, ...)
{
	va_list args;

	upload->result->outcome = outcome;
	va_start(args, format);
	(void)vsnprintf(upload->result->message, sizeof(upload->result->message), format, args);
	va_end(args);
}

/* ---- identification ------------------------------------------------------------------------- */

static bool open_file(struct upload *upload)
{
	struct stat status;

	upload->fd = open(upload->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (upload->fd < 0 || fstat(upload->fd, &status) < 0) {
		end_with(upload, UPLOAD_FAILED, "cannot open it: %s", strerror(errno));
		return false;
	}
	if (!S_ISREG(status.st_mode)) {
		end_with(upload, UPLOAD_SKIPPED, "%s",
			 S_ISDIR(status.st_mode) ? "a folder; --recursive takes what is in it"
						 : "no regular file");
		return false;
	}
	upload->size = upload->result->size_bytes = (uint64_t)status.st_size;
	return true;
}

/*
 * Reads the build-ID of PROGRAM, beside PROGRAM.dwp. Returns 1 if found, 0 if the program has none.
 */
static int program_id(const struct upload *upload, struct executable_id *ret_id)
{
	scoped_free char *program = strndup(upload->path, strlen(upload->path) - strlen(".dwp"));
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	scoped_fd int fd = -1;
	int r;

	if (!program)
		return -ENOMEM;
	fd = open(program, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	r = elf_file_open(fd, &elf);
	return r < 0 ? r : build_id_from_elf(elf, ret_id);
}

/* Split DWARF does not contain the build-ID of its program. */
static bool identify_split(struct upload *upload)
{
	const size_t length = strlen(upload->path);

	upload->is_split = true;
	if (upload->settings->split_of) {
		upload->id = *upload->settings->split_of;
		return true;
	}
	if (length < 5 || strcmp(upload->path + length - 4, ".dwp") != 0) {
		end_with(upload, UPLOAD_SKIPPED,
			 "the DWARF of one unit; pack all (dwp -e PROGRAM -o PROGRAM.dwp) or name "
			 "the program with --split-of");
		return false;
	}
	if (program_id(upload, &upload->id) > 0)
		return true;
	end_with(upload, UPLOAD_SKIPPED,
		 "its program is not beside it, or has no build-ID; name it with --split-of");
	return false;
}

static bool identify(struct upload *upload)
{
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	int r = elf_file_open(upload->fd, &elf);

	if (r == 0 && elf_file_is_split_dwarf(elf))
		return identify_split(upload);
	if (r == 0 && upload->settings->split_of) {
		end_with(upload, UPLOAD_SKIPPED, "no split DWARF (.dwp, .dwo)");
		return false;
	}
	if (r == -ENOEXEC || r == -ENOTSUP) {
		end_with(upload, UPLOAD_SKIPPED, "%s",
			 r == -ENOEXEC ? "no ELF file" : "no 64-bit little-endian ELF file");
		return false;
	}
	if (r == 0)
		r = build_id_from_elf(elf, &upload->id);
	if (r < 0) {
		end_with(upload, UPLOAD_FAILED, "cannot read it: %s", strerror(-r));
		return false;
	}
	if (r == 0) {
		end_with(upload, UPLOAD_SKIPPED,
			 "it has no build-ID (link it with -Wl,--build-id)");
		return false;
	}
	upload->richness = elf_file_richness(elf);
	upload->has_code = elf_file_has_code(elf);
	if (upload->richness == DEBUGINFO_NOTHING && !upload->has_code) {
		end_with(upload, UPLOAD_SKIPPED,
			 "it has neither symbols nor debug sections nor code");
		return false;
	}
	return true;
}

/* ---- whether the server needs the file ------------------------------------------------------ */

static bool is_debug_file(enum debuginfo_richness richness, bool has_code)
{
	return richness > DEBUGINFO_SYMBOLS || (richness == DEBUGINFO_SYMBOLS && !has_code);
}

/* Returns whether files that pipelines uploaded provide everything that this file provides. */
static bool is_covered(const struct upload *upload, const json_t *files)
{
	bool names = upload->richness == DEBUGINFO_NOTHING, code = !upload->has_code;
	bool debug = !is_debug_file(upload->richness, upload->has_code);

	for (size_t i = 0; i < json_array_size(files); i++) {
		const json_t *file = json_array_get(files, i);
		const char *has = json_string_value(json_object_get(file, "has"));
		const char *kind = json_string_value(json_object_get(file, "kind"));
		const char *origin = json_string_value(json_object_get(file, "origin"));
		bool has_code = json_is_true(json_object_get(file, "executable"));
		enum debuginfo_richness richness;

		if (!has || !kind || !origin || strcmp(kind, "elf") != 0 ||
		    strcmp(origin, "pipeline") != 0 ||
		    !debuginfo_richness_from_name(has, &richness))
			continue;
		code = code || has_code;
		names = names || richness >= upload->richness;
		debug = debug ||
			(richness >= upload->richness && is_debug_file(richness, has_code));
	}
	return names && code && debug;
}

static int hash_file(const struct upload *upload, char ret_hex[2 * SHA256_BYTES + 1])
{
	scoped_free uint8_t *piece = malloc(HASH_PIECE_BYTES);
	uint8_t digest[SHA256_BYTES];
	gnutls_hash_hd_t state;
	int r = 0;

	if (!piece || gnutls_hash_init(&state, GNUTLS_DIG_SHA256) < 0)
		return -ENOMEM;
	for (uint64_t done = 0; done < upload->size && r == 0;) {
		size_t length = MIN(HASH_PIECE_BYTES, upload->size - done);

		r = pread_all(upload->fd, piece, length, done);
		if (r == 0 && gnutls_hash(state, piece, length) < 0)
			r = -EIO;
		done += length;
	}
	gnutls_hash_deinit(state, digest);
	hex_encode(digest, sizeof(digest), ret_hex);
	return r;
}

/* Compares hashes, because the content of split DWARF cannot be ranked. */
static bool is_stored(const struct upload *upload, const json_t *files)
{
	char hash[2 * SHA256_BYTES + 1];

	if (json_array_size(files) == 0 || hash_file(upload, hash) < 0)
		return false;
	for (size_t i = 0; i < json_array_size(files); i++) {
		const char *other =
			json_string_value(json_object_get(json_array_get(files, i), "sha256"));

		if (other && strcmp(other, hash) == 0)
			return true;
	}
	return false;
}

static bool is_not_needed(struct upload *upload)
{
	scoped_free char *path = NULL;
	scoped(json_freep) json_t *root = NULL;
	struct client_answer answer;
	bool covered = false;

	if (asprintf(&path, "/v1/debuginfo/%s", upload->result->id) < 0)
		return false;
	/* Without an answer, try the upload, which reports the error. */
	if (client_exchange(upload->client,
			    &(struct client_request){ .method = "GET", .path = path, .fd = -1 },
			    &answer) == 0 &&
	    answer.status == 200) {
		root = json_loadb((const char *)answer.body.data, answer.body.size, 0, NULL);
		covered = upload->is_split ? is_stored(upload, json_object_get(root, "all"))
					   : is_covered(upload, json_object_get(root, "all"));
	}
	bytes_release(&answer.body);
	if (covered)
		end_with(upload, UPLOAD_NOT_NEEDED, "the server has as good");
	return covered;
}

/* ---- tries ---------------------------------------------------------------------------------- */

static bool can_be_tried_again(long status)
{
	return status == 0 || status == 408 || status == 409 || status == 429 || status == 502 ||
	       status == 503 || status == 504;
}

static void wait_before_retry(struct upload *upload)
{
	uint64_t wait_ns = backoff_failed(&upload->backoff);
	struct timespec left = { .tv_sec = (time_t)(wait_ns / NSEC_PER_SEC),
				 .tv_nsec = (long)(wait_ns % NSEC_PER_SEC) };

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

/* Reads the answer to a finished upload. */
static void read_outcome(struct upload *upload, const struct bytes *body)
{
	scoped(json_freep) json_t *root = json_loadb((const char *)body->data, body->size, 0, NULL);
	const char *message = json_string_value(json_object_get(root, "message"));

	if (json_is_true(json_object_get(root, "stored")))
		upload->result->outcome = UPLOAD_DONE;
	else if (json_is_false(json_object_get(root, "stored")))
		end_with(upload, UPLOAD_NOT_NEEDED, "%s",
			 message ? message : "the server has as good");
	else
		end_with(upload, UPLOAD_FAILED, "the answer is none of a hearth-symbolizer");
}

static void refused(struct upload *upload, const struct client_answer *answer)
{
	if (answer->status == 0)
		end_with(upload, UPLOAD_FAILED, "cannot reach the server: %s", answer->message);
	else
		end_with(upload, UPLOAD_FAILED, "%s (status %ld)%s", answer->message,
			 answer->status,
			 answer->status == 401 ? "; give a token with --token-file FILE or "
						 "HEARTH_TOKEN"
					       : "");
}

/* Repeats a request until it succeeds. Returns false if @upload failed. */
static bool request_with_retries(struct upload *upload, const struct client_request *request,
				 struct client_answer *ret_answer)
{
	for (int tries = 1;; tries++) {
		(void)client_exchange(upload->client, request, ret_answer);
		if (ret_answer->status >= 200 && ret_answer->status < 300)
			return true;
		if (!can_be_tried_again(ret_answer->status) || tries == MAX_TRIES) {
			refused(upload, ret_answer);
			return false;
		}
		bytes_release(&ret_answer->body);
		wait_before_retry(upload);
	}
}

static void send_at_once(struct upload *upload, const char *path)
{
	const struct client_request request = {
		.method = "PUT",
		.path = path,
		.fd = upload->fd,
		.size = upload->size,
		.n_sent = upload->settings->n_sent,
	};
	struct client_answer answer;

	if (request_with_retries(upload, &request, &answer))
		read_outcome(upload, &answer.body);
	bytes_release(&answer.body);
}

/* ---- in pieces ------------------------------------------------------------------------------ */

/* The state of this upload on the server. */
struct session {
	char name[40];   /* "": complete */
	uint64_t offset; /* of the first byte that the server lacks */
};

static bool read_session(struct upload *upload, const struct bytes *body, struct session *session)
{
	scoped(json_freep) json_t *root = json_loadb((const char *)body->data, body->size, 0, NULL);
	const char *name = json_string_value(json_object_get(root, "upload"));
	json_int_t offset = json_integer_value(json_object_get(root, "offset"));

	if (!name) {
		session->name[0] = '\0';
		read_outcome(upload, body);
		return false;
	}
	(void)snprintf(session->name, sizeof(session->name), "%s", name);
	session->offset = offset > 0 ? (uint64_t)offset : 0;
	return true;
}

/* Starts an upload or continues an interrupted one. Returns false if there is nothing to send. */
static bool begin_session(struct upload *upload, const char *hash, struct session *session)
{
	scoped_bytes struct bytes path = BYTES_INIT(KIB), body = BYTES_INIT(KIB);
	struct client_answer answer;
	bool go_on = false;

	(void)bytes_append_format(&path, "/v1/debuginfo/%s/uploads", upload->result->id);
	(void)bytes_append_byte(&path, '\0');
	(void)bytes_append_format(&body, "{\"size_bytes\": %" PRIu64 ", \"sha256\": \"%s\"}",
				  upload->size, hash);
	if (request_with_retries(upload,
				 &(struct client_request){ .method = "POST",
							   .path = (const char *)path.data,
							   .json = bytes_view_of(&body),
							   .fd = -1 },
				 &answer))
		go_on = read_session(upload, &answer.body, session);
	bytes_release(&answer.body);
	return go_on;
}

/*
 * Sends one piece and returns the status of the answer. If the server has all bytes, sends an empty
 * piece, which makes the server try again to store the file.
 */
static long send_piece(struct upload *upload, struct session *session)
{
	uint64_t left = upload->size - MIN(upload->size, session->offset);
	uint64_t size = MIN(upload->settings->piece_bytes, left);
	scoped_bytes struct bytes path = BYTES_INIT(KIB);
	struct client_answer answer;
	char range[128];
	long status;

	if (size > 0)
		(void)snprintf(range, sizeof(range),
			       "Content-Range: bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64,
			       session->offset, session->offset + size - 1, upload->size);
	else
		(void)snprintf(range, sizeof(range), "Content-Range: bytes */%" PRIu64,
			       upload->size);
	(void)bytes_append_format(&path, "/v1/debuginfo/%s/uploads/%s", upload->result->id,
				  session->name);
	(void)bytes_append_byte(&path, '\0');
	(void)client_exchange(upload->client,
			      &(struct client_request){ .method = "PUT",
							.path = (const char *)path.data,
							.header = range,
							.fd = upload->fd,
							.offset = session->offset,
							.size = size,
							.n_sent = upload->settings->n_sent },
			      &answer);
	status = answer.status;
	if (status == 200)
		(void)read_session(upload, &answer.body, session);
	else
		refused(upload, &answer);
	bytes_release(&answer.body);
	return status;
}

static void send_in_pieces(struct upload *upload)
{
	char hash[2 * SHA256_BYTES + 1];
	struct session session = {};
	uint64_t furthest = 0;
	int tries = 0;

	if (hash_file(upload, hash) < 0) {
		end_with(upload, UPLOAD_FAILED, "cannot read it");
		return;
	}
	while (begin_session(upload, hash, &session)) {
		long status = 200;

		while (status == 200 && session.name[0])
			status = send_piece(upload, &session);
		if (status == 200)
			return;
		/*
		 * 404: the server removed the session, after a day or with its folder: start again.
		 */
		if (session.offset > furthest)
			tries = 0;
		furthest = MAX(furthest, session.offset);
		if ((!can_be_tried_again(status) && status != 404) || ++tries == MAX_TRIES)
			return;
		wait_before_retry(upload);
	}
}

/* ---- one file ------------------------------------------------------------------------------- */

static void send_elf(struct upload *upload)
{
	scoped_free char *path = NULL;

	if (!identify(upload))
		return;
	executable_id_format(&upload->id, upload->result->id);
	if (!upload->settings->force && is_not_needed(upload))
		return;
	if (upload->size > upload->settings->at_once_bytes)
		send_in_pieces(upload);
	else if (asprintf(&path, "/v1/debuginfo/%s", upload->result->id) >= 0)
		send_at_once(upload, path);
}

/* Sends a source file under its absolute path, which the compiler recorded if it was given it. */
static void send_source(struct upload *upload)
{
	scoped_free char *absolute = realpath(upload->path, NULL);
	scoped_bytes struct bytes path = BYTES_INIT(64 * KIB);

	executable_id_format(upload->settings->source_of, upload->result->id);
	if (!absolute) {
		end_with(upload, UPLOAD_FAILED, "cannot find it: %s", strerror(errno));
		return;
	}
	(void)bytes_append_format(&path, "/v1/debuginfo/%s/source", upload->result->id);
	(void)client_escape_path(upload->client, &path, absolute);
	if (bytes_error(&path) == 0)
		send_at_once(upload, (const char *)path.data);
}

void upload_file(struct client *client, const struct upload_settings *settings, const char *path,
		 struct upload_result *ret_result)
{
	struct upload upload = {
		.client = client,
		.settings = settings,
		.path = path,
		.fd = -1,
		.result = ret_result,
	};

	*ret_result = (struct upload_result){ .outcome = UPLOAD_FAILED };
	backoff_init(&upload.backoff, settings->first_wait_ns, MAX_WAIT_NS, hash_seed() | 1);
	if (open_file(&upload)) {
		if (settings->source_of)
			send_source(&upload);
		else
			send_elf(&upload);
	}
	scoped_close(&upload.fd);
}
