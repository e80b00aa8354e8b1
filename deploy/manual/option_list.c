/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups follow the rules of argp.h. An option without a group number is in the group of the option
 * before it. A heading without a number starts the next group. Groups are sorted by number, with
 * negative numbers last.
 */

#include "deploy/manual/option_list.h"

#include <limits.h>
#include <string.h>

/* All texts of a table. The longest table has a tenth of this. */
#define MAX_TEXT_BYTES ((size_t)MIB)

/* Options that argp adds to every program without ARGP_NO_HELP. */
static const struct argp_option help_options[] = {
	{ "help", '?', NULL, 0, "print the options and exit", -1 },
	{ "usage", 0, NULL, 0, "print a short help and exit", -1 },
	{},
};

/*
 * The result of argp_parse(). It is global, because programs call argp_parse() with their own
 * arguments, so that option_list_capture() cannot pass a pointer to it.
 */
static struct capture {
	struct option_list *list; /* NULL: no capture in progress */
	bool is_done;
	int error;
} capture;

static bool is_end(const struct argp_option *option)
{
	return !option->name && !option->key && !option->doc && !option->group;
}

/* Replaces @text, which may be NULL, by a copy that lives as long as @list. */
static int keep_text(struct option_list *list, const char **text)
{
	if (*text) {
		*text = arena_copy_text(list->texts, *text, strlen(*text));
		if (!*text)
			return -ENOMEM;
	}
	return 0;
}

static int add_row(struct option_row row, struct option_list *list)
{
	int r;

	r = keep_text(list, &row.name);
	if (r < 0)
		return r;
	r = keep_text(list, &row.argument);
	if (r < 0)
		return r;
	r = keep_text(list, &row.doc);
	return r < 0 ? r : vec_push(&list->rows, row);
}

static struct option_row make_row(const struct argp_option *option, int group, const char *heading)
{
	return (struct option_row){
		.name = option->name,
		.argument = option->arg,
		.doc = option->doc,
		.heading = heading,
		.group = group,
		.letter = option->key > ' ' && option->key < 0x7f ? (char)option->key : '\0',
		.argument_is_optional = option->flags & OPTION_ARG_OPTIONAL,
		.is_hidden = option->flags & OPTION_HIDDEN,
	};
}

static int add_alias(const struct argp_option *option, struct option_list *list)
{
	struct option_row row;

	if (list->rows.count == 0)
		return 0;
	row = list->rows.items[list->rows.count - 1];
	row.name = option->name;
	row.letter = '\0';
	row.doc = NULL;
	row.is_hidden = option->flags & OPTION_HIDDEN;
	return add_row(row, list);
}

static int add_options(const struct argp_option *options, struct option_list *list)
{
	const char *heading = NULL;
	int group = 0;
	int r = 0;

	for (; options && !is_end(options) && r == 0; options++) {
		bool is_heading = !options->name && !options->key;

		if (options->group != 0 && options->group != group) {
			group = options->group;
			heading = NULL;
		} else if (is_heading && options->group == 0) {
			group++;
		}
		if (is_heading) {
			heading = options->doc;
			r = keep_text(list, &heading);
		} else if (options->flags & OPTION_ALIAS) {
			r = add_alias(options, list);
		} else {
			r = add_row(make_row(options, group, heading), list);
		}
	}
	return r;
}

static int add_argp(const struct argp *argp, struct option_list *list)
{
	int r = add_options(argp->options, list);

	for (const struct argp_child *child = argp->children; child && child->argp && r == 0;
	     child++)
		r = add_argp(child->argp, list);
	return r;
}

/* Negative groups follow all others. */
static int64_t order_of(const struct option_row *row)
{
	return row->group < 0 ? (int64_t)INT_MAX + 1 - INT_MIN + row->group : row->group;
}

/* Insertion sort: tables are short, and options of one group must keep their order. */
static void sort_by_group(struct option_vec *rows)
{
	for (size_t i = 1; i < rows->count; i++) {
		struct option_row row = rows->items[i];
		size_t j = i;

		for (; j > 0 && order_of(&rows->items[j - 1]) > order_of(&row); j--)
			rows->items[j] = rows->items[j - 1];
		rows->items[j] = row;
	}
}

/* A group may have options in several tables, but its heading in only one. */
static void share_headings(struct option_vec *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		struct option_row *row = &rows->items[i];

		for (size_t j = 0; j < rows->count && row->group > 0; j++) {
			if (rows->items[j].group != row->group || !rows->items[j].heading)
				continue;
			row->heading = rows->items[j].heading;
			break;
		}
	}
}

int option_list_of_table(const struct argp *argp, struct option_list *ret_list)
{
	struct option_list list = { .arguments = argp->args_doc, .doc = argp->doc };
	int r = arena_new(MAX_TEXT_BYTES, &list.texts);

	if (r == 0)
		r = keep_text(&list, &list.arguments);
	if (r == 0)
		r = keep_text(&list, &list.doc);
	if (r == 0)
		r = add_argp(argp, &list);
	if (r < 0) {
		option_list_release(&list);
		return r;
	}
	sort_by_group(&list.rows);
	share_headings(&list.rows);
	*ret_list = list;
	return 0;
}

static int take_table(const struct argp *argp, unsigned int flags, struct option_list *ret_list)
{
	const struct argp_child children[] = { { argp, 0, NULL, 0 }, {} };
	const struct argp with_help = {
		.options = flags & ARGP_NO_HELP ? NULL : help_options,
		.args_doc = argp->args_doc,
		.doc = argp->doc,
		.children = children,
	};

	return option_list_of_table(&with_help, ret_list);
}

/*
 * Replaces the function of libc in the calls of programs. It returns an error, so that the program
 * stops before it does anything.
 */
error_t argp_parse(const struct argp *argp, int argc, char **argv, unsigned int flags,
		   int *arg_index, void *input)
{
	(void)argc;
	(void)argv;
	(void)arg_index;
	(void)input;
	if (capture.list && !capture.is_done) {
		capture.error = take_table(argp, flags, capture.list);
		capture.is_done = true;
	}
	return EINVAL;
}

int option_list_capture(void (*parse)(const void *arg), const void *arg,
			struct option_list *ret_list)
{
	capture = (struct capture){ .list = ret_list };
	parse(arg);
	capture.list = NULL;
	return capture.is_done ? capture.error : -ENOENT;
}

void option_list_release(struct option_list *list)
{
	vec_release(&list->rows);
	list->texts = arena_free(list->texts);
}
