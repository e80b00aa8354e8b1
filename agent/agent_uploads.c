/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uploads the executables that the server requests, one at a time. The file of an executable is
 * read from a process that maps it. If that process has ended, the file may be gone with its
 * container, so another process that maps the executable takes its place.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent_internal.h"
#include "agent/executable/kernel_layout.h"
#include "common/limits.h"
#include "common/log.h"

/* A value of Wanted.what (proto/batch.proto). */
#define WANTED_KERNEL_SYMBOLS 3

/* Size of the ELF file with the kernel's symbols. 200 thousand symbols take 12 MB. */
#define KERNEL_ELF_MAX_BYTES (64 * MIB)

/*
 * Number of attempts of an upload when helpers die or hang. The server repeats its request only
 * after ten minutes, and until then the functions of the executable have no names.
 */
#define UPLOAD_ATTEMPTS 4

static int upload_kernel(struct agent *agent, const struct executable *executable, uint32_t what)
{
	struct bytes content = BYTES_INIT(KERNEL_ELF_MAX_BYTES);
	int r = -ENOENT;

	if (executable->role == EXECUTABLE_KERNEL) {
		r = kernel_symbols_elf(&agent->kernel, &content);
	} else {
		for (size_t i = 0; i < agent->kernel.n_modules; i++) {
			if (executable_id_equal(&agent->kernel.modules[i].id, &executable->id))
				r = kernel_module_symbols_elf(&agent->kernel.modules[i], &content);
		}
	}
	if (r == 0)
		r = sender_upload_take(agent->sender, &(struct sender_upload){
							      .id = executable->id,
							      .name = executable->name,
							      .what = what,
							      .is_trusted = true,
							      .fd = -1,
							      .content = &content,
						      });
	bytes_release(&content);
	return r;
}

/* An upload while a helper opens its file. */
struct opened_upload {
	struct agent *agent;
	uint32_t number; /* of the executable */
	struct wanted wanted;
	bool is_trusted; /* only root can write the file */
};

/*
 * Has the file read from another process that maps it. 1: there is one; 0: there is none, or the
 * file of the executable is not read from a process; or -ENOMEM.
 */
static int replace_source(struct agent *agent, struct executable *executable)
{
	struct mapped_file file;
	int r;

	if (executable->role != EXECUTABLE_USER)
		return 0;
	if (process_table_find_mapping_of(agent->processes, executable, executable->source_pid,
					  &file) == 0)
		return 0;
	r = executable_cache_replace_source(agent->executables, executable, &file);
	return r < 0 ? r : 1;
}

