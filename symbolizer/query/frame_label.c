/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Consecutive frames of a stack are often in one executable. The last view is therefore cached in
 * front of the hash table.
 */

#include "symbolizer/query/frame_label.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/frame_kind.h"
#include "common/limits.h"
#include "symbolizer/flame/label.h"

/* Room for "[k] [", a path, and "]". */
#define LABEL_TEXT_BYTES (BATCH_MAX_TEXT_BYTES + 16)

struct view_key {
	uint64_t process;
	uint64_t executable; /* store id */
};

/* The labels' part that depends on both the process and the executable. */
struct executable_view {
	bool made;
	bool own;                /* the executable is the process's main program */
	uint32_t nameless_label; /* 1 + string_id of frames without a name; 0: not made */
};

int frame_labels_init(struct frame_labels *labels, struct tree *tree, struct frame_table *frames)
{
	int r;

	*labels = (struct frame_labels){ .tree = tree, .frames = frames };
	r = file_paths_init(&labels->paths);
	if (r == 0)
		r = hash_table_new(sizeof(struct view_key), sizeof(struct executable_view), 0,
				   &labels->views);
	if (r < 0)
		file_paths_release(&labels->paths);
	return r;
}

void frame_labels_release(struct frame_labels *labels)
{
	labels->views = hash_table_free(labels->views);
	file_paths_release(&labels->paths);
}

static int intern_format(struct frame_labels *labels, string_id *ret_label, const char *format, ...)
	printf_like(3, 4);

static int intern_format(struct frame_labels *labels, string_id *ret_label, const char *format, ...)
{
	char text[LABEL_TEXT_BYTES];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return tree_intern_label(labels->tree, text, strlen(text), ret_label);
}

static const struct store_executable *executable_of(const struct frame_labels *labels,
						    const struct frame *frame)
{
	return frame->executable == FRAME_NO_EXECUTABLE
		       ? NULL
		       : &labels->frames->executables[frame->executable];
}

static bool has_text(const char *text)
{
	return text && text[0];
}

/* Interns "@prefix[@name]". Names like "[vdso]" have brackets already. */
static int intern_in_brackets(struct frame_labels *labels, const char *prefix, const char *name,
			      string_id *ret_label)
{
	bool bare = name[0] != '[';

	return intern_format(labels, ret_label, "%s%s%s%s", prefix, bare ? "[" : "", name,
			     bare ? "]" : "");
}

/* True if the agent did not identify the main program, so that it is recognized by its path. */
static bool is_own_by_path(const struct store_process *process,
			   const struct store_executable *executable)
{
	return executable->role == ROLE_USER && process->main_executable == 0;
}

/* True if @executable is the main program of @process. */
static bool is_own(const struct frame_labels *labels, const struct store_process *process,
		   const struct store_executable *executable)
{
	const char *path;

	if (!is_own_by_path(process, executable))
		return executable->role == ROLE_USER && executable->id == process->main_executable;
	/* Compare paths, else take any file that is not a shared library. */
	path = file_paths_find(&labels->paths, process, executable->id);
	if (has_text(process->executable_path) && has_text(path))
		return strcmp(process->executable_path, path) == 0;
	return !has_text(executable->name) || !strstr(executable->name, ".so");
}

/* Makes the label of frames without a name in this executable. */
static int make_path_label(struct frame_labels *labels, const struct store_process *process,
			   const struct store_executable *executable, struct executable_view *view)
{
	const char *path = file_paths_find(&labels->paths, process, executable->id);
	string_id label;
	int r;

	if (!has_text(path))
		path = has_text(executable->name) ? executable->name : "unknown";
	r = intern_in_brackets(labels, "", path, &label);
	if (r == 0)
		view->nameless_label = label + 1;
	return r;
}

static int view_of(struct frame_labels *labels, const struct store_process *process,
		   const struct store_executable *executable, struct executable_view **ret_view)
{
	struct view_key key = { .process = process->id, .executable = executable->id };
	void *value;
	int r;

	if (!labels->last_view || labels->last_process != key.process ||
	    labels->last_executable != key.executable) {
		r = hash_table_insert(labels->views, &key, &value);
		if (r < 0)
			return r;
		labels->last_view = value;
		labels->last_process = key.process;
		labels->last_executable = key.executable;
	}
	if (!labels->last_view->made) {
		labels->last_view->own = is_own(labels, process, executable);
		labels->last_view->made = true;
	}
	*ret_view = labels->last_view;
	return 0;
}

