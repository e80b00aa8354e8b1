/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A program that a test uploads, such as the test program itself, which has a known build ID and
 * symbols.
 */

#include <fcntl.h>
#include <gnutls/crypto.h>

#include "common/elf/build_id.h"
#include "common/file.h"
#include "common/hash.h"
#include "tests/unit/symbolizer/api/api_fixture.h"

#define MAX_PROGRAM_BYTES (256 * MIB)

struct program {
	struct bytes elf;
	struct executable_id executable;
	char id[EXECUTABLE_ID_TEXT_SIZE]; /* the text of @executable */
	char sha256[65];
};

static inline void program_release(struct program *program)
{
	bytes_release(&program->elf);
}

static inline void read_program(const char *path, struct program *program)
{
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	uint8_t sha256[32];
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

	program->elf = BYTES_INIT(MAX_PROGRAM_BYTES);
	assert_ok(file_read(path, &program->elf));
	assert_true(fd >= 0);
	assert_ok(elf_file_open(fd, &elf));
	assert_int_equal(build_id_from_elf(elf, &program->executable), 1);
	executable_id_format(&program->executable, program->id);
	assert_int_equal(
		gnutls_hash_fast(GNUTLS_DIG_SHA256, program->elf.data, program->elf.size, sha256),
		0);
	hex_encode(sha256, sizeof(sha256), program->sha256);
}

static inline void read_this_program(struct program *program)
{
	read_program("/proc/self/exe", program);
}

/* Stores the program at @path in the fixture's debuginfo store. Returns its identity as text. */
static inline void upload_program(struct api_fixture *fixture, const char *path,
				  char ret_id[EXECUTABLE_ID_TEXT_SIZE])
{
	scoped(debuginfo_upload_freep) struct debuginfo_upload *upload = NULL;
	scoped(program_release) struct program program;
	char message[DEBUGINFO_MESSAGE_SIZE];
	struct debuginfo_entry entry;

	read_program(path, &program);
	assert_ok(debuginfo_upload_begin(fixture->context.debuginfo, &program.executable,
					 DEBUGINFO_FROM_PIPELINE, &upload, message));
	assert_ok(debuginfo_upload_append(upload, bytes_view_of(&program.elf), message));
	assert_int_equal(debuginfo_upload_commit(upload, &entry, message), 1);
	memcpy(ret_id, program.id, EXECUTABLE_ID_TEXT_SIZE);
}
