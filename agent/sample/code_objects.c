/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each object is one allocation with its texts after it. Two tables lead to it: by the hash of its
 * content and by its number.
 */
#include "agent/sample/code_objects.h"

#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/hash_table.h"
#include "common/limits.h"
#include "common/log.h"

/* 1.6 MB with names of 30 bytes. A large Python program runs some thousand functions. */
#define MAX_OBJECTS 16384

/* The line tables of all objects, which are the largest part of them. */
#define MAX_CONTENT_BYTES (8 * MIB)

/* Objects are removed when the table is more than 1/4 full. */
#define SWEEP_FRACTION 4

/* Windows (of 5 s) after which an unused object is removed. */
#define KEEP_WINDOWS 12

struct code_objects {
	struct hash_table *by_hash;   /* uint64_t -> struct code_object * */
	struct hash_table *by_number; /* uint32_t -> struct code_object * */
	uint32_t next_number;
	uint64_t window;
	uint64_t n_lost;
	size_t content_bytes;
};

int code_objects_new(struct code_objects **ret_objects)
{
	scoped(code_objects_freep) struct code_objects *objects = calloc(1, sizeof(*objects));
	int r;

	if (!objects)
		return -ENOMEM;
	objects->next_number = 1;
	r = hash_table_new(sizeof(uint64_t), sizeof(void *), 0, &objects->by_hash);
	if (r == 0)
		r = hash_table_new(sizeof(uint32_t), sizeof(void *), 0, &objects->by_number);
	if (r < 0)
		return r;
	*ret_objects = take_ptr(objects);
	return 0;
}

struct code_objects *code_objects_free(struct code_objects *objects)
{
	size_t cursor = 0;
	void *value;

	if (!objects)
		return NULL;
	while (objects->by_number && hash_table_next(objects->by_number, &cursor, NULL, &value))
		free(*(struct code_object **)value);
	(void)hash_table_free(objects->by_hash);
	(void)hash_table_free(objects->by_number);
	free(objects);
	return NULL;
}

/* The texts of a content, for loops over them. */
#define N_TEXTS 4

static void texts_of(const struct code_content *content, const char *ret_texts[N_TEXTS])
{
	ret_texts[0] = content->language;
	ret_texts[1] = content->function;
	ret_texts[2] = content->qualified_name;
	ret_texts[3] = content->file;
}

static size_t text_size(const char *text)
{
	return text ? strnlen(text, BATCH_MAX_TEXT_BYTES) + 1 : 0;
}

static size_t content_size(const struct code_content *content)
{
	const char *texts[N_TEXTS];
	size_t size = content->line_table.size;

	texts_of(content, texts);
	for (size_t i = 0; i < N_TEXTS; i++)
		size += text_size(texts[i]);
	return size;
}

static uint64_t hash_of(const struct code_content *content)
{
	const char *texts[N_TEXTS];
	uint64_t parts[N_TEXTS + 2];

	texts_of(content, texts);
	for (size_t i = 0; i < N_TEXTS; i++)
		parts[i] = texts[i] ? hash64_of(texts[i], text_size(texts[i]) - 1) : 0;
	parts[N_TEXTS] = hash64_of(content->line_table.data, content->line_table.size);
	parts[N_TEXTS + 1] = content->first_line;
	return hash64_of(parts, sizeof(parts));
}

static const char *copy_text(char **room, const char *text)
{
	char *copy = *room;
	size_t size = text_size(text);

	if (size == 0)
		return NULL;
	memcpy(copy, text, size - 1);
	copy[size - 1] = '\0';
	*room += size;
	return copy;
}

static struct code_object *new_object(const struct code_content *content)
{
	struct code_object *object = malloc(sizeof(*object) + content_size(content));
	char *room = (char *)(object + 1);

