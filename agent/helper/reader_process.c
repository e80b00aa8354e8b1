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
#include "agent/interpreter/hotspot/hotspot_code.h"
#include "agent/interpreter/lua/lua_code.h"
#include "agent/interpreter/perl/perl_code.h"
#include "agent/interpreter/php/php_code.h"
#include "agent/interpreter/python/python_code.h"
#include "agent/interpreter/python/python_layout.h"
#include "agent/interpreter/ruby/ruby_code.h"
#include "agent/interpreter/v8/v8_code.h"
#include "agent/interpreter/v8/v8_frames.h"
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

static int read_memory(void *arg, uint64_t address, void *buffer, size_t size)
{
	const pid_t *pid = arg;
	struct iovec local = { .iov_base = buffer, .iov_len = size };
	/* of the other process */
	struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = size };
	ssize_t n = process_vm_readv(*pid, &local, 1, &remote, 1, 0);

	return n < 0 ? -errno : (size_t)n < size ? -EFAULT : 0;
}

/* How the code objects of one request are read. */
struct code_memory {
	uint32_t runtime; /* enum interpreter_runtime */
	struct python_memory python;
	struct hotspot_memory hotspot;
	struct v8_memory v8;
	struct v8_lines v8_lines;
	struct php_memory php;
	struct ruby_memory ruby;
	struct perl_memory perl;
	struct lua_memory lua;
};

/* False: the request names no layout that can be used. */
static bool begin_code(const struct reader_code_request *request, pid_t *pid,
		       struct code_memory *ret_memory)
{
	const struct python_layout *layout = python_layout_of(request->version);
	const struct php_layout *php = php_layout_of(request->version);

	*ret_memory = (struct code_memory){ .runtime = request->runtime };
	if (request->runtime == INTERPRETER_HOTSPOT) {
		ret_memory->hotspot = (struct hotspot_memory){ .layout = &request->layout,
							       .read = read_memory,
							       .arg = pid };
		return hotspot_layout_is_valid(&request->layout);
	}
	if (request->runtime == INTERPRETER_V8) {
		ret_memory->v8 = (struct v8_memory){ .layout = v8_layout_of(request->version),
						     .read = read_memory,
						     .arg = pid };
		return ret_memory->v8.layout;
	}
	if (request->runtime == INTERPRETER_RUBY) {
		ret_memory->ruby = (struct ruby_memory){ .layout = ruby_layout_of(request->version),
							 .read = read_memory,
							 .arg = pid };
		return ret_memory->ruby.layout;
	}
	if (request->runtime == INTERPRETER_PERL) {
		ret_memory->perl = (struct perl_memory){
			.layout = perl_layout_of(request->version),
			.has_threads = !(request->version & PERL_VERSION_NO_THREADS),
			.read = read_memory,
			.arg = pid,
		};
		return ret_memory->perl.layout;
	}
	if (request->runtime == INTERPRETER_LUA) {
		ret_memory->lua = (struct lua_memory){ .layout = lua_layout_of(request->version),
						       .read = read_memory,
						       .arg = pid };
		return ret_memory->lua.layout;
	}
	if (request->runtime == INTERPRETER_PHP && php) {
		ret_memory->php = (struct php_memory){ .layout = &php->code,
						       .read = read_memory,
						       .arg = pid };
		return true;
	}
	if (request->runtime != INTERPRETER_PYTHON || !layout)
		return false;
	ret_memory->python =
		(struct python_memory){ .layout = &layout->code, .read = read_memory, .arg = pid };
	return true;
}

static int read_code(struct code_memory *memory, const struct reader_code_item *item,
		     struct read_code *ret_code, uint8_t *content)
{
	const uint64_t address = item->address, mark = item->known_mark;

	switch (memory->runtime) {
	case INTERPRETER_HOTSPOT:
		return hotspot_code_read(&memory->hotspot, address, mark, ret_code, content);
	case INTERPRETER_V8:
		return v8_code_read(&memory->v8, &memory->v8_lines, address, mark, ret_code,
				    content);
	case INTERPRETER_PHP:
		return php_code_read(&memory->php, address, mark, ret_code, content);
	case INTERPRETER_RUBY:
		return ruby_code_read(&memory->ruby, address, mark, ret_code, content);
	case INTERPRETER_PERL:
		return perl_code_read(&memory->perl, address, mark, ret_code, content);
	case INTERPRETER_LUA:
		return lua_code_read(&memory->lua, address,
				     &(struct lua_caller){ item->caller, item->caller_position },
				     mark, ret_code, content);
	default:
		return python_code_read(&memory->python, address, mark, ret_code, content);
	}
}

/* Appends one code object to @reply. False: there is no room for it. */
static bool add_code(struct code_memory *memory, const struct reader_code_item *item,
		     struct helper_message *reply)
{
	uint8_t content[CODE_CONTENT_BYTES];
	struct reader_code answer = { .address = item->address };
	size_t size = 0;

