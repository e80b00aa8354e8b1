/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the text line by line. A line that begins with three hexadecimal numbers begins a CIE or
 * an FDE, a line with "LOC" names columns, and a line of 16 digits and as many words as there are
 * columns is a row.
 */
#include "tests/unwind_check/readelf_frames.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "common/bytes.h"
#include "common/scoped.h"

/* rax to r15, ra, mask and vector registers: more have not been seen. */
#define MAX_COLUMNS 80

/* The expressions of an FDE, as text. */
#define MAX_TEXT_BYTES (1 * MIB)

extern char **environ;

/* ---- the program ----------------------------------------------------------------------------- */

static int start_readelf(const char *option, const char *path, FILE **ret_output, pid_t *ret_pid)
{
	char *arguments[] = { (char *)"readelf", (char *)option, (char *)"--", (char *)path, NULL };
	posix_spawn_file_actions_t actions;
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	*ret_output = fdopen(ends[0], "r");
	if (!*ret_output)
		return -ENOMEM;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	r = posix_spawnp(ret_pid, "readelf", &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	(void)close(ends[1]);
	return -r;
}

typedef int (*line_function)(void *argument, char *line);

static int for_each_line(const char *option, const char *path, line_function on_line,
			 void *argument)
{
	scoped_file FILE *output = NULL;
	scoped_free char *line = NULL;
	size_t capacity = 0;
	ssize_t length;
	pid_t pid;
	int status, r;

	r = start_readelf(option, path, &output, &pid);
	if (r < 0)
		return r;
	while (r == 0 && (length = getline(&line, &capacity, output)) >= 0) {
		if (length > 0 && line[length - 1] == '\n')
			line[length - 1] = '\0';
		r = on_line(argument, line);
	}
	(void)fclose(take_ptr(output));
	(void)waitpid(pid, &status, 0);
	return r;
}

/* ---- entries --------------------------------------------------------------------------------- */

struct entry_line {
	bool is_fde;
	uint64_t offset;
	uint64_t cie; /* of an FDE */
	uint64_t start;
	uint64_t end;
	bool is_signal_frame; /* of a CIE */
};

static bool parse_entry_line(const char *line, struct entry_line *ret_entry)
{
	struct entry_line entry = {};
	char augmentation[32] = "";
	int kind = 0;

	if (sscanf(line, "%" SCNx64 " %*x %*x %n", &entry.offset, &kind) != 1 || kind == 0)
		return false;
	entry.is_fde = strncmp(line + kind, "FDE ", 4) == 0;
	if (entry.is_fde) {
		const char *pc = strstr(line, " pc=");

		if (!pc || sscanf(line + kind, "FDE cie=%" SCNx64, &entry.cie) != 1 ||
		    sscanf(pc, " pc=%" SCNx64 "..%" SCNx64, &entry.start, &entry.end) != 2)
			return false;
	} else {
		if (strncmp(line + kind, "CIE ", 4) != 0)
			return false;
		(void)sscanf(line + kind, "CIE \"%31[^\"]\"", augmentation);
		entry.is_signal_frame = strchr(augmentation, 'S') != NULL;
	}
	*ret_entry = entry;
	return true;
}

/* "Contents of the .debug_frame section:" */
static bool parse_section_line(const char *line, bool *ret_is_debug_frame)
{
	if (strncmp(line, "Contents of the ", 16) != 0)
		return false;
	*ret_is_debug_frame = strstr(line, "debug_frame") != NULL;
	return true;
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct known_cie {
	uint64_t offset;
	bool is_signal_frame;
	struct readelf_row row;
};

VEC_DEFINE(known_cie_vec, struct known_cie);

enum column { COLUMN_OTHER, COLUMN_CFA, COLUMN_FP, COLUMN_RA };

struct row_reader {
	const char *fp_name;
	readelf_fde_function on_fde;
	void *argument;
	bool is_debug_frame;
	bool has_entry;
	struct entry_line entry;
	enum column columns[MAX_COLUMNS];
	size_t n_columns;
	struct readelf_row_vec rows;
	struct known_cie_vec cies;
};

/* A CIE is usually shortly before its FDEs. */
static const struct known_cie *find_cie(const struct row_reader *reader, uint64_t offset)
{
	for (size_t i = reader->cies.count; i > 0; i--)
		if (reader->cies.items[i - 1].offset == offset)
			return &reader->cies.items[i - 1];
	return NULL;
}

static int finish_cie(struct row_reader *reader)
{
	struct known_cie cie = { .offset = reader->entry.offset,
				 .is_signal_frame = reader->entry.is_signal_frame };

	if (reader->rows.count > 0)
		cie.row = reader->rows.items[0];
	return vec_push(&reader->cies, cie);
}

static int finish_fde(struct row_reader *reader)
{
	const struct known_cie *cie = find_cie(reader, reader->entry.cie);
	struct readelf_fde fde = {
		.is_debug_frame = reader->is_debug_frame,
		.offset = reader->entry.offset,
		.start = reader->entry.start,
		.end = reader->entry.end,
		.is_signal_frame = cie && cie->is_signal_frame,
	};
	int r;

	if (reader->rows.count == 0) {
		struct readelf_row row = cie ? cie->row : (struct readelf_row){};

		row.address = fde.start;
		r = vec_push(&reader->rows, row);
		if (r < 0)
			return r;
	}
	fde.rows = reader->rows;
	return reader->on_fde(reader->argument, &fde);
}

static int finish_entry(struct row_reader *reader)
{
	int r = 0;

	if (reader->has_entry)
		r = reader->entry.is_fde ? finish_fde(reader) : finish_cie(reader);
	reader->has_entry = false;
	vec_clear(&reader->rows);
	return r;
}

static int read_columns(struct row_reader *reader, char *line)
{
	char *rest = line, *word;

	reader->n_columns = 0;
	while ((word = strsep(&rest, " ")) != NULL) {
		enum column column = COLUMN_OTHER;

		if (*word == '\0' || strcmp(word, "LOC") == 0)
			continue;
		if (strcmp(word, "CFA") == 0)
			column = COLUMN_CFA;
		else if (strcmp(word, reader->fp_name) == 0)
			column = COLUMN_FP;
		else if (strcmp(word, "ra") == 0)
			column = COLUMN_RA;
		if (reader->n_columns == MAX_COLUMNS)
			return -EBADMSG;
		reader->columns[reader->n_columns++] = column;
	}
	return 0;
}

static char *word_of_column(struct readelf_row *row, enum column column)
{
	switch (column) {
	case COLUMN_CFA:
		return row->cfa;
	case COLUMN_FP:
		return row->fp;
	case COLUMN_RA:
		return row->ra;
	default:
		return NULL;
	}
}

static int read_row(struct row_reader *reader, char *line, uint64_t address)
{
	struct readelf_row row = { .address = address };
	char *rest = line + 16, *word;
	size_t n = 0;

	while ((word = strsep(&rest, " ")) != NULL) {
		char *place;

		/* "r5 (rdi)" is one word: the number is used. */
		if (*word == '\0' || *word == '(')
			continue;
		if (n == reader->n_columns)
			return -EBADMSG;
		place = word_of_column(&row, reader->columns[n++]);
		if (place)
			(void)snprintf(place, READELF_TOKEN_BYTES, "%s", word);
	}
	return n == reader->n_columns ? vec_push(&reader->rows, row) : -EBADMSG;
}

static int on_row_line(void *argument, char *line)
{
	struct row_reader *reader = argument;
	struct entry_line entry;
	uint64_t address;
	bool is_debug_frame;
	int end = 0, r;

	if (parse_section_line(line, &is_debug_frame)) {
		r = finish_entry(reader);
		vec_clear(&reader->cies);
		reader->is_debug_frame = is_debug_frame;
		return r;
	}
	if (strstr(line, "LOC") && strstr(line, "CFA"))
		return read_columns(reader, line);
	if (parse_entry_line(line, &entry)) {
		r = finish_entry(reader);
		reader->entry = entry;
		reader->has_entry = true;
		return r;
	}
	if (reader->has_entry && sscanf(line, "%16" SCNx64 "%n", &address, &end) == 1 && end == 16)
		return read_row(reader, line, address);
	return 0;
}

int readelf_rows(const char *path, const char *fp_name, readelf_fde_function on_fde, void *argument)
{
	struct row_reader reader = { .fp_name = fp_name, .on_fde = on_fde, .argument = argument };
	int r = for_each_line("--debug-dump=frames-interp", path, on_row_line, &reader);

	if (r == 0)
		r = finish_entry(&reader);
	vec_release(&reader.rows);
	vec_release(&reader.cies);
	return r;
}

/* ---- expressions ----------------------------------------------------------------------------- */

struct text_reader {
	readelf_text_function on_text;
	void *argument;
	bool is_debug_frame;
	uint64_t offset;
	bool is_fde;
	struct bytes text;
};

static int finish_text(struct text_reader *reader)
{
	int r = 0;

	if (reader->is_fde && reader->text.size > 0) {
		r = bytes_append_byte(&reader->text, 0);
		if (r == 0)
			r = reader->on_text(reader->argument, reader->is_debug_frame,
					    reader->offset, (const char *)reader->text.data);
	}
	bytes_clear(&reader->text);
	return r;
}

static int on_text_line(void *argument, char *line)
{
	struct text_reader *reader = argument;
	struct entry_line entry;
	bool is_debug_frame;
	int r;

	if (parse_section_line(line, &is_debug_frame)) {
		r = finish_text(reader);
		reader->is_fde = false;
		reader->is_debug_frame = is_debug_frame;
		return r;
	}
	if (parse_entry_line(line, &entry)) {
		r = finish_text(reader);
		reader->is_fde = entry.is_fde;
		reader->offset = entry.offset;
		return r;
	}
	if (strstr(line, "_expression"))
		return bytes_append_format(&reader->text, "%s\n", line);
	return 0;
}

int readelf_expressions(const char *path, readelf_text_function on_text, void *argument)
{
	struct text_reader reader = { .on_text = on_text,
				      .argument = argument,
				      .text = BYTES_INIT(MAX_TEXT_BYTES) };
	int r = for_each_line("--debug-dump=frames", path, on_text_line, &reader);

	if (r == 0)
		r = finish_text(&reader);
	bytes_release(&reader.text);
	return r;
}
