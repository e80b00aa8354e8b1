/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/helper/reader_process.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/helper/helper_process.h"
#include "agent/helper/protocol.h"
#include "common/capabilities.h"

/* Most text in one answer: the rest of a message after the header. */
#define TEXT_BYTES (HELPER_MESSAGE_MAX_BYTES - sizeof(struct reader_answer))

/*
 * The requested page and those above it are touched, because the callers' frames are there;
 * otherwise each sample would miss one more page. 64 pages are 256 KiB of stack. The call ends at
 * the first page without a mapping.
 */
#define TOUCH_PAGES 64
#define PAGE_BYTES  4096

static int send_answer(int socket, struct helper_message *reply, size_t text_bytes, int result,
		       bool is_last)
{
	const struct reader_answer answer = { .result = result, .is_last = is_last };

	memcpy(reply->bytes, &answer, sizeof(answer));
	reply->size = sizeof(answer) + text_bytes;
	reply->n_fds = 0;
	return helper_send(socket, reply, 0);
}

/* "start-end r-xp ...". Most mappings are not executable, and the agent does not need them. */
static bool is_executable(const char *line)
{
	const char *permissions = strchr(line, ' ');

	return permissions && strnlen(permissions, 4) == 4 && permissions[3] == 'x';
}

/*
 * If reading fails, the lines read before the error are sent too. The result of the last answer
 * counts.
 */
static int answer_maps(int socket, const char *path, struct helper_message *reply)
{
	scoped(scoped_fclose) FILE *file = fopen(path, "re");
	uint8_t *text = reply->bytes + sizeof(struct reader_answer);
	scoped_free char *line = NULL;
	size_t used = 0, capacity = 0;
	ssize_t n;

	if (!file)
		return send_answer(socket, reply, 0, -errno, true);
	errno = 0;
	while ((n = getline(&line, &capacity, file)) > 0) {
		if ((size_t)n > TEXT_BYTES || !is_executable(line))
			continue;
		if (used + (size_t)n > TEXT_BYTES) {
			int r = send_answer(socket, reply, used, 0, false);

			if (r < 0)
				return r;
			used = 0;
		}
		memcpy(text + used, line, (size_t)n);
		used += (size_t)n;
	}
	return send_answer(socket, reply, used, ferror(file) ? -errno : 0, true);
}

static int answer_beginning(int socket, const char *path, struct helper_message *reply)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, reply->bytes + sizeof(struct reader_answer),
				   READER_BEGINNING_BYTES)
			    : -1;

	return send_answer(socket, reply, n < 0 ? 0 : (size_t)n, n < 0 ? -errno : 0, true);
}

/* Returns 0 or a positive errno. */
static int touch(pid_t pid, uint64_t address)
{
	char bytes[TOUCH_PAGES];
	struct iovec local = { .iov_base = bytes, .iov_len = sizeof(bytes) };
	struct iovec remote[TOUCH_PAGES];

	for (size_t i = 0; i < TOUCH_PAGES; i++)
		remote[i] = (struct iovec){
			/* of the other process */
			.iov_base = (void *)(uintptr_t)(address + i * PAGE_BYTES),
			.iov_len = 1,
		};
	return process_vm_readv(pid, &local, 1, remote, TOUCH_PAGES, 0) < 0 ? errno : 0;
}

static void account(struct reader_touched *touched, int error)
{
	switch (error) {
	case 0:
		touched->touched++;
		break;
	case EFAULT:
		touched->absent++;
		break;
	case ESRCH:
		touched->gone++;
		break;
	default:
		touched->failed++;
		break;
	}
}

static int answer_pages(int socket, const struct helper_message *message,
			struct helper_message *reply)
{
	struct reader_touched touched = {};
	struct reader_request request;
	uint64_t address;

	memcpy(&request, message->bytes, sizeof(request));
	for (size_t at = sizeof(request); at + sizeof(address) <= message->size;
	     at += sizeof(address)) {
		memcpy(&address, message->bytes + at, sizeof(address));
		account(&touched, touch((pid_t)request.pid, address));
	}
	memcpy(reply->bytes, &touched, sizeof(touched));
	reply->size = sizeof(touched);
	reply->n_fds = 0;
	return helper_send(socket, reply, 0);
}

static int answer_request(int socket, const struct helper_message *message,
			  struct helper_message *reply)
{
	struct reader_request request;
	char path[64];

	if (message->size < sizeof(request))
		return -EBADMSG;
	memcpy(&request, message->bytes, sizeof(request));
	if (request.file == READER_PAGES)
		return answer_pages(socket, message, reply);
	(void)snprintf(path, sizeof(path), "/proc/%u/%s", request.pid,
		       request.file == READER_MAPS ? "maps" : "cmdline");
	return request.file == READER_MAPS ? answer_maps(socket, path, reply)
					   : answer_beginning(socket, path, reply);
}

uint64_t reader_process_capabilities(uint64_t permitted)
{
	return permitted & CAPABILITY_BIT(CAP_SYS_PTRACE);
}

void reader_process_run(int socket, pid_t parent, const char *name)
{
	const struct helper_process reader = {
		.name = name,
		.capabilities = reader_process_capabilities,
		.answer = answer_request,
	};

	helper_process_run(&reader, socket, parent);
}