	answer.result = read_code(memory, item, &answer.code, content);
	if (answer.result == 1)
		size = read_code_content_bytes(&answer.code);
	if (sizeof(answer) + reader_code_padded(size) > sizeof(reply->bytes) - reply->size)
		return false;
	memcpy(reply->bytes + reply->size, &answer, sizeof(answer));
	memcpy(reply->bytes + reply->size + sizeof(answer), content, size);
	memset(reply->bytes + reply->size + sizeof(answer) + size, 0,
	       reader_code_padded(size) - size);
	reply->size += sizeof(answer) + reader_code_padded(size);
	return true;
}

static int answer_code(int socket, const struct helper_message *message,
		       struct helper_message *reply)
{
	struct reader_request request;
	struct reader_code_request code;
	struct reader_code_item item;
	size_t at = sizeof(request) + sizeof(code);
	struct code_memory memory;
	bool has_layout;
	pid_t pid;

	if (message->size < at)
		return -EBADMSG;
	memcpy(&request, message->bytes, sizeof(request));
	memcpy(&code, message->bytes + sizeof(request), sizeof(code));
	pid = (pid_t)request.pid;
	has_layout = begin_code(&code, &pid, &memory);
	reply->size = 0;
	reply->n_fds = 0;
	for (uint32_t i = 0; has_layout && i < code.count && at + sizeof(item) <= message->size;
	     i++) {
		memcpy(&item, message->bytes + at, sizeof(item));
		at += sizeof(item);
		if (!add_code(&memory, &item, reply))
			break;
	}
	return helper_send(socket, reply, 0);
}

static int answer_jvm(int socket, const struct helper_message *message,
		      struct helper_message *reply)
{
	struct reader_request request;
	struct reader_jvm_request jvm;
	struct reader_jvm answer = {};
	pid_t pid;
	const struct hotspot_memory memory = { .read = read_memory, .arg = &pid };

	if (message->size != sizeof(request) + sizeof(jvm))
		return -EBADMSG;
	memcpy(&request, message->bytes, sizeof(request));
	memcpy(&jvm, message->bytes + sizeof(request), sizeof(jvm));
	pid = (pid_t)request.pid;
	answer.result = hotspot_layout_read(&memory, jvm.symbols, &answer.layout, &answer.jvm);
	memcpy(reply->bytes, &answer, sizeof(answer));
	reply->size = sizeof(answer);
	reply->n_fds = 0;
	return helper_send(socket, reply, 0);
}

static int read_frames(struct code_memory *memory, const struct reader_compiled_item *item,
		       struct compiled_frame *ret_frames)
{
	if (memory->runtime == INTERPRETER_V8)
		return v8_frames_read(&memory->v8, &memory->v8_lines, item->code, item->pc_offset,
				      ret_frames);
	return hotspot_frames_read(&memory->hotspot, item->code, item->pc_offset, ret_frames);
}

static int answer_compiled_frames(int socket, const struct helper_message *message,
				  struct helper_message *reply)
{
	struct reader_request request;
	struct reader_code_request compiled;
	size_t at = sizeof(request) + sizeof(compiled);
	struct code_memory memory;
	bool has_layout;
	pid_t pid;

	static_assert(READER_MAX_COMPILED_FRAMES * sizeof(struct reader_compiled_frames) <=
			      HELPER_MESSAGE_MAX_BYTES,
		      "an answer is one message");
	if (message->size < at)
		return -EBADMSG;
	memcpy(&request, message->bytes, sizeof(request));
	memcpy(&compiled, message->bytes + sizeof(request), sizeof(compiled));
	pid = (pid_t)request.pid;
	has_layout =
		(compiled.runtime == INTERPRETER_HOTSPOT || compiled.runtime == INTERPRETER_V8) &&
		begin_code(&compiled, &pid, &memory);
	reply->size = 0;
	reply->n_fds = 0;
	for (uint32_t i = 0;
	     has_layout && i < MIN(compiled.count, (uint32_t)READER_MAX_COMPILED_FRAMES) &&
	     at + sizeof(struct reader_compiled_item) <= message->size;
	     i++) {
		struct reader_compiled_frames answer = {};

		memcpy(&answer.item, message->bytes + at, sizeof(answer.item));
		at += sizeof(answer.item);
		answer.result = read_frames(&memory, &answer.item, answer.frames);
		memcpy(reply->bytes + reply->size, &answer, sizeof(answer));
		reply->size += sizeof(answer);
	}
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
	if (request.file == READER_CODE)
		return answer_code(socket, message, reply);
	if (request.file == READER_JVM)
		return answer_jvm(socket, message, reply);
	if (request.file == READER_COMPILED_FRAMES)
		return answer_compiled_frames(socket, message, reply);
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