	if (!object)
		return NULL;
	*object = (struct code_object){};
	object->content.language = copy_text(&room, content->language);
	object->content.function = copy_text(&room, content->function);
	object->content.qualified_name = copy_text(&room, content->qualified_name);
	object->content.file = copy_text(&room, content->file);
	object->content.first_line = content->first_line;
	object->content.line_table = (struct bytes_view){ .data = (const uint8_t *)room,
							  .size = content->line_table.size };
	if (content->line_table.size > 0)
		memcpy(room, content->line_table.data, content->line_table.size);
	return object;
}

static bool has_room(struct code_objects *objects, const struct code_content *content)
{
	if (content->line_table.size <= MAX_LINE_TABLE_BYTES &&
	    hash_table_count(objects->by_number) < MAX_OBJECTS &&
	    objects->content_bytes + content_size(content) <= MAX_CONTENT_BYTES)
		return true;
	if (objects->n_lost++ == 0)
		log_warn("more than %d functions without a file (BPF programs, trampolines, "
			 "interpreters) are in use, or they take more than %llu MiB: frames in "
			 "further ones lack names",
			 MAX_OBJECTS, (unsigned long long)(MAX_CONTENT_BYTES / MIB));
	return false;
}

static int add_object(struct code_objects *objects, const struct code_content *content,
		      uint64_t hash, struct code_object **ret_object)
{
	scoped_free struct code_object *object = new_object(content);
	void *value;
	int r;

	if (!object)
		return -ENOMEM;
	object->number = objects->next_number;
	object->hash = hash;
	r = hash_table_insert(objects->by_number, &object->number, &value);
	if (r < 0)
		return r;
	*(struct code_object **)value = object;
	r = hash_table_insert(objects->by_hash, &hash, &value);
	if (r < 0) {
		(void)hash_table_remove(objects->by_number, &object->number);
		return r;
	}
	*(struct code_object **)value = object;
	objects->next_number++;
	objects->content_bytes += content_size(content);
	*ret_object = take_ptr(object);
	return 0;
}

int code_objects_find(struct code_objects *objects, const struct code_content *content,
		      uint32_t *ret_number)
{
	uint64_t hash = hash_of(content);
	struct code_object **found = hash_table_find(objects->by_hash, &hash);
	struct code_object *object = found ? *found : NULL;
	int r;

	if (!object) {
		if (!has_room(objects, content))
			return 0;
		r = add_object(objects, content, hash, &object);
		if (r < 0)
			return r;
	}
	object->last_window = objects->window;
	*ret_number = object->number;
	return 1;
}

struct code_object *code_objects_get(const struct code_objects *objects, uint32_t number)
{
	struct code_object **found = hash_table_find(objects->by_number, &number);

	return found ? *found : NULL;
}

void code_objects_use(struct code_objects *objects, uint32_t number)
{
	struct code_object *object = code_objects_get(objects, number);

	if (object)
		object->last_window = objects->window;
}

void code_objects_begin_window(struct code_objects *objects, uint64_t window)
{
	size_t cursor = 0;
	void *value;

	objects->window = window;
	if (hash_table_count(objects->by_number) <= MAX_OBJECTS / SWEEP_FRACTION &&
	    objects->content_bytes <= MAX_CONTENT_BYTES / SWEEP_FRACTION)
		return;
	while (hash_table_next(objects->by_number, &cursor, NULL, &value)) {
		struct code_object *object = *(struct code_object **)value;

		if (object->last_window + KEEP_WINDOWS >= window)
			continue;
		objects->content_bytes -= content_size(&object->content);
		(void)hash_table_remove(objects->by_hash, &object->hash);
		hash_table_remove_at_cursor(objects->by_number, &cursor);
		free(object);
	}
}

void code_objects_forget_sendings(struct code_objects *objects, uint64_t acknowledged_sequence)
{
	size_t cursor = 0;
	void *value;

	while (hash_table_next(objects->by_number, &cursor, NULL, &value)) {
		struct code_object *object = *(struct code_object **)value;

		if (object->first_sent_sequence > acknowledged_sequence)
			object->first_sent_sequence = 0;
	}
}

uint64_t code_objects_lost(const struct code_objects *objects)
{
	return objects->n_lost;
}