/* True if @frame, which has no name, is labelled with the address at which its function begins. */
static bool has_function_start(const struct frame_labels *labels, const struct frame *frame)
{
	const struct store_executable *executable = executable_of(labels, frame);

	return labels->function_starts && !frame->kernel && executable &&
	       has_text(executable->name) && frame->function_start != RESOLVE_NO_START;
}

/*
 * Makes the label of a frame without a name that is in the kernel, in no executable, or in a
 * function with a known start: this label is the same in all processes.
 */
static int make_nameless_label(struct frame_labels *labels, const struct frame *frame,
			       string_id *ret_label)
{
	const struct store_executable *executable = executable_of(labels, frame);

	if (has_function_start(labels, frame))
		return intern_format(labels, ret_label, "%s+0x%" PRIx64, executable->name,
				     frame->function_start);
	if (!frame->kernel)
		return intern_format(labels, ret_label, "[unknown] 0x%016" PRIx64,
				     frame->stored.address);
	if (executable && executable->role == ROLE_KERNEL)
		return intern_format(labels, ret_label, "[k] [kernel]");
	if (executable && has_text(executable->name))
		return intern_in_brackets(labels, "[k] ", executable->name, ret_label);
	return intern_format(labels, ret_label, "[k] [unknown]");
}

/*
 * "[kind 19]", or the name of a kind that a file or address would not describe. Code without a name
 * may have a file: that of generated code is the perf map that does not list it.
 */
static int make_kind_label(struct frame_labels *labels, const struct frame *frame,
			   string_id *ret_label)
{
	const char *name = frame_kind_name(frame->stored.kind);

	if (frame->code_object != FRAME_NO_CODE_OBJECT &&
	    has_text(labels->frames->code_objects[frame->code_object].file))
		return intern_in_brackets(labels, "",
					  labels->frames->code_objects[frame->code_object].file,
					  ret_label);
	if (!name)
		return intern_format(labels, ret_label, "[kind %u]", frame->stored.kind);
	return intern_format(labels, ret_label, "[%s]", name);
}

/* True for a frame whose kind is all that is known: unknown kinds, and code without a name. */
static bool has_kind_only(const struct frame *frame)
{
	return !frame_kind_name(frame->stored.kind) ||
	       (!frame->kernel && frame_kind_allows(frame->stored.kind, FRAME_OBJECT_CODE));
}

/* True if @frame is labelled with the path of its executable when it has no name. */
static bool has_path_label(const struct frame_labels *labels, const struct frame *frame)
{
	return !frame->kernel && !has_kind_only(frame) && executable_of(labels, frame) &&
	       !has_function_start(labels, frame);
}

static bool has_name(const struct frame_labels *labels, const struct frame *frame)
{
	const struct frame_function *functions = labels->frames->functions.items;

	for (uint32_t i = frame->function; i != FRAME_NO_FUNCTION; i = functions[i].caller)
		if (functions[i].name)
			return true;
	return false;
}

bool frame_shows_path(const struct frame_labels *labels, uint32_t frame)
{
	const struct frame *of = &labels->frames->frames[frame];

	return has_path_label(labels, of) && !has_name(labels, of);
}

bool frame_needs_path(const struct frame_labels *labels, const struct store_process *process,
		      uint32_t frame)
{
	const struct frame *of = &labels->frames->frames[frame];
	const struct store_executable *executable = executable_of(labels, of);

	if (!of->kernel && executable && is_own_by_path(process, executable))
		return true;
	return frame_shows_path(labels, frame);
}

int frame_labels_want(struct frame_labels *labels, const struct store_process *process,
		      uint32_t frame)
{
	const struct frame *of = &labels->frames->frames[frame];

	return file_paths_want(&labels->paths, process, executable_of(labels, of)->id);
}

