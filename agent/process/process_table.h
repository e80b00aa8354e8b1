/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The processes of this host and their executable mappings.
 *
 * A struct process is one program image of a process. A fork copies the parent's image. An exec
 * retires the image and starts a new one under the same pid, so that a sample taken before the exec
 * still finds the image in which it was taken. Retired images are kept until process_table_sweep(),
 * which the owner calls after each window.
 *
 * The file behind a mapping is opened and identified only when a sample needs it. Used by the
 * agent's main thread.
 */

#include "agent/executable/executable.h"
#include "agent/process/process_events.h"
#include "common/bytes.h"
#include "common/pattern.h"
#include "common/string_table.h"

struct process_mapping {
	uint64_t start, end, file_offset;
	uint64_t bias;                 /* once identified: pc - bias is the elf_addr */
	struct executable *executable; /* NULL: not identified, or no file */
	string_id path;
	struct reported_file reported; /* by the event; /proc knows the inode alone */
	uint32_t look_up;              /* number of the look-up in progress, 0 none */
	/* enum frame_kind once identified; 0: not looked up yet, or being looked up */
	uint8_t kind;
	bool is_unavailable; /* the look-up failed for a temporary reason */
	/* anonymous memory that may hold a copy of the file's code (copied_code.h) */
	bool is_copy;
};

/*
 * The mappings of an image. A process and the children that it forked share them until one of them
 * maps something or executes a program. An image that has ended keeps its mappings for late
 * samples. When the last image that uses them has ended, they are removed from the BPF maps.
 */
struct process_mappings {
	unsigned int references;
	unsigned int n_running; /* references of images that have not ended */
	uint32_t published_set; /* its number in the BPF maps; 0: none */
	uint32_t n_published_chunks;
	bool changed;   /* since they were published */
	bool truncated; /* not all fit into the BPF maps, which was logged */
	/* when to look up unavailable files again; 0: none is unavailable */
	uint64_t look_up_again_ns;
	uint64_t compaction; /* number of the last compaction that renumbered the paths */
	size_t count, capacity;
	struct process_mapping *items; /* by rising start */
};

struct process_label {
	string_id name;
	string_id value;
};

/* Maximum number of labels of a process by its cgroup: container_id, pod_uid, unit. */
#define PROCESS_MAX_LABELS 4

/* Maximum number of labels of a process by its Pod; a server accepts 64 labels in all. */
#define PROCESS_MAX_POD_LABELS 36

/* The path from which a sampled executable is mapped, as it was sent to the server. */
struct process_path {
	uint32_t executable; /* number */
	string_id path;
};

/* Size of a name that a rule gives a process, which may be longer than a comm. */
#define PROCESS_NAME_SIZE 64

struct process {
	uint32_t pid;
	uint32_t parent_pid;
	uint64_t start_time_ns;             /* since boot; 0: not known yet */
	uint64_t began_ns;                  /* the exec that started this image; 0: not known */
	char image_name[PROCESS_COMM_SIZE]; /* comm at exec */
	char name[PROCESS_NAME_SIZE];       /* app_service: image_name, or the name of a rule */
	string_id executable_path;
	struct executable *main_executable; /* set once identified */
	bool kernel_thread;
	uint32_t excluded; /* event sources that do not profile it: their flags in the rules */
	bool unprofiled;   /* no event source profiles it */
	bool exited;
	bool has_threads;   /* it has, or may have had, threads besides the leader */
	bool leader_exited; /* the leader has exited, and other threads run on */
	bool retired;
	bool mappings_left;    /* it does not count in mappings->n_running any longer */
	bool details_read;     /* labels and main executable were looked up */
	bool mappings_dropped; /* it has more mappings than are kept, which was logged */

	struct process_mappings *mappings;
	uint64_t maps_read_ns; /* last reading of /proc/PID/maps; 0: never */

	/* labels[n_labels]: the first n_cgroup_labels by its cgroup, the others by its Pod */
	struct process_label *labels;
	size_t n_labels, n_cgroup_labels;
	/* abi_sample.cgroups of the last sample before its labels were read; 0: not known */
	uint64_t cgroups;
	/*
	 * when the labels were read, while it is not certain that they belong to @cgroups; else 0
	 */
	uint64_t labels_read_ns;

