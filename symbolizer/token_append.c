/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The root of a tokens file is the only key "tokens", and its list has the entries as items.
 * Therefore, text that is appended with the indentation of the other items becomes the last item of
 * the list. The result is parsed to check that, so that this file needs no knowledge of YAML's
 * other forms.
 */

#include "symbolizer/token_append.h"

#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/file.h"
#include "common/hash.h"

/* 1024 tokens of about 200 bytes each, and comments. */
#define MAX_FILE_BYTES (1 * MIB)

#define DEFAULT_INDENT 2

/* Interval between two attempts to lock the folder. */
#define LOCK_STEP_NS (20 * NSEC_PER_MSEC)

struct tokens_file {
	char *path;   /* resolved, so that a symbolic link is kept */
	char *folder; /* that holds the file */
	int folder_fd;
	struct stat status; /* st_nlink 0: the file does not exist */
	struct bytes text;
	char *message;
};

static void tokens_file_release(struct tokens_file *file)
{
	bytes_release(&file->text);
	free(file->path);
	free(file->folder);
	if (file->folder_fd >= 0)
		(void)close(file->folder_fd);
}

printf_like(3, 4) static int refuse(struct tokens_file *file, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	errno = -error; /* for %m */
	(void)vsnprintf(file->message, AUTH_MESSAGE_SIZE, format, arguments);
	va_end(arguments);
	return error;
}

int token_entry_format(const struct token *token, unsigned int indent, struct bytes *out)
{
	char hex[2 * TOKEN_HASH_SIZE + 1], scopes[HTTP_SCOPES_TEXT_SIZE];

	hex_encode(token->hash, TOKEN_HASH_SIZE, hex);
	http_scopes_format(token->scopes, scopes);
	(void)bytes_append_format(out, "%*s- name: %s\n", (int)indent, "", token->name);
	(void)bytes_append_format(out, "%*s  sha256: %s\n", (int)indent, "", hex);
	(void)bytes_append_format(out, "%*s  scopes: [%s]\n", (int)indent, "", scopes);
	return bytes_append_format(out, "%*s  tenant: %s\n", (int)indent, "", token->tenant);
}

/* ---- reading ---- */

static int find_path(struct tokens_file *file, const char *path)
{
	scoped_free char *copy = NULL;
	struct stat status;

	file->path = realpath(path, NULL);
	if (!file->path && lstat(path, &status) == 0 && S_ISLNK(status.st_mode))
		return refuse(file, -EINVAL,
			      "--tokens: '%.200s' is a symbolic link to a file that does not exist",
			      path);
	if (!file->path)
		file->path = strdup(path);
	copy = file->path ? strdup(file->path) : NULL;
	file->folder = copy ? strdup(dirname(copy)) : NULL;
	return file->folder ? 0 : -ENOMEM;
}

