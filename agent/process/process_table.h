/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The processes of this host and what they have mapped.
 *
 * A struct process is one program image: fork copies the parent's, exec retires the old one and
 * starts a new one under the same pid, so that a sample taken before the exec still finds the image
 * it was taken in. Retired images stay until process_table_sweep(), which the owner calls after
 * each window.
 *
 * Files behind mappings are identified (opened) only when a sample needs it. Used by the agent's
 * main thread.
 */

#include "agent/executable/executable.h"
#include "agent/process/process_events.h"
#include "common/bytes.h"
#include "common/pattern.h"
#include "common/string_table.h"

struct process_mapping {
	uint64_t start, end, file_offset;
	uint64_t bias;                 /* once identified: pc - bias is a frame's address */
	struct executable *executable; /* NULL: not identified, or no file */
	string_id path;
	struct reported_file reported; /* by the event; /proc knows the inode alone */
	uint32_t look_up;              /* number of the look-up in progress, 0 none */
	/* enum frame_kind once identified; 0: not looked up yet, or being looked up */
	uint8_t kind;
	bool is_unavailable; /* the look-up failed for a reason that may pass */
	/* anonymous memory that may hold a copy of the file's code (copied_code.h) */
	bool is_copy;
};

/*
 * Shared by a process and the children it forked, until one of them maps something or execs. An
 * image that ended keeps its mappings for late samples. They are removed from the BPF maps when the
 * last image that uses them has ended.
 */
struct process_mappings {
	unsigned int references;
	unsigned int n_running; /* references of images that have not ended */
	uint32_t published_set; /* id in the BPF maps, 0 none */
	uint32_t n_published_chunks;
	bool changed;   /* since it was published */
	bool truncated; /* some did not fit the maps, which was logged */
	/* when to look up again those that are unavailable; 0: none is */
	uint64_t look_up_again_ns;
	uint64_t compaction; /* the last one that renumbered its paths */
	size_t count, capacity;
	struct process_mapping *items; /* by rising start */
};

struct process_label {
	string_id name;
	string_id value;
};

/* Labels that the agent makes: container_id, pod_uid, unit, service. */
#define PROCESS_MAX_LABELS 4

/* Where a sampled executable is mapped from, as it was told to the server. */
struct process_path {
	uint32_t executable; /* number */
	string_id path;
};

/* Rules may rename a process to more than a comm. */
#define PROCESS_NAME_SIZE 64

struct process {
	uint32_t pid;
	uint32_t parent_pid;
	uint64_t start_time_ns;             /* since boot; 0: not known yet */
	uint64_t began_ns;                  /* the exec that made it this image; 0: not seen */
	char image_name[PROCESS_COMM_SIZE]; /* comm at exec */
	char name[PROCESS_NAME_SIZE];       /* app_service: what rules make of it */
	string_id executable_path;
	struct executable *main_executable; /* set once identified */
	bool kernel_thread;
	bool without_stacks; /* left out of on-cpu profiles but for Total */
	bool without_waits;  /* left out of off-cpu profiles */
	bool exited;
	bool has_threads;   /* besides the leader, now or before, as far as is known */
	bool leader_exited; /* its threads may go on */
	bool retired;
	bool mappings_left;    /* it does not count in n_running of its mappings any more */
	bool details_read;     /* labels and main executable were looked up */
	bool mappings_dropped; /* it has more than are kept, which was logged */

	struct process_mappings *mappings;
	uint64_t maps_read_ns; /* when /proc/PID/maps was read last, 0 never */

	struct process_label *labels;
	size_t n_labels;
	/* abi_sample.cgroups of the sample before its labels were read; 0: not known */
	uint64_t cgroups;
	/* when they were read from /proc, while it is not certain that they are of @cgroups */
	uint64_t labels_read_ns;

	/* The wire's view. */
	uint32_t number; /* 0 until sampled */
	uint64_t first_sent_sequence;
	struct process_path *paths;
	size_t n_paths, paths_capacity;
	uint64_t last_window; /* in which it was sampled */

	/* The BPF maps' view. */
	uint64_t scan;       /* the last reading of /proc that saw it */
	uint32_t exec_count; /* of this image, as its last sample said */
	/* publish it then, even if files are still being looked up; 0: not set */
	uint64_t publish_by_ns;
	uint16_t n_execs; /* of its pid before this image, modulo 65536, if known */
	bool n_execs_known;
	bool wants_publish;
	bool published;
	uint32_t n_held; /* mapping events that are parked behind older samples */
	bool was_reread; /* its mappings were read again when its exec count was reread_count */
	uint32_t reread_count;

	struct process *next_retired;
};

struct process_rules {
	const struct pattern *with_stacks; /* NULL: all */
	const struct pattern *with_waits;  /* NULL: all */
	bool take_waits;                   /* there are off-cpu profiles at all */
	const struct process_rename *renames;
	size_t n_renames;
};

struct process_rename {
	struct pattern *pattern;
	const char *name;
};

/* What the owner is told of; both may be NULL. */
struct process_observer {
	void *arg;
	/* take them out of the BPF maps */
	void (*mappings_gone)(void *arg, struct process_mappings *mappings);
	/* exited; not at an exec */
	void (*process_gone)(void *arg, const struct process *process);
};

/*
 * Who identifies the file behind a mapping without waiting (agent/helper/identifier.h): as
 * identifier_find(). A table without one has files identified at once. EXECUTABLE_UNAVAILABLE is
 * asked again some seconds later, when a sample needs the mapping.
 */
struct process_identifier {
	void *arg;
	int (*ask)(void *arg, const struct mapped_file *file, uint32_t *look_up,
		   struct executable **ret_executable);
};