static bool has_ended(uint32_t pid)
{
	return pid != 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

/*
 * Queues the upload again if its helper died or hung, or if the file was gone and another process
 * maps it, unless that happened too often.
 */
static void retry_later(struct agent *agent, const struct wanted *wanted,
			struct executable *executable, int error)
{
	struct wanted again = *wanted;

	if (++again.n_failed >= UPLOAD_ATTEMPTS)
		return;
	if (error != -ECONNRESET && error != -ETIMEDOUT &&
	    (error != -ENOENT || replace_source(agent, executable) != 1))
		return;
	again.not_before_ns =
		upload_opener_retry_at_ns(agent->upload_opener, executable, wanted->what);
	if (vec_push(&agent->wanted, again) < 0)
		log_debug("no memory to upload '%s' again, the server will ask for it later",
			  executable->name);
}

static void on_opened(void *arg, int result, int fd, int pieces_fd)
{
	scoped_free struct opened_upload *upload = arg;
	struct executable *executable =
		executable_cache_by_number(upload->agent->executables, upload->number);

	upload->agent->n_opening_uploads--;
	if (result < 0 && executable) {
		log_debug_errno(
			result,
			"'%s' is not uploaded, helpers cannot open it or choose its parts: %m",
			executable->name);
		retry_later(upload->agent, &upload->wanted, executable, result);
	}
	if (result < 0 || !executable) {
		scoped_close(&fd);
		scoped_close(&pieces_fd);
		return;
	}
	(void)sender_upload_take(upload->agent->sender, &(struct sender_upload){
								.id = executable->id,
								.name = executable->name,
								.what = upload->wanted.what,
								.is_trusted = upload->is_trusted,
								.fd = fd,
								.pieces_fd = pieces_fd,
							});
}

/*
 * Has helpers open the file, because its file system may not answer. They check that it is the
 * executable, and parse it for the parts to send.
 */
static int upload(struct agent *agent, const struct executable *executable,
		  const struct wanted *wanted)
{
	struct opened_upload *upload;
	int r;

	if (executable->role == EXECUTABLE_KERNEL || executable->role == EXECUTABLE_KERNEL_MODULE)
		return upload_kernel(agent, executable, WANTED_KERNEL_SYMBOLS);
	upload = malloc(sizeof(*upload));
	if (!upload)
		return -ENOMEM;
	*upload = (struct opened_upload){
		.agent = agent,
		.number = executable->number,
		.wanted = *wanted,
		.is_trusted = executable->source_is_trusted || executable->role == EXECUTABLE_VDSO,
	};
	r = upload_opener_open(
		agent->upload_opener, executable,
		&(struct upload_request){
			.what = wanted->what, .opened = on_opened, .forget = free, .arg = upload });
	if (r < 0)
		free(upload);
	else
		agent->n_opening_uploads++;
	return r;
}

/*
 * If the upload fails for another reason, the server requests it again, perhaps from another agent.
 */
static void try_upload(struct agent *agent, const struct wanted *wanted,
		       struct executable *executable)
{
	char id[EXECUTABLE_ID_TEXT_SIZE];
	int r;

	executable_id_format(&wanted->id, id);
	if (!executable) {
		log_debug("the server requests '%s', which the agent has forgotten", id);
		return;
	}
	r = has_ended(executable->source_pid) ? replace_source(agent, executable) : 0;
	if (r >= 0)
		r = upload(agent, executable, wanted);
	if (r < 0)
		log_debug_errno(r, "cannot upload '%s' (build ID %s): %m", executable->name, id);
}

/*
 * Whether the server already has a file with this ID that a user can write, and the agent has seen
 * no other one.
 */
static bool lacks_trusted_file(const struct wanted *wanted, const struct executable *executable)
{
	return executable && wanted->trusted_only && executable->role == EXECUTABLE_USER &&
	       !executable->source_is_trusted;
}

struct ranking {
	struct executable_cache *executables;
	uint64_t now_ns; /* monotonic */
};

/*
 * The order of uploads. The kernel comes first: it is in nearly every stack, and one agent of a
 * fleet sends it. Then come the executables with the most samples, so that the code that uses most
 * of the time gets its names first. A request for an executable that the agent has forgotten is
 * removed at once.
 */
static uint64_t rank_upload(void *arg, const struct wanted *wanted)
{
	const struct ranking *ranking = arg;
	const struct executable *executable =
		executable_cache_by_id(ranking->executables, &wanted->id);

	if (!executable || executable->role == EXECUTABLE_KERNEL)
		return UINT64_MAX;
	if (lacks_trusted_file(wanted, executable) || wanted->not_before_ns > ranking->now_ns)
		return WANTED_NOT_NOW;
	return WANTED_NOT_NOW + 1 + executable->n_innermost;
}

void agent_feed_uploads(struct agent *agent)
{
	struct ranking ranking = { .executables = agent->executables,
				   .now_ns = clock_monotonic_ns(agent->clock) };
	struct wanted wanted;

	while (agent->n_opening_uploads == 0 && sender_has_upload_room(agent->sender) &&
	       wanted_take(&agent->wanted, rank_upload, &ranking, &wanted))
		try_upload(agent, &wanted, executable_cache_by_id(agent->executables, &wanted.id));
}

int agent_want_upload(struct agent *agent, const struct sender_event *event)
{
	const struct wanted wanted = {
		.id = event->wanted_id,
		.what = event->wanted_what,
		.trusted_only = event->wanted_trusted_only,
	};

	return agent->config->upload_bytes_per_s == 0 ? 0 : wanted_add(&agent->wanted, &wanted);
}
