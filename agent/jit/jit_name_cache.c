/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A name is identified by the offset of its entry in the file, and by the place in the code if the
 * file has source lines for it.
 */
#include <stdlib.h>

#include "agent/jit/jit_names_private.h"

/* Names kept of one file: 1 MiB. When there are more, all are asked for again. */
#define MAX_KNOWN ((size_t)(32 * KIB))

int jit_file_init(struct jit_file *file)
{
	*file = (struct jit_file){ .fd = -1 };
	return hash_table_new(sizeof(uint64_t), sizeof(struct jit_known), MAX_KNOWN, &file->known);
}

void jit_file_release(struct jit_file *file)
{
	scoped_close(&file->fd);
	jit_ranges_release(&file->ranges);
	(void)hash_table_free(file->known);
}

void jit_file_clear(struct jit_file *file)
{
	jit_ranges_clear(&file->ranges);
	hash_table_clear(file->known);
	file->position = (struct jit_position){};
}

bool jit_file_find(const struct jit_file *file, uint64_t pc, uint64_t time_ns, uint64_t *ret_key)
{
	uint32_t code_offset = 0;
	const struct jit_range *range = jit_ranges_find(&file->ranges, pc, time_ns, &code_offset);

	if (!range)
		return false;
	*ret_key =
		(uint64_t)range->offset << 32 | (range->size & JIT_RANGE_LINES ? code_offset : 0);
	return true;
}

struct jit_known *jit_file_known(const struct jit_file *file, const struct code_objects *objects,
				 uint64_t key)
{
	struct jit_known *known = hash_table_find(file->known, &key);

	if (known && known->object != 0 && known->object != JIT_ASKED &&
	    !code_objects_get(objects, known->object))
		return NULL;
	return known;
}

void jit_file_ask(struct jit_process *process, struct jit_file *file)
{
	const struct code_objects *objects = process->names->options.objects;
	const void *pc;
	void *time_ns;
	size_t cursor = 0;

	process->n_asked = 0;
	while (process->n_asked < JIT_MAX_NAMES &&
	       hash_table_next(process->wanted, &cursor, &pc, &time_ns)) {
		uint64_t key;
		void *value;

		if (!jit_file_find(file, *(const uint64_t *)pc, *(uint64_t *)time_ns, &key) ||
		    jit_file_known(file, objects, key))
			continue;
		if (hash_table_count(file->known) >= MAX_KNOWN) {
			hash_table_clear(file->known);
			process->n_asked = 0;
			cursor = 0;
		}
		if (hash_table_insert(file->known, &key, &value) < 0)
			return;
		*(struct jit_known *)value = (struct jit_known){ .object = JIT_ASKED };
		process->asked[process->n_asked++] = key;
	}
}

static const char *text_or_null(const char *text)
{
	return text[0] ? text : NULL;
}

/* Finds or adds the code object of a name. 0: there is none. */
static uint32_t object_of(struct jit_names *names, const struct jit_named_texts *name)
{
	const bool has_name = name->result == 0 && name->function[0];
	uint32_t number = 0;

	if (!has_name)
		return 0;
	if (code_objects_find(names->options.objects,
			      &(struct code_content){
				      .language = name->language,
				      .function = name->function,
				      .file = text_or_null(name->file),
				      .first_line = name->first_line,
			      },
			      &number) != 1)
		names->lacks_objects = true;
	return number;
}

int jit_file_take_names(struct jit_process *process, struct jit_file *file,
			const struct helper_message *answer)
{
	int n_names = jit_names_answer_decode(answer);
	struct jit_named_texts name;
	size_t offset = 0;
	int count = 0;

	if (n_names < 0)
		return n_names;
	while (count < n_names && (size_t)count < process->n_asked &&
	       jit_names_answer_next(answer, &offset, &name)) {
		struct jit_known *known = hash_table_find(file->known, &process->asked[count++]);

		if (known)
			*known = (struct jit_known){ .object = object_of(process->names, &name),
						     .line = name.line };
	}
	return count;
}

void jit_file_forget_asked(struct jit_process *process, struct jit_file *file)
{
	for (size_t i = 0; i < process->n_asked; i++) {
		struct jit_known *known = hash_table_find(file->known, &process->asked[i]);

		if (known && known->object == JIT_ASKED)
			(void)hash_table_remove(file->known, &process->asked[i]);
	}
	process->n_asked = 0;
}
