/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/segment/segment_executables.h"

#include "common/scoped.h"
#include "symbolizer/store/segment/segment_columns.h"

struct walk {
	struct column class, id, name, role; /* of OBJECT */
	struct column object, path;          /* of PATH */
	struct column_texts texts;
	segment_executable_function function;
	void *arg; /* of function */
};

static struct segment_executable describe(const struct walk *walk, size_t row)
{
	return (struct segment_executable){
		.class = (unsigned int)column_value(&walk->class, row),
		.role = column_value(&walk->role, row),
		.id = column_text(&walk->texts, column_value(&walk->id, row)),
		.name = column_text(&walk->texts, column_value(&walk->name, row)),
	};
}

static bool is_executable(const struct walk *walk, size_t row)
{
	const uint64_t class = column_value(&walk->class, row);

	return class != EXECUTABLE_ID_NONE && class < SEGMENT_CODE_OBJECT;
}

static int visit_all(const struct walk *walk)
{
	/* [rows of OBJECT] row of PATH + 1 */
	scoped_free size_t *path_of = calloc(walk->class.count + 1, sizeof(*path_of));
	int r = 0;

	if (!path_of)
		return -ENOMEM;
	for (size_t i = 0; i < walk->object.count; i++)
		path_of[column_value(&walk->object, i)] = i + 1;
	for (size_t i = 0; i < walk->class.count && r == 0; i++) {
		struct segment_executable executable;

		if (!is_executable(walk, i))
			continue;
		executable = describe(walk, i);
		if (path_of[i])
			executable.path = column_text(&walk->texts,
						      column_value(&walk->path, path_of[i] - 1));
		r = MIN(walk->function(walk->arg, &executable), 0);
	}
	return r;
}

int segment_executables(const struct segment *segment, segment_executable_function function,
			void *arg)
{
	const struct walk walk = {
		.class = column_of_segment(segment, SEGMENT_OBJECT, OBJECT_CLASS),
		.id = column_of_segment(segment, SEGMENT_OBJECT, OBJECT_ID),
		.name = column_of_segment(segment, SEGMENT_OBJECT, OBJECT_NAME),
		.role = column_of_segment(segment, SEGMENT_OBJECT, OBJECT_ROLE),
		.object = column_of_segment(segment, SEGMENT_PATH, PATH_OBJECT),
		.path = column_of_segment(segment, SEGMENT_PATH, PATH_PATH),
		.texts = { .segment = segment },
		.function = function,
		.arg = arg,
	};

	return visit_all(&walk);
}

static struct walk walk_of_builder(const struct segment_builder *builder)
{
	return (struct walk){
		.class = column_of_builder(builder, SEGMENT_OBJECT, OBJECT_CLASS),
		.id = column_of_builder(builder, SEGMENT_OBJECT, OBJECT_ID),
		.name = column_of_builder(builder, SEGMENT_OBJECT, OBJECT_NAME),
		.role = column_of_builder(builder, SEGMENT_OBJECT, OBJECT_ROLE),
		.object = column_of_builder(builder, SEGMENT_PATH, PATH_OBJECT),
		.path = column_of_builder(builder, SEGMENT_PATH, PATH_PATH),
		.texts = { .builder = builder },
	};
}

int segment_builder_executables(const struct segment_builder *builder,
				segment_executable_function function, void *arg)
{
	struct walk walk = walk_of_builder(builder);

	walk.function = function;
	walk.arg = arg;
	return visit_all(&walk);
}

/* An executable with a class and an ID. */
struct sought {
	uint64_t class;
	string_id id;
};

static bool is_sought(const struct walk *walk, const struct sought *sought, size_t row)
{
	return column_value(&walk->id, row) == sought->id &&
	       column_value(&walk->class, row) == sought->class;
}

/* 1 found, 0. */
static int find_object(const struct walk *walk, const struct sought *sought, size_t *n_rows,
		       struct segment_executable *ret_executable)
{
	size_t row = 0;

	while (row < walk->class.count && !is_sought(walk, sought, row))
		row++;
	*n_rows += row;
	if (row == walk->class.count)
		return 0;
	*ret_executable = describe(walk, row);
	return 1;
}

static void find_path(const struct walk *walk, const struct sought *sought, size_t *n_rows,
		      struct segment_executable *executable)
{
	size_t row = 0;

	while (row < walk->object.count &&
	       !is_sought(walk, sought, column_value(&walk->object, row)))
		row++;
	*n_rows += row;
	if (row < walk->object.count)
		executable->path = column_text(&walk->texts, column_value(&walk->path, row));
}

int segment_builder_find_executable(const struct segment_builder *builder,
				    const struct executable_id *identity, size_t *n_rows,
				    struct segment_executable *ret_executable)
{
	const struct walk walk = walk_of_builder(builder);
	struct sought sought = { .class = identity->kind };
	int r;

	if (identity->kind == EXECUTABLE_ID_NONE ||
	    !string_table_find(builder->texts, (const char *)identity->bytes, identity->size,
			       &sought.id))
		return 0;
	r = find_object(&walk, &sought, n_rows, ret_executable);
	if (r > 0)
		find_path(&walk, &sought, n_rows, ret_executable);
	return r;
}