	/* State of the wire format. */
	uint32_t number; /* 0 until sampled */
	uint64_t first_sent_sequence;
	struct process_path *paths;
	size_t n_paths, paths_capacity;
	uint64_t last_window; /* the last window with a sample of it */

	/* State of the BPF maps, and of /proc. */
	uint64_t scan;       /* number of the last reading of /proc that found it */
	uint32_t exec_count; /* of this image, in its last sample */
	/* publish it then, even if look-ups of files are in progress; 0: not set */
	uint64_t publish_by_ns;
	uint16_t n_execs; /* execs of its pid before this image, modulo 65536 */
	bool n_execs_known;
	bool wants_publish;
	bool published;
	uint32_t n_held; /* mapping events that are parked until older samples are processed */
	bool was_reread; /* its mappings were read again when its exec count was reread_count */
	uint32_t reread_count;

	struct process *next_retired;
};

/* Most event sources that exclude processes: bits of abi_process.flags. */
#define PROCESS_MAX_SOURCES 8

/* Processes that an enabled event source profiles. */
struct process_source {
	const struct pattern *names; /* of the profiled processes; NULL: all */
	uint32_t excluded_flag;      /* enum abi_process_flags; 0 if names is NULL */
};

struct process_rules {
	struct process_source sources[PROCESS_MAX_SOURCES];
	size_t n_sources;
	const struct process_rename *renames;
	size_t n_renames;
};

struct process_rename {
	struct pattern *pattern;
	const char *name;
};

/* Functions of the owner; both may be NULL. */
struct process_observer {
	void *arg;
	/* The mappings must be removed from the BPF maps. */
	void (*mappings_gone)(void *arg, struct process_mappings *mappings);
	/* The process has exited. Not called for an exec. */
	void (*process_gone)(void *arg, const struct process *process);
};

/*
 * Identifies the file behind a mapping without blocking, as identifier_find() does
 * (agent/helper/identifier.h). Without it, the table identifies files itself, at once. A file that
 * is EXECUTABLE_UNAVAILABLE is looked up again some seconds later, when a sample needs the mapping.
 */
struct process_identifier {
	void *arg;
	int (*find)(void *arg, const struct mapped_file *file, uint32_t *look_up,
		    struct executable **ret_executable);
};

/*
 * Reads /proc/PID/maps and /proc/PID/cmdline within bounded time, as process_reader_read() does
 * (agent/helper/process_reader.h). Without it, the table reads them itself, however long it takes.
 */
struct process_files {
	void *arg;
	int (*read)(void *arg, uint32_t pid, const char *name, struct bytes *text);
};

/*
 * Calls @label for each label of a Pod of Kubernetes, as pod_watch_find() does
 * (agent/kubernetes/pod_watch.h). Without it, processes have no labels of their Pods.
 */
struct process_pods {
	void *arg;
	void (*find)(void *arg, const char *uid,
		     void (*label)(void *label_arg, const char *name, const char *value),
		     void *label_arg);
};

struct process_table;

/* All pointers are borrowed, except @rules and @observer, which are copied. 0 or -ENOMEM. */
int process_table_new(struct executable_cache *executables, struct string_table *strings,
		      const struct process_rules *rules, const struct process_observer *observer,
		      struct process_table **ret_table);
struct process_table *process_table_free(struct process_table *table);

/* Reads all of /proc. To be called at the start, and after events were lost. */
int process_table_scan(struct process_table *table);

/* Applies one event. */
int process_table_apply(struct process_table *table, const struct process_event *event);

/*
 * Finds the process of a sample. If it is not known, makes it from /proc, or from the sample alone
 * if /proc has no such process any longer. A @start_time_ns that differs means that the pid was
 * reused. @comm: of the group leader. 0 or -ENOMEM.
 */
int process_table_find(struct process_table *table, uint32_t pid, uint32_t parent_pid,
		       uint64_t start_time_ns, const char *comm, bool kernel_thread,
		       struct process **ret_process);

/*
 * A sample of @process, which is the live image of its pid, was taken after @n_execs execs of that
 * pid (modulo 65536). If fewer execs were reported, one was missed: @process is retired, and
 * *ret_process is a new image, made from /proc, or with the name @comm if the process has exited.
 * 1: an exec was missed; 0: none was, *ret_process is @process; or -ENOMEM.
 */