static int lock_folder(struct tokens_file *file, uint64_t wait_ns)
{
	const struct timespec step = { .tv_nsec = LOCK_STEP_NS };
	uint64_t waited_ns = 0;

	file->folder_fd = open(file->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (file->folder_fd < 0)
		return refuse(file, -errno,
			      "--tokens: cannot open the folder '%.200s': %m; 'mkdir -p' makes it",
			      file->folder);
	while (flock(file->folder_fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return refuse(file, -errno, "--tokens: cannot lock the folder '%.200s': %m",
				      file->folder);
		if (waited_ns >= wait_ns)
			return refuse(file, -EBUSY,
				      "--tokens: another program has locked the folder '%.200s'; "
				      "try again when it has ended",
				      file->folder);
		(void)nanosleep(&step, NULL);
		waited_ns += LOCK_STEP_NS;
	}
	return 0;
}

static int read_file(struct tokens_file *file)
{
	int r;

	if (stat(file->path, &file->status) < 0) {
		if (errno != ENOENT)
			return refuse(file, -errno, "--tokens: cannot read '%.200s': %m",
				      file->path);
		file->status = (struct stat){ .st_mode = 0600 };
		return 0;
	}
	/* rename() would replace a device, and reading a FIFO would not end. */
	if (!S_ISREG(file->status.st_mode))
		return refuse(file, -EINVAL, "--tokens: '%.200s' is not a regular file",
			      file->path);
	r = file_read(file->path, &file->text);
	return r < 0 ? refuse(file, r, "--tokens: cannot read '%.200s': %m", file->path) : 0;
}

/* ---- composing ---- */

/* Returns the number of blanks before the '-' of the first item. */
static unsigned int indent_of_items(struct bytes_view text)
{
	for (size_t i = 0; i < text.size; i++) {
		unsigned int indent = 0;

		for (; i < text.size && text.data[i] == ' '; i++)
			indent++;
		if (i + 1 < text.size && text.data[i] == '-' && text.data[i + 1] == ' ')
			return indent;
		while (i < text.size && text.data[i] != '\n')
			i++;
	}
	return DEFAULT_INDENT;
}

static int append_entry(const struct bytes *old, const char *key, const struct token *token,
			struct bytes *out)
{
	struct bytes_view view = bytes_view_of(old);

	(void)bytes_append(out, view.data ? view.data : (const uint8_t *)"", view.size);
	if (view.size > 0 && view.data[view.size - 1] != '\n')
		(void)bytes_append_byte(out, '\n');
	(void)bytes_append_text(out, key);
	return token_entry_format(token, indent_of_items(view), out);
}

/* Checks that @text has the @n_old old tokens, followed by @token. */
static int check_text(const struct bytes *text, const char *path, size_t n_old,
		      const struct token *token, char message[AUTH_MESSAGE_SIZE])
{
	struct token_set set = {};
	bool is_last;
	int r = token_set_parse(bytes_view_of(text), path, &set, message);

	if (r < 0)
		return r;
	is_last = set.count == n_old + 1 &&
		  memcmp(set.items[n_old].hash, token->hash, TOKEN_HASH_SIZE) == 0;
	token_set_release(&set);
	return is_last ? 0 : -EINVAL;
}

/* Counts the tokens of the file. A file that the parser refuses counts as having none, and
 * @reason has the parser's message: the file either gets its first token now, or has a mistake. */
static int count_tokens(struct tokens_file *file, const struct token *token, size_t *ret_count,
			char reason[AUTH_MESSAGE_SIZE])
{
	struct token_set set = {};
	bool is_taken = false;

	*ret_count = 0;
	if (token_set_parse(bytes_view_of(&file->text), file->path, &set, reason) < 0)
		return 0;
	*ret_count = set.count;
	for (size_t i = 0; i < set.count; i++)
		is_taken = is_taken || strcmp(set.items[i].name, token->name) == 0;
	token_set_release(&set);
	if (is_taken)
		return refuse(file, -EEXIST,
			      "'%.200s' has a token named '%s' already: choose another name, or "
			      "remove that entry to replace it",
			      file->path, token->name);
	return 0;
}

static int compose(struct tokens_file *file, const struct token *token, struct bytes *out)
{
	static const char *const keys[] = { "", "tokens:\n" };
	char reason[AUTH_MESSAGE_SIZE] = "", ignored[AUTH_MESSAGE_SIZE] = "";
	size_t n_old;
	int r = count_tokens(file, token, &n_old, reason);

	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		bytes_clear(out);
		r = append_entry(&file->text, keys[i], token, out);
		if (r == 0)
			r = check_text(out, file->path, n_old, token, *reason ? ignored : reason);
		if (r == -EFBIG)
			return refuse(file, r, "--tokens: '%.200s' would be larger than %d KiB",
				      file->path, (int)(MAX_FILE_BYTES / KIB));
		if (r != -EINVAL)
			return r;
	}
	return refuse(file, -EINVAL,
		      "cannot append an entry, the file stays as it is: %.300s; each entry must be "
		      "an item of a block list, as in docs/security.md",
		      reason);
}

/* ---- writing ---- */

static int write_temporary(const struct tokens_file *file, int fd, const struct bytes *text)
{
	int r;

	/* Keep owner and mode, so that a server that runs as another user can still read the
	 * file. */
	if (file->status.st_nlink > 0 && fchown(fd, file->status.st_uid, file->status.st_gid) < 0)
		return -errno;
	if (fchmod(fd, file->status.st_mode & 07777) < 0)
		return -errno;
	r = write_all(fd, text->data, text->size);
	if (r < 0)
		return r;
	return fsync(fd) < 0 ? -errno : 0;
}

static int replace(struct tokens_file *file, const struct bytes *text)
{
	scoped_free char *temporary = NULL;
	scoped_fd int fd = -1;
	int r;

	if (asprintf(&temporary, "%s.XXXXXX", file->path) < 0) {
		temporary = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return refuse(file, -errno, "--tokens: cannot write in '%.200s': %m", file->folder);
	r = write_temporary(file, fd, text);
	if (r == 0 && rename(temporary, file->path) < 0)
		r = -errno;
	if (r < 0) {
		(void)unlink(temporary);
		return refuse(file, r, "--tokens: cannot replace '%.200s': %m", file->path);
	}
	(void)fsync(file->folder_fd);
	return 0;
}

static int append_to_file(struct tokens_file *file, const char *path, const struct token *token,
			  uint64_t wait_ns)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(MAX_FILE_BYTES);
	int r;

	r = find_path(file, path);
	if (r < 0)
		return r;
	r = lock_folder(file, wait_ns);
	if (r < 0)
		return r;
	r = read_file(file);
	if (r < 0)
		return r;
	r = compose(file, token, &text);
	return r < 0 ? r : replace(file, &text);
}

int token_append(const char *path, const struct token *token, uint64_t wait_ns,
		 char ret_message[AUTH_MESSAGE_SIZE])
{
	scoped(tokens_file_release) struct tokens_file file = {
		.folder_fd = -1,
		.text = BYTES_INIT(MAX_FILE_BYTES),
		.message = ret_message,
	};
	int r = append_to_file(&file, path, token, wait_ns);

	return r == -ENOMEM ? refuse(&file, r, "--tokens: out of memory") : r;
}
