/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/in_process/fill_rows.h"

#include <arpa/inet.h>

#include "symbolizer/flame/label.h"
#include "symbolizer/store/clickhouse/row_binary.h"

/* A row is complete before it is flushed; labels have 64 times 4 KiB. */
#define MAX_ROWS_BYTES (FILL_ROWS_BYTES + 16 * MIB)

/* Labels from debuginfo may be long: the innermost ones of a longer stack are left out. */
#define MAX_STACK_BYTES (1 * MIB)
#define MORE_FRAMES     "[more frames]"

struct written_row {
	uint64_t flush;    /* the row is in the buffer until this flush */
	uint64_t value_at; /* offset of its value in the buffer */
	uint64_t n_before; /* rows that were flushed */
};

int fill_rows_init(struct fill_rows *rows)
{
	int r;

	rows->rows = BYTES_INIT(MAX_ROWS_BYTES);
	rows->stack = BYTES_INIT(MAX_STACK_BYTES);
	r = hash_table_new(sizeof(struct hash128), sizeof(uint64_t), 0, &rows->remainders);
	return r < 0 ? r
		     : hash_table_new(sizeof(uint64_t), sizeof(struct written_row), 0,
				      &rows->written);
}

void fill_rows_release(struct fill_rows *rows)
{
	(void)hash_table_free(rows->remainders);
	(void)hash_table_free(rows->written);
	bytes_release(&rows->rows);
	bytes_release(&rows->stack);
}

void fill_rows_begin(struct fill_rows *rows, const struct event_type_info *event, uint64_t minute_s)
{
	hash_table_clear(rows->remainders);
	hash_table_clear(rows->written);
	rows->event = event;
	rows->minute_s = minute_s;
}

/* The value of the row; 0: it has none, and the next row of the service gets what was left. */
static int round_value(struct fill_rows *rows, const char *service, uint64_t value,
		       uint64_t *ret_value)
{
	const struct hash128 key = hash128_of(service, strlen(service));
	const uint64_t divisor = event_unit_divisor(rows->event->unit);
	uint64_t *remainder, sum;
	int r = hash_table_insert(rows->remainders, &key, (void **)&remainder);

	if (r < 0)
		return r;
	if (__builtin_add_overflow(value, *remainder, &sum))
		sum = UINT64_MAX;
	*remainder = sum % divisor;
	*ret_value = MIN(sum / divisor, (uint64_t)INT64_MAX);
	return 0;
}

static void add_label(struct bytes *text, const char *label)
{
	if (text->size > 0)
		(void)bytes_append_byte(text, ';');
	(void)bytes_append_text(text, label);
}

/* "[p] name;main;work;[k] read", from the outermost frame. */
static int write_stack(struct fill_rows *rows, const struct resolved_stacks *stacks,
		       const struct resolved_stack *stack)
{
	struct bytes *text = &rows->stack;

	bytes_clear(text);
	for (uint32_t i = 0; i < stack->group->n_levels; i++)
		add_label(text, tree_label_text(stacks->tree, stack->group->levels[i]));
	for (uint32_t i = stack->n_frames; i > 0; i--) {
		/* A label, its separator, and the end. */
		if (text->size + LABEL_MAX_BYTES + sizeof(";" MORE_FRAMES) > MAX_STACK_BYTES) {
			add_label(text, MORE_FRAMES);
			break;
		}
		add_label(text, resolved_label(stacks, &stack->frames[i - 1]));
	}
	return bytes_error(text);
}

static const char *label_of(const struct label *labels, uint32_t count, const char *name)
{
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(labels[i].name, name) == 0)
			return labels[i].value;
	return NULL;
}

/* As in filters, a label of the process hides one of the host. */
static void add_label_column(struct bytes *row, const struct store_process *process,
			     const char *name)
{
	const struct store_host *host = process->host;
	const char *value = label_of(process->labels, process->n_labels, name);

	if (!value && host)
		value = label_of(host->labels, host->n_labels, name);
	row_add_text(row, value ? value : "");
}

static void add_all_labels(struct bytes *row, const struct store_process *process, bool names)
{
	const struct store_host *host = process->host;
	const uint32_t n_host = host ? host->n_labels : 0;
	uint32_t n_hidden = 0;

	for (uint32_t i = 0; i < n_host; i++)
		n_hidden += label_of(process->labels, process->n_labels, host->labels[i].name) != 0;
	row_add_count(row, process->n_labels + n_host - n_hidden);
	for (uint32_t i = 0; i < process->n_labels; i++)
		row_add_text(row, names ? process->labels[i].name : process->labels[i].value);
	for (uint32_t i = 0; i < n_host; i++)
		if (!label_of(process->labels, process->n_labels, host->labels[i].name))
			row_add_text(row, names ? host->labels[i].name : host->labels[i].value);
}