static int nameless_label(struct frame_labels *labels, const struct store_process *process,
			  struct frame *frame, bool outermost, string_id *ret_label)
{
	const struct store_executable *executable = executable_of(labels, frame);
	struct executable_view *view;
	int r = 0;

	if (has_kind_only(frame))
		return make_kind_label(labels, frame, ret_label);
	if (has_path_label(labels, frame)) {
		r = view_of(labels, process, executable, &view);
		if (r == 0 && view->nameless_label == 0)
			r = make_path_label(labels, process, executable, view);
		if (r == 0)
			*ret_label = view->nameless_label - 1;
		return r;
	}
	if (!frame->kernel && !executable && outermost)
		return intern_format(labels, ret_label, "[unknown start_thread?]");
	if (frame->nameless_label == 0) {
		r = make_nameless_label(labels, frame, ret_label);
		if (r < 0)
			return r;
		frame->nameless_label = *ret_label + 1;
	}
	*ret_label = frame->nameless_label - 1;
	return 0;
}

/* Interns @prefix and @function on the first call, and caches the label as 1 + ID in *memo. */
static int function_label(struct frame_labels *labels, const char *prefix, const char *function,
			  uint32_t *memo, string_id *ret_label)
{
	/* Longer than LABEL_MAX_BYTES, so that label_append() cuts a long label and marks the
	 * cut. */
	char prefixed[LABEL_MAX_BYTES + 16];
	string_id label;
	int r;

	if (*memo == 0) {
		(void)snprintf(prefixed, sizeof(prefixed), "%s%s", prefix, function);
		r = tree_intern_label(labels->tree, prefixed, strlen(prefixed), &label);
		if (r < 0)
			return r;
		*memo = label + 1;
	}
	*ret_label = *memo - 1;
	return 0;
}

/*
 * The label of a function in a code object: "name (file:line)", with the file without its folder;
 * "name (file)" if no line is known, and "name" if no file is known or shown.
 */
static int code_label(struct frame_labels *labels, struct frame_function *function,
		      string_id *ret_label)
{
	const char *path = function->shows_line ? function->file : NULL;
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *file = slash ? slash + 1 : path;
	char place[BATCH_MAX_TEXT_BYTES + 16] = "";
	string_id label;
	int r;

	if (function->code_label == 0) {
		if (has_text(file) && function->line != 0)
			(void)snprintf(place, sizeof(place), " (%s:%u)", file, function->line);
		else if (has_text(file))
			(void)snprintf(place, sizeof(place), " (%s)", file);
		r = intern_format(labels, &label, "%s%s", function->name, place);
		if (r < 0)
			return r;
		function->code_label = label + 1;
	}
	*ret_label = function->code_label - 1;
	return 0;
}

static int named_label(struct frame_labels *labels, const struct store_process *process,
		       const struct frame *frame, struct frame_function *function,
		       string_id *ret_label)
{
	const struct store_executable *executable = executable_of(labels, frame);
	struct executable_view *view;
	int r;

	if (frame->kernel)
		return function_label(labels, "[k] ", function->name, &function->kernel_label,
				      ret_label);
	/* The frame is in a code object. */
	if (!executable)
		return code_label(labels, function, ret_label);
	r = view_of(labels, process, executable, &view);
	if (r < 0)
		return r;
	if (view->own)
		return function_label(labels, "", function->name, &function->own_label, ret_label);
	return function_label(labels, "[l] ", function->name, &function->library_label, ret_label);
}

int frame_label(struct frame_labels *labels, const struct store_process *process,
		const struct frame_of_stack *of, string_id *ret_label, char *ret_type)
{
	struct frame *frame = &labels->frames->frames[of->index];
	int r;

	if (of->function == FRAME_NO_FUNCTION)
		r = nameless_label(labels, process, frame, of->outermost, ret_label);
	else
		r = named_label(labels, process, frame,
				&labels->frames->functions.items[of->function], ret_label);
	if (r < 0)
		return r;
	*ret_type = of->function == FRAME_NO_FUNCTION && has_function_start(labels, frame)
			    ? '?'
			    : tree_label_type(labels->tree, *ret_label);
	return 0;
}
