/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Generates a profile of any size in the columns format: an HTTP service with threads, libraries, kernel frames and some
 * frames without a name. Equal arguments give equal profiles.
 */

const THREADS = ["[p] search-api", "[t] worker-0", "[t] worker-1", "[t] worker-2", "[t] gc", "[t] log-writer"];
const ENTRY = [["[l] start_thread", "L"], ["std::thread::_State_impl<std::thread::_Invoker>::_M_run", "A"]];
const LEAVES = { A: ["ranking::Scorer::score(Document const&)", "index::PostingList::advance(unsigned int)", "util::varint_decode",
	"ranking::bm25(float, float, float)", "json::Parser::parse_string", "index::intersect<index::BlockCursor>", "cache::Lru::find",
	"http::Request::parse_headers", "operator new(unsigned long)", "text::Tokenizer::next", "text::stem_english",
	"index::Segment::search(Query const&, Collector&)", "server::Session::handle_request", "server::EventLoop::run_once",
	"ranking::TopK::push", "query::Planner::rewrite", "query::BooleanScorer::next_doc", "snippet::Highlighter::best_passage"],
L: ["[l] __memmove_avx_unaligned_erms", "[l] _int_malloc", "[l] _int_free", "[l] pthread_mutex_lock", "[l] inflate_fast",
	"[l] ZSTD_decompressBlock_internal", "[l] EVP_EncryptUpdate", "[l] __strlen_avx2", "[l] je_arena_malloc"],
K: ["[k] entry_SYSCALL_64_after_hwframe", "[k] do_syscall_64", "[k] __x64_sys_epoll_wait", "[k] tcp_sendmsg_locked",
	"[k] copy_page_to_iter", "[k] ext4_file_read_iter", "[k] schedule", "[k] finish_task_switch", "[k] page_fault_oops"],
"?": ["[/usr/lib/libvendor.so.3]", "[unknown] 0x00007f31c02a4410"] };
const NEXT = { A: "AAAAAAAAAALLK?", L: "LLLKAA", K: "KKKK", "?": "?LLA" };

export function makeProfile({ service, event, nodes, folded, groupBy = "", seed = 1 }) {
	const random = generator(seed + event.length);
	const builder = new Builder(service);
	let budget = nodes;

	if (service === "Total")
		return addHosts(builder, random, { folded, groupBy });
	while (budget > 0) {
		const before = builder.count;
		const thread = folded ? THREADS[0] : THREADS[Math.floor(random() ** 1.7 * THREADS.length)];
		addStack(builder, thread, random, nodes);
		budget -= Math.max(1, builder.count - before);
	}
	return builder.finish();
}

export const HOSTS = ["web-1", "web-2"];
export const PROCESSES = ["search-api", "nginx", "postgres", "checkout", "kworker/0:1", "erlang-base.pos", "sh"];

/* Adds whole hosts: processes with the main thread as self, other threads below them. The last processes use little time. */
function addHosts(builder, random, { folded, groupBy }) {
	for (const host of groupBy === "host" ? HOSTS : HOSTS.slice(0, 1)) {
		const group = groupBy ? builder.child(0, `[g] host=${host}`, "P") : 0;
		PROCESSES.forEach((name, at) => {
			const process = builder.child(group, `[p] ${name}`, "P");
			const most = at < 5 ? 900 : 1.01;
			builder.addSelf(process, 10101 * Math.ceil(random() * most));
			for (let thread = 0; thread < (at < 5 ? 3 : 0); thread++)
				builder.addSelf(folded ? process : builder.child(process, `[t] worker-${thread}`, "T"), 10101 * Math.ceil(random() * most));
		});
	}
	return builder.finish();
}

/* The Park-Miller generator, which is good enough for a fixture. */
function generator(seed) {
	let state = seed;
	return () => {
		state = state * 48271 % 2147483647;
		return state / 2147483647;
	};
}

/*
 * Adds a stack. Paths have numbers: two paths share their callers down to the depth at which the leading bits of their
 * numbers differ. Small numbers are the most frequent, so that the graph has wide frames near the root and a long tail.
 */
function addStack(builder, thread, random, nodes) {
	const path = Math.floor(random() ** 5 * nodes * 2);
	const copies = nodes > 100000 ? Math.ceil(nodes / 20000) : 1; /* larger programs have more functions */
	let node = builder.child(0, thread, thread[1] === "p" ? "P" : "T");
	let kind = "A";

	for (const [name, type] of ENTRY)
		node = builder.child(node, name, type);
	for (let level = 0, depth = 5 + hash(path, 99) % 18; level < depth; level++) {
		const bits = hash(Math.floor(path / 2 ** Math.max(0, 9 - level)), level);
		kind = NEXT[kind][bits % NEXT[kind].length];
		const names = LEAVES[kind];
		const copy = (bits >>> 8) % copies;
		const name = names[(bits >>> 16) % names.length];
		node = builder.child(node, copy ? `${name}_${copy}` : name, kind);
	}
	builder.addSelf(node, 10101 * (1 + Math.floor(random() ** 6 * 60)));
}

function hash(a, b) {
	let mixed = Math.imul(a ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(b + 1, 0xc2b2ae35);

	mixed = Math.imul(mixed ^ mixed >>> 15, 0x2c1b3c6d);
	mixed = Math.imul(mixed ^ mixed >>> 12, 0x297a2d39);
	return (mixed ^ mixed >>> 15) >>> 0;
}

class Builder {
	constructor(service) {
		this.rows = [{ label: service, type: service === "Total" ? "H" : "P", self: 0, total: 0, children: new Map() }];
	}

	get count() {
		return this.rows.length;
	}

	child(parent, label, type) {
		const { children } = this.rows[parent];
		let index = children.get(label);

		if (index === undefined) {
			index = this.rows.length;
			children.set(label, index);
			this.rows.push({ label, type, parent, self: 0, total: 0, children: new Map() });
		}
		return index;
	}

	addSelf(node, value) {
		this.rows[node].self += value;
		for (let at = node; at !== undefined; at = this.rows[at].parent)
			this.rows[at].total += value;
	}

	finish() {
		const functions = { ids: new Map(), names: [], types: [], values: [] };
		const values = [];
		const stack = [[0, -1]];

		while (stack.length) {
			const [at, parent] = stack.pop();
			const row = this.rows[at];
			const id = functionId(functions, row);
			const node = values.length;
			values.push([id, parent, row.self, row.total]);
			functions.values[id][0] += row.self;
			if (!callsItself(this.rows, at))
				functions.values[id][1] += row.total;
			const children = [...row.children.values()].sort((a, b) =>
				this.rows[a].total - this.rows[b].total || (this.rows[a].label < this.rows[b].label ? 1 : -1));
			for (const child of children)
				stack.push([child, node]);
		}
		return {
			functions: functions.names,
			function_types: functions.types,
			function_values: { columns: ["self_value", "total_value"], values: functions.values },
			node_values: { columns: ["function_id", "parent_node_id", "self_value", "total_value"], values },
		};
	}
}

function functionId(functions, row) {
	let id = functions.ids.get(row.label);

	if (id === undefined) {
		id = functions.names.length;
		functions.ids.set(row.label, id);
		functions.names.push(row.label);
		functions.types.push(row.type);
		functions.values.push([0, 0]);
	}
	return id;
}

function callsItself(rows, at) {
	for (let caller = rows[at].parent; caller !== undefined; caller = rows[caller].parent) {
		if (rows[caller].label === rows[at].label)
			return true;
	}
	return false;
}
