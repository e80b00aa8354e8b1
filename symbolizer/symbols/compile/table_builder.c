/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/compile/table_builder.h"

#include <string.h>

#include "common/hash_table.h"
#include "common/search.h"
#include "symbolizer/symbols/symbol_limits.h"

int table_builder_init(struct table_builder *builder, uint64_t base,
		       const struct function_range_vec *symbols)
{
	int r;

	*builder = (struct table_builder){ .base = base, .symbols = symbols };
	builder->symbol_functions = malloc((symbols->count + 1) * sizeof(uint32_t));
	if (!builder->symbol_functions)
		return -ENOMEM;
	memset(builder->symbol_functions, 0xff, (symbols->count + 1) * sizeof(uint32_t));
	r = location_table_init(&builder->locations);
	if (r < 0)
		return r;
	r = hash_table_new(sizeof(uint64_t), sizeof(uint32_t), 0, &builder->entry_functions);
	return r < 0 ? r : string_table_new(SYMBOL_NAMES_MAX_BYTES, &builder->paths);
}

void table_builder_release(struct table_builder *builder)
{
	for (size_t i = 0; i < N_LAYERS; i++) {
		vec_release(&builder->layers[i].runs);
		vec_release(&builder->layers[i].segments);
	}
	location_table_release(&builder->locations);
	vec_release(&builder->functions);
	free(builder->symbol_functions);
	builder->symbol_functions = NULL;
	builder->entry_functions = hash_table_free(builder->entry_functions);
	builder->paths = string_table_free(builder->paths);
}

static int add_function(struct table_builder *builder, uint64_t entry, const char *name,
			uint32_t *ret_function)
{
	int r;

	if (builder->functions.count >= SYMBOL_NONE)
		return -EFBIG;
	r = vec_push(&builder->functions,
		     (struct builder_function){ .entry = entry, .name = name, .declared = entry });
	if (r == 0)
		*ret_function = (uint32_t)builder->functions.count - 1;
	return r;
}

int table_builder_entry(struct table_builder *builder, uint64_t entry, uint32_t *ret_function)
{
	void *value;
	int r = hash_table_insert(builder->entry_functions, &entry, &value);

	if (r < 0)
		return r;
	if (r > 0) {
		r = add_function(builder, entry, NULL, value);
		if (r < 0)
			return r;
	}
	memcpy(ret_function, value, sizeof(*ret_function));
	return 0;
}

int table_builder_named(struct table_builder *builder, const char *name, uint32_t *ret_function)
{
	return add_function(builder, UINT64_MAX, name, ret_function);
}

int64_t table_builder_symbol_at(const struct table_builder *builder, uint32_t offset)
{
	const struct function_range *symbols = builder->symbols->items;
	const uint64_t elf_addr = builder->base + offset;
	const size_t low = lower_bound(at, builder->symbols->count, symbols[at].start <= elf_addr);

	return low > 0 && elf_addr < symbols[low - 1].end ? (int64_t)low - 1 : -1;
}

int table_builder_symbol(struct table_builder *builder, uint32_t symbol, uint32_t *ret_function)
{
	uint32_t *function = &builder->symbol_functions[symbol];
	int r = 0;

	if (*function == SYMBOL_NONE)
		r = table_builder_named(builder, builder->symbols->items[symbol].name, function);
	if (r == 0)
		*ret_function = *function;
	return r;
}

void table_builder_declare(struct table_builder *builder, uint32_t function, uint64_t entry)
{
	if (builder->functions.items[function].declared == UINT64_MAX)
		builder->functions.items[function].declared = entry;
}

int table_builder_add(struct table_builder *builder, enum builder_layer_kind kind, uint32_t start,
		      uint32_t end, uint32_t location)
{
	struct builder_layer *layer = &builder->layers[kind];
	struct builder_run *run =
		layer->runs.count > 0 ? &layer->runs.items[layer->runs.count - 1] : NULL;
	int r;

	assert(start < end);
	if (!run || run->end != start) {
		if (layer->segments.count >= UINT32_MAX)
			return -EFBIG;
		r = vec_push(&layer->runs, (struct builder_run){
						   .start = start,
						   .end = end,
						   .first = (uint32_t)layer->segments.count,
					   });
		if (r < 0)
			return r;
		run = &layer->runs.items[layer->runs.count - 1];
	}
	run->end = end;
	if (run->count > 0 && layer->segments.items[layer->segments.count - 1].location == location)
		return 0;
	run->count++;
	return vec_push(&layer->segments,
			(struct builder_segment){ .start = start, .location = location });
}
