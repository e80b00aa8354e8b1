/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/head/stack_content.h"

#include <string.h>

#include "common/frame_kind.h"

/* A frame, or the end of a stack. */
struct frame_words {
	uint64_t kind, address;
	struct content object;
};

static struct content hash_bytes(const struct stack_seeds *seeds, const void *data, size_t size)
{
	return (struct content){ { hash64_seeded(data, size, seeds->seeds[0]),
				   hash64_seeded(data, size, seeds->seeds[1]) } };
}

static struct content hash_text(const struct stack_seeds *seeds, const char *text)
{
	return hash_bytes(seeds, text, strlen(text));
}

static struct content hash_segments(const struct stack_seeds *seeds,
				    const struct batch_executable *executable)
{
	struct content sum = {};

	for (uint32_t i = 0; i < executable->n_segments; i++) {
		const struct load_segment *segment = &executable->segments[i];
		const uint64_t words[] = { sum.words[0], sum.words[1], segment->file_offset,
					   segment->vaddr, segment->file_size };

		sum = hash_bytes(seeds, words, sizeof(words));
	}
	return sum;
}

static struct content hash_executable(const struct stack_seeds *seeds,
				      const struct batch_executable *executable)
{
	const struct content parts[] = {
		{ { executable->id.kind, executable->role } },
		hash_bytes(seeds, executable->id.bytes, executable->id.size),
		hash_text(seeds, executable->name),
		hash_segments(seeds, executable),
	};

	return hash_bytes(seeds, parts, sizeof(parts));
}

static struct content hash_code_object(const struct stack_seeds *seeds,
				       const struct batch_code_object *code)
{
	const struct content parts[] = {
		{ { UINT64_MAX, code->first_line } },
		hash_bytes(seeds, &code->hash, sizeof(code->hash)),
		hash_text(seeds, code->language),
		hash_text(seeds, code->function),
		hash_text(seeds, code->qualified_name),
		hash_text(seeds, code->file),
		hash_bytes(seeds, code->line_table.size ? code->line_table.data : (const void *)"",
			   code->line_table.size),
	};

	return hash_bytes(seeds, parts, sizeof(parts));
}

/* What a frame refers to. Zero: nothing. */
static struct content object_content(const struct numbers *numbers, const struct stack_seeds *seeds,
				     const struct numbers_node *node)
{
	struct numbers_object *object;
	const char *name;

	if (node->object == 0) {
		name = node->kind == FRAME_KERNEL_NAMED ? numbers_name(numbers, node->address)
							: NULL;
		return name ? hash_text(seeds, name) : (struct content){};
	}
	object = numbers_object(numbers, node->object);
	if (!object)
		return (struct content){};
	if (!has_content(&object->content))
		object->content = node->object & FRAME_CODE_OBJECT
					  ? hash_code_object(seeds, &object->code)
					  : hash_executable(seeds, &object->executable);
	return object->content;
}

const struct content *stack_content(const struct numbers *numbers, const struct stack_seeds *seeds,
				    struct numbers_stack *stack)
{
	struct frame_words words[STACK_MAX_FRAMES + 1];
	uint32_t object = 0;
	size_t n = 0;

	if (has_content(&stack->content))
		return &stack->content;
	for (uint32_t i = stack->leaf; i && n < STACK_MAX_FRAMES; n++) {
		const struct numbers_node *node = &numbers->nodes.items[i - 1];

		words[n] = (struct frame_words){ .kind = node->kind, .address = node->address };
		/* Adjacent frames mostly have the same object. */
		words[n].object = n > 0 && object == node->object && object != 0
					  ? words[n - 1].object
					  : object_content(numbers, seeds, node);
		object = node->object;
		i = node->parent;
	}
	words[n] = (struct frame_words){ .kind = UINT64_MAX, .address = stack->cut };
	stack->content = hash_bytes(seeds, words, (n + 1) * sizeof(*words));
	return &stack->content;
}