int process_table_check_execs(struct process_table *table, struct process *process,
			      uint16_t n_execs, uint64_t time_ns, const char *comm,
			      struct process **ret_process);

/*
 * The image of @process in which a sample of @time_ns was taken. A sample that waits for absent
 * pages may arrive after the exec that ended its image. Returns @process if the older image is
 * forgotten.
 */
struct process *process_table_image_at(struct process_table *table, struct process *process,
				       uint64_t time_ns);

/*
 * The mapping that contains @pc, or NULL. Begins to identify it. Without a mapping, reads
 * /proc/PID/maps again, at most once a second.
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

/* Queues the process for publishing, once. 0 or -ENOMEM. */
int process_table_want_publish(struct process_table *table, struct process *process);

/* Takes the next live process from that queue; NULL: the queue is empty. */
struct process *process_table_take_wanting(struct process_table *table);

void process_table_set_identifier(struct process_table *table,
				  const struct process_identifier *identifier);
void process_table_set_files(struct process_table *table, const struct process_files *files);
void process_table_set_pods(struct process_table *table, const struct process_pods *pods);

/*
 * Finds the labels of all Pods again. Processes of which they changed are defined again for the
 * server. 0 or -ENOMEM.
 */
int process_table_find_pods_again(struct process_table *table);

/* Identifies all mappings before they are published. False: look-ups are in progress. */
bool process_table_identify_mappings(struct process_table *table, struct process *process);

/*
 * A look-up of a mapping of @pid has ended. If the process was published without its result, queues
 * it for publishing. 0 or -ENOMEM.
 */
int process_table_looked_up(struct process_table *table, uint32_t pid);

/*
 * Has mappings of superseded executables identified and published again: their build-ID turned out
 * to belong to another file. To be called between windows only, because processes may get other
 * numbers.
 */
int process_table_forget_superseded(struct process_table *table);

/*
 * Notes the cgroups of a process as of a sample of @time_ns (abi_sample.cgroups). To be called
 * before process_table_read_details(). Processes in the same cgroups have the same labels. The
 * process may have moved between the sample and the reading of its labels. The labels are therefore
 * cached for its cgroups only when a later sample has the same cgroups. 0 or -ENOMEM.
 */
int process_table_note_cgroups(struct process_table *table, struct process *process,
			       uint64_t cgroups, uint64_t time_ns);

/* Whether the next sample of the process should have its cgroups. */
static inline bool process_wants_cgroups(const struct process *process)
{
	return process->labels_read_ns != 0;
}

/* Looks up the main executable and the labels, unless that was done. */
void process_table_read_details(struct process_table *table, struct process *process);

/*
 * Keeps the path from which the process maps this executable. If it is new, the process is defined
 * again for the server. 1: it is new; 0; or -ENOMEM.
 */
int process_table_note_path(struct process *process, uint32_t executable_number);

/* Frees exited and retired images that no window refers to any longer. */
void process_table_sweep(struct process_table *table, uint64_t current_window);

size_t process_table_count(const struct process_table *table);

struct process_table_stats {
	uint64_t mappings_dropped; /* executable mappings beyond what is kept of one process */
};

const struct process_table_stats *process_table_stats(const struct process_table *table);

/*
 * Finds a mapping of @executable in a process that has not exited and is not @except_pid.
 * 1: *ret_file, with a path that is valid until the next change of the table; 0: there is none.
 */
int process_table_find_mapping_of(struct process_table *table, const struct executable *executable,
				  uint32_t except_pid, struct mapped_file *ret_file);

/* Calls @function for all live and retired images, until it returns < 0. */
int process_table_each(struct process_table *table,
		       int (*function)(void *arg, struct process *process), void *arg);

/*
 * If the strings take more than @limit_bytes, keeps only those that images use. Afterwards each
 * string_id outside the images is invalid. 0 or -ENOMEM.
 */
int process_table_compact_strings(struct process_table *table, size_t limit_bytes,
				  size_t max_bytes);

/* Applies new rules, after a reload, to all images. */
void process_table_set_rules(struct process_table *table, const struct process_rules *rules);

DEFINE_SCOPED(struct process_table *, process_table_free);