/* The columns is_ipv4, ip4 and ip6, as DeepFlow has them: the first address of each family. */
static void add_addresses(struct bytes *row, const struct store_host *host)
{
	struct in6_addr ip6 = {};
	struct in_addr ip4 = {};
	bool has_ip4 = false, has_ip6 = false;

	for (uint32_t i = 0; host && i < host->n_ips; i++) {
		struct in6_addr address6;
		struct in_addr address4;

		if (!has_ip4 && inet_pton(AF_INET, host->ips[i], &address4) == 1) {
			ip4 = address4;
			has_ip4 = true;
		} else if (!has_ip6 && inet_pton(AF_INET6, host->ips[i], &address6) == 1) {
			ip6 = address6;
			has_ip6 = true;
		}
	}
	row_add_u8(row, has_ip4);
	row_add_u32(row, ntohl(ip4.s_addr));
	(void)bytes_append(row, &ip6, sizeof(ip6));
}

static void add_process(struct bytes *row, const struct store_process *process)
{
	static const char *const label_columns[] = {
		"pod", "pod_ns", "pod_cluster", "pod_node", "container_id", "service", "version",
	};
	const struct store_host *host = process->host;

	row_add_u32(row, process->pid);
	row_add_text(row, host ? host->agent_id : "");
	row_add_text(row, host ? host->name : "");
	add_addresses(row, host);
	for (size_t i = 0; i < ARRAY_SIZE(label_columns); i++)
		add_label_column(row, process, label_columns[i]);
	add_all_labels(row, process, true);
	add_all_labels(row, process, false);
}

/* The same in each fill, and of each stack with this text. */
static uint64_t row_id(const struct fill_rows *rows, const struct store_process *process)
{
	const uint64_t parts[] = {
		rows->minute_s,
		process->pid,
		process->start_time_ns,
		hash64_of(rows->stack.data, rows->stack.size),
		hash64_of(rows->event->name, strlen(rows->event->name)),
		hash64_of(rows->tenant, strlen(rows->tenant)),
		process->host ? hash64_of(process->host->agent_id, strlen(process->host->agent_id))
			      : 0,
	};

	return hash64_of(parts, sizeof(parts));
}

static uint32_t count_unnamed(const struct resolved_stack *stack)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < stack->n_frames; i++)
		count += stack->frames[i].frame != RESOLVED_NO_FRAME &&
			 stack->frames[i].function == FRAME_NO_FUNCTION;
	return count;
}

static void add_row(struct fill_rows *rows, const struct resolved_stack *stack, uint64_t value,
		    struct written_row *written)
{
	const struct store_process *process = stack->group->process;
	struct bytes *row = &rows->rows;
	const char *unit = rows->event->unit;

	const uint64_t id[] = { row_id(rows, process), written->n_before };

	row_add_u32(row, (uint32_t)rows->minute_s);
	row_add_u64(row, hash64_of(id, sizeof(id)));
	row_add_text(row, rows->tenant);
	row_add_text(row, process->name);
	row_add_text(row, rows->event->name);
	row_add_string(row, rows->stack.data, rows->stack.size);
	written->flush = rows->n_flushes;
	written->value_at = row->size;
	row_add_u64(row, value);
	row_add_text(row, event_unit_divisor(unit) > 1 ? "microseconds" : unit);
	add_process(row, process);
	row_add_u32(row, count_unnamed(stack));
	row_add_u64(row, rows->state);
	rows->n_rows++;
}

int fill_rows_end(struct fill_rows *rows)
{
	int r = bytes_error(&rows->rows);

	if (r == 0 && rows->rows.size > 0)
		r = rows->flush(rows->arg, bytes_view_of(&rows->rows));
	bytes_clear(&rows->rows);
	rows->n_flushes++;
	return r;
}

static void add_to_row(struct fill_rows *rows, const struct written_row *written, uint64_t value)
{
	uint8_t *at = rows->rows.data + written->value_at;
	uint64_t sum;

	memcpy(&sum, at, sizeof(sum));
	sum = htole64(MIN(le64toh(sum) + value, (uint64_t)INT64_MAX));
	memcpy(at, &sum, sizeof(sum));
}

static int add_value(struct fill_rows *rows, const struct resolved_stack *stack, uint64_t value)
{
	const uint64_t id = row_id(rows, stack->group->process);
	struct written_row *written;
	int r = hash_table_insert(rows->written, &id, (void **)&written);

	if (r < 0)
		return r;
	if (r == 0 && written->flush == rows->n_flushes) {
		add_to_row(rows, written, value);
		return 0;
	}
	if (r == 0)
		written->n_before++;
	add_row(rows, stack, value, written);
	return rows->rows.size >= FILL_ROWS_BYTES ? fill_rows_end(rows) : bytes_error(&rows->rows);
}

static int visit(void *arg, const struct resolved_stacks *stacks,
		 const struct resolved_stack *stack)
{
	struct fill_rows *rows = arg;
	uint64_t value;
	int r = round_value(rows, stack->group->process->name, stack->value, &value);

	if (r < 0 || value == 0)
		return r;
	r = write_stack(rows, stacks, stack);
	return r < 0 ? r : add_value(rows, stack, value);
}

struct stack_visitor fill_rows_visitor(struct fill_rows *rows)
{
	return (struct stack_visitor){ .visit = visit, .arg = rows };
}
