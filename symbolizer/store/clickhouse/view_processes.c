/* SPDX-License-Identifier: Apache-2.0 */
/* Loads processes with their hosts. A process whose attributes changed has several rows. */

#include "symbolizer/store/clickhouse/view_private.h"

#include "symbolizer/store/clickhouse/schema.h"

struct process_load {
	struct clickhouse_view *self;
	struct arena *arena;
	struct clickhouse_hosts hosts;
	struct hash_table *processes; /* u32 number -> struct store_process * */
};

static void process_load_release(struct process_load *load)
{
	clickhouse_hosts_release(&load->hosts);
	(void)hash_table_free(load->processes);
}

struct process_row {
	struct hash128 id, agent, main_executable, path_set;
	struct bytes_view name, executable_path;
	struct row_texts names, values;
};

static int set_path_set(struct clickhouse_view *self, uint32_t process, uint32_t path_set)
{
	int r = 0;

	while (r == 0 && self->path_set_of.count <= process)
		r = vec_push(&self->path_set_of, 0);
	if (r == 0)
		self->path_set_of.items[process] = path_set;
	return r;
}

static int find_host(const struct process_load *load, const struct hash128 *agent,
		     const struct store_host **ret_host)
{
	struct store_host **host;
	uint32_t number;
	int r = id_table_number(load->self->agents, agent, &number);

	if (r < 0)
		return r;
	host = hash_table_find(load->hosts.by_number, &number);
	*ret_host = host ? *host : NULL;
	return 0;
}

static int fill_process(const struct process_load *load, const struct process_row *row,
			struct store_process *process)
{
	struct clickhouse_view *self = load->self;
	uint32_t number, path_set, main_executable;
	int r = id_table_number(self->processes, &row->id, &number);

	if (r == 0)
		r = id_table_number(self->path_sets, &row->path_set, &path_set);
	if (r == 0)
		r = id_table_number(self->executables, &row->main_executable, &main_executable);
	if (r == 0)
		r = set_path_set(self, number, path_set);
	if (r == 0)
		r = find_host(load, &row->agent, &process->host);
	if (r == 0)
		r = row_copy_labels(row->names, row->values, load->arena, &process->labels,
				    &process->n_labels);
	if (r < 0)
		return r;
	process->id = number;
	process->path_set = path_set;
	process->main_executable = main_executable;
	process->name = row_copy_text(row->name, load->arena);
	process->executable_path = row_copy_text(row->executable_path, load->arena);
	return process->name && process->executable_path ? 0 : -ENOMEM;
}

static int add_process(struct process_load *load, const struct process_row *row,
		       const struct store_process *fields)
{
	struct store_process *process = arena_copy(load->arena, fields, sizeof(*fields));
	struct store_process **slot;
	uint32_t number;
	int r = process ? fill_process(load, row, process) : -ENOMEM;

	/* A host is written with the first batch of each hour, before its processes. */
	if (r < 0 || !process->host)
		return r;
	number = (uint32_t)process->id;
	r = hash_table_insert(load->processes, &number, (void **)&slot);
	if (r < 0)
		return r;
	*slot = process;
	return 0;
}

static int read_process(void *arg, struct bytes_reader *reader)
{
	struct process_load *load = arg;
	struct store_process process = {};
	struct process_row row;
	uint8_t flags;

	row.id = row_read_hash(reader);
	row.agent = row_read_hash(reader);
	process.pid = row_read_u32(reader);
	process.start_time_ns = row_read_u64(reader);
	row.name = row_read_string(reader);
	row.executable_path = row_read_string(reader);
	row.main_executable = row_read_hash(reader);
	flags = row_read_u8(reader);
	row.path_set = row_read_hash(reader);
	row.names = row_read_texts(reader);
	row.values = row_read_texts(reader);
	process.kernel_thread = flags & CLICKHOUSE_KERNEL_THREAD;
	process.without_stacks = flags & CLICKHOUSE_WITHOUT_STACKS;
	return reader->error < 0 ? 0 : add_process(load, &row, &process);
}

int clickhouse_view_load_processes(struct clickhouse_view *self, const uint64_t *numbers,
				   size_t count, struct arena *arena,
				   struct hash_table **ret_processes)
{
	scoped(process_load_release) struct process_load load = { .self = self, .arena = arena };
	const struct clickhouse_lookup lookup = {
		.self = self,
		.ids = self->processes,
		.select = "SELECT id, agent, pid, start_time_ns, name, executable_path, "
			  "main_executable, flags, path_set, label_names, label_values "
			  "FROM processes WHERE id IN (SELECT id FROM wanted) AND ",
		.after = " ORDER BY changed_ns DESC LIMIT 1 BY id",
		.read_row = read_process,
		.arg = &load,
	};
	int r = hash_table_new(sizeof(uint32_t), sizeof(void *), 0, &load.processes);

	if (r == 0 && count > 0)
		r = clickhouse_view_load_hosts(self, arena, &load.hosts);
	if (r == 0 && count > 0)
		r = clickhouse_view_look_up(&lookup, numbers, count);
	if (r == 0)
		*ret_processes = take_ptr(load.processes);
	return r;
}