/*
 * Who reads /proc/PID/maps and /proc/PID/cmdline within bounded time
 * (agent/helper/process_reader.h): as process_reader_read(). A table without one reads them itself,
 * however long it takes.
 */
struct process_files {
	void *arg;
	int (*read)(void *arg, uint32_t pid, const char *name, struct bytes *text);
};

struct process_table;

int process_table_new(struct executable_cache *executables, struct string_table *strings,
		      const struct process_rules *rules, const struct process_observer *observer,
		      struct process_table **ret_table);
struct process_table *process_table_free(struct process_table *table);

/* Reads all of /proc: at the start, and after events were lost. */
int process_table_scan(struct process_table *table);

/* Applies one event. */
int process_table_apply(struct process_table *table, const struct process_event *event);

/*
 * The process that a sample names; looks at /proc when it is not known, and makes one of the sample
 * alone when /proc has nothing any more. A @start_time_ns that does not fit means that the pid was
 * reused. @comm is the group leader's.
 */
int process_table_find(struct process_table *table, uint32_t pid, uint32_t parent_pid,
		       uint64_t start_time_ns, const char *comm, bool kernel_thread,
		       struct process **ret_process);

/*
 * A sample of @process, which is the live image of its pid, was taken after @n_execs execs of that
 * pid (modulo 65536). Where that is more than were reported, an exec was missed: the image that
 * @process was retires, and *ret_process is a new one, by what /proc has, or by @comm if the
 * process is gone. 1 then, 0 otherwise, -ENOMEM.
 */
int process_table_check_execs(struct process_table *table, struct process *process,
			      uint16_t n_execs, uint64_t time_ns, const char *comm,
			      struct process **ret_process);

/*
 * Which image of @process a sample of @time_ns was taken in: samples that wait for absent pages may
 * come after the exec that ended theirs. @process itself where the older one is forgotten.
 */
struct process *process_table_image_at(struct process_table *table, struct process *process,
				       uint64_t time_ns);

/*
 * The mapping that holds @pc, identified; NULL when there is none. Reads the maps again at most
 * once a second.
 */
struct process_mapping *process_table_mapping(struct process_table *table, struct process *process,
					      uint64_t pc, uint64_t now_ns);

/*
 * Reads /proc/PID/maps again after an unmap, for which the kernel sends no event. On failure the
 * mappings stay.
 */
void process_table_reread_mappings(struct process_table *table, struct process *process);

/*
 * Whether the event (PROCESS_MAPPED) maps a file over a different one. Older samples must then be
 * looked up before the event is applied.
 */
bool process_table_replaces(const struct process_table *table, const struct process_event *event);

/*
 * Adds @change to the number of parked mapping events of @pid. Until it is 0 the process is not
 * published.
 */
void process_table_hold(struct process_table *table, uint32_t pid, int change);
bool process_table_is_held(const struct process_table *table, uint32_t pid);

/* Its mappings should be published (again): once, until they were taken. */
int process_table_want_publish(struct process_table *table, struct process *process);

/* The next live process that wants it; NULL when there is none left. */
struct process *process_table_take_wanting(struct process_table *table);

void process_table_set_identifier(struct process_table *table,
				  const struct process_identifier *identifier);
void process_table_set_files(struct process_table *table, const struct process_files *files);

/* Identifies all mappings: before they are published. False: look-ups of some go on. */
bool process_table_identify_mappings(struct process_table *table, struct process *process);

/*
 * A look-up of a mapping of @pid has ended: publishes the process again, if it was published
 * without that.
 */
int process_table_looked_up(struct process_table *table, uint32_t pid);

/*
 * Has mappings of executables that lost their identity to another file identified and published
 * again. Processes may get other numbers: between windows only.
 */
int process_table_forget_superseded(struct process_table *table);

/*
 * A sample of @time_ns says which cgroups the process is in (abi_sample.cgroups). To be called
 * before process_table_read_details(). Processes of the same cgroups have the same labels. A
 * process may have moved between the sample and the reading of its labels: they are taken for those
 * of its cgroups when a later sample has the same ones. 0 or -ENOMEM.
 */
int process_table_note_cgroups(struct process_table *table, struct process *process,
			       uint64_t cgroups, uint64_t time_ns);

/* Whether the next sample of the process should say which cgroups it is in. */
static inline bool process_wants_cgroups(const struct process *process)
{
	return process->labels_read_ns != 0;
}

/* Looks up main executable and labels when they were not yet. */
void process_table_read_details(struct process_table *table, struct process *process);

/*
 * Remembers that the process maps @executable from the path of its mapping; marks the definition as
 * changed.
 */
int process_table_note_path(struct process *process, uint32_t executable_number);

/* Forgets exited and retired images that no window refers to any more. */
void process_table_sweep(struct process_table *table, uint64_t current_window);

size_t process_table_count(const struct process_table *table);

struct process_table_stats {
	uint64_t mappings_dropped; /* executable mappings beyond what is kept of one process */
};

const struct process_table_stats *process_table_stats(const struct process_table *table);

/* Walks all live and retired images; @function returns < 0 to stop. */
int process_table_each(struct process_table *table,
		       int (*function)(void *arg, struct process *process), void *arg);

/*
 * When the strings take more than @limit_bytes, keeps only those that images still use. Every
 * string_id but those in the table's own images is void afterwards. 0 or -ENOMEM (nothing changed).
 */
int process_table_compact_strings(struct process_table *table, size_t limit_bytes,
				  size_t max_bytes);

/* Rules changed (a reload): applies them to all images. */
void process_table_set_rules(struct process_table *table, const struct process_rules *rules);

DEFINE_SCOPED(struct process_table *, process_table_free);
