/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths are sent by agents, and users paste the commands into a shell. Every word from outside is
 * therefore quoted.
 */

#include "symbolizer/query/remedy.h"

#include <stdio.h>
#include <string.h>

#include "common/shell_word.h"

/* The debuginfod server of a distribution, as an example for the user to replace. */
#define EXAMPLE_UPSTREAM "https://debuginfod.debian.net"

enum command_kind {
	COMMAND_NONE,
	COMMAND_UPLOAD,  /* uploads the file; only the user knows its path */
	COMMAND_REPLACE, /* the same with --force: the server has a file already */
	COMMAND_FETCH,   /* downloads from EXAMPLE_UPSTREAM and uploads */
	COMMAND_VMLINUX, /* uploads the kernel's debug file from Debian's path for it */
	COMMAND_MODULES, /* uploads the debug files of the kernel's modules */
};

static const struct remedy_row {
	enum frame_status reason;
	unsigned int present, absent; /* enum remedy_fact */
	enum command_kind command;
	const char *why;
	const char *remedy;
} rows[] = {
#define REMEDY_0 0
#define REMEDY(reason_, present_, absent_, command_, why_, remedy_)                                \
	{ .reason = FRAME_##reason_,                                                               \
	  .present = REMEDY_##present_,                                                            \
	  .absent = REMEDY_##absent_,                                                              \
	  .command = COMMAND_##command_,                                                           \
	  .why = why_,                                                                             \
	  .remedy = remedy_ },
#include "symbolizer/query/remedies.def"
#undef REMEDY
};

static bool is_packaged(const char *path)
{
	static const char *const folders[] = { "/usr/",   "/lib/", "/lib32/",
					       "/lib64/", "/bin/", "/sbin/" };

	if (strncmp(path, "/usr/local/", strlen("/usr/local/")) == 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		if (strncmp(path, folders[i], strlen(folders[i])) == 0)
			return true;
	}
	return false;
}

unsigned int remedy_facts_of_file(const struct store_executable *executable, const char *path,
				  bool kernel)
{
	unsigned int facts = kernel ? REMEDY_KERNEL : 0;

	if (!executable)
		return facts;
	facts |= REMEDY_FILE;
	if (executable->role == ROLE_KERNEL || executable->role == ROLE_KERNEL_MODULE)
		facts |= REMEDY_KERNEL;
	if (executable->role == ROLE_KERNEL_MODULE)
		facts |= REMEDY_MODULE;
	if (executable->identity.kind != EXECUTABLE_ID_NONE)
		facts |= REMEDY_ID;
	if (executable->identity.kind == EXECUTABLE_ID_GNU && is_packaged(path))
		facts |= REMEDY_PACKAGED;
	return facts;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Appends a placeholder path that ends with the name of the file, quoted. */
static void quote_unstripped(const char *path, char *text, size_t size)
{
	char wanted[REMEDY_COMMAND_SIZE / 4];
	const char *name = base_name(path);

	(void)snprintf(wanted, sizeof(wanted), "/path/to/unstripped/%s", *name ? name : "FILE");
	shell_word_append(wanted, text, size);
}

static void write_command(const struct remedy_case *about, enum command_kind kind,
			  char text[REMEDY_COMMAND_SIZE])
{
	const char *force = kind == COMMAND_REPLACE ? " --force" : "";
	char server[sizeof(" --server ''") + REMEDY_SERVER_SIZE] = "";
	char start[REMEDY_COMMAND_SIZE / 2];
	size_t used;

	assert(strlen(about->server) < REMEDY_SERVER_SIZE);
	if (about->server[0]) {
		(void)snprintf(server, sizeof(server), " --server ");
		shell_word_append(about->server, server, sizeof(server));
	}
	(void)snprintf(start, sizeof(start), "hearth upload%s%s", server, force);
	used = (size_t)snprintf(text, REMEDY_COMMAND_SIZE, "%s ", start);
	switch (kind) {
	case COMMAND_UPLOAD:
	case COMMAND_REPLACE:
		quote_unstripped(about->path, text, REMEDY_COMMAND_SIZE);
		break;
	case COMMAND_FETCH:
		(void)snprintf(text + used, REMEDY_COMMAND_SIZE - used,
			       "\"$(DEBUGINFOD_URLS=%s debuginfod-find debuginfo %s)\"",
			       EXAMPLE_UPSTREAM, about->build_id);
		break;
	case COMMAND_VMLINUX:
		(void)snprintf(text + used, REMEDY_COMMAND_SIZE - used,
			       "\"/usr/lib/debug/boot/vmlinux-$(uname -r)\"");
		break;
	case COMMAND_MODULES:
		(void)snprintf(text + used, REMEDY_COMMAND_SIZE - used,
			       "--recursive \"/usr/lib/debug/lib/modules/$(uname -r)\"");
		break;
	case COMMAND_NONE:
		text[0] = '\0';
		break;
	}
}

static const struct remedy_row *find_row(const struct remedy_case *about)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].reason == about->reason &&
		    (about->facts & rows[i].present) == rows[i].present &&
		    (about->facts & rows[i].absent) == 0)
			return &rows[i];
	}
	return NULL;
}

void remedy_find(const struct remedy_case *about, struct remedy *ret_remedy)
{
	const struct remedy_row *row = find_row(about);

	assert(row); /* the last row of each reason has no conditions */
	(void)snprintf(ret_remedy->why, sizeof(ret_remedy->why), "%s%s%.300s", row->why,
		       about->table_why[0] ? ": " : "", about->table_why);
	(void)snprintf(ret_remedy->remedy, sizeof(ret_remedy->remedy), "%s", row->remedy);
	write_command(about, row->command, ret_remedy->command);
}
