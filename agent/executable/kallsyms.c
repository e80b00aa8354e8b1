/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines are "ffffffff81000000 T _text" and "ffffffffc0201000 t name\t[owner]". Before each read the
 * unread rest of the buffer is moved to its start. A line that does not fit into the whole buffer
 * is skipped.
 */
#include "agent/executable/kallsyms.h"

#include <fcntl.h>
#include <string.h>

#define BUFFER_BYTES ((size_t)(32 * KIB))

struct kallsyms {
	int fd;
	bool at_end;
	bool skips_line; /* the current line was too long: skip its rest */
	size_t start, end;
	char buffer[BUFFER_BYTES];
};

int kallsyms_open(const char *path, struct kallsyms **ret_kallsyms)
{
	scoped(kallsyms_closep) struct kallsyms *kallsyms = calloc(1, sizeof(*kallsyms));

	if (!kallsyms)
		return -ENOMEM;
	kallsyms->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (kallsyms->fd < 0)
		return -errno;
	*ret_kallsyms = take_ptr(kallsyms);
	return 0;
}

struct kallsyms *kallsyms_close(struct kallsyms *kallsyms)
{
	if (!kallsyms)
		return NULL;
	if (kallsyms->fd >= 0)
		(void)close(kallsyms->fd);
	free(kallsyms);
	return NULL;
}

static int refill(struct kallsyms *kallsyms)
{
	ssize_t n;

	memmove(kallsyms->buffer, kallsyms->buffer + kallsyms->start,
		kallsyms->end - kallsyms->start);
	kallsyms->end -= kallsyms->start;
	kallsyms->start = 0;
	if (kallsyms->end == BUFFER_BYTES) {
		kallsyms->end = 0;
		kallsyms->skips_line = true;
	}
	do
		n = read(kallsyms->fd, kallsyms->buffer + kallsyms->end,
			 BUFFER_BYTES - kallsyms->end);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	kallsyms->at_end = n == 0;
	kallsyms->end += (size_t)n;
	return 0;
}

/* 1: *ret_line is a line without its newline; 0: end of file. */
static int next_line(struct kallsyms *kallsyms, char **ret_line)
{
	for (;;) {
		char *line = kallsyms->buffer + kallsyms->start;
		char *end = memchr(line, '\n', kallsyms->end - kallsyms->start);
		int r;

		if (end) {
			*end = '\0';
			kallsyms->start += (size_t)(end - line) + 1;
			if (!kallsyms->skips_line) {
				*ret_line = line;
				return 1;
			}
			kallsyms->skips_line = false;
			continue;
		}
		if (kallsyms->at_end)
			return 0;
		r = refill(kallsyms);
		if (r < 0)
			return r;
	}
}

static bool parse_address(char **line, uint64_t *ret_address)
{
	uint64_t address = 0;
	char *next = *line;

	for (; *next && *next != ' '; next++) {
		unsigned int digit;

		if (*next >= '0' && *next <= '9')
			digit = (unsigned int)(*next - '0');
		else if (*next >= 'a' && *next <= 'f')
			digit = (unsigned int)(*next - 'a') + 10;
		else
			return false;
		address = address << 4 | digit;
	}
	if (next == *line || *next != ' ')
		return false;
	*line = next + 1;
	*ret_address = address;
	return true;
}

static bool copy_bounded(char *to, size_t size, const char *from, size_t length)
{
	if (length >= size)
		return false;
	memcpy(to, from, length);
	to[length] = '\0';
	return true;
}

static bool parse_symbol(char *line, struct kallsyms_symbol *ret_symbol)
{
	const char *owner;
	size_t length;

	if (!parse_address(&line, &ret_symbol->address))
		return false;
	if (!line[0] || line[1] != ' ')
		return false;
	ret_symbol->type = line[0];
	line += 2;

	length = strcspn(line, "\t ");
	if (length == 0 || !copy_bounded(ret_symbol->name, KALLSYMS_NAME_SIZE, line, length))
		return false;
	owner = line + length + strspn(line + length, "\t ");
	ret_symbol->owner[0] = '\0';
	if (*owner != '[')
		return true;
	owner++;
	return copy_bounded(ret_symbol->owner, KALLSYMS_OWNER_SIZE, owner, strcspn(owner, "]"));
}

int kallsyms_next(struct kallsyms *kallsyms, struct kallsyms_symbol *ret_symbol)
{
	for (;;) {
		char *line;
		int r;

		r = next_line(kallsyms, &line);
		if (r <= 0)
			return r;
		if (parse_symbol(line, ret_symbol))
			return 1;
	}
}

bool kallsyms_is_text(const struct kallsyms_symbol *symbol)
{
	return symbol->type == 't' || symbol->type == 'T' || symbol->type == 'w' ||
	       symbol->type == 'W';
}
