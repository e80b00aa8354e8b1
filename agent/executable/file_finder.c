/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is accepted only if it agrees with the kernel's report of the mapping (struct
 * reported_file), because by now another file may be mapped at that address, or have that path.
 */
#include "agent/executable/file_finder.h"

#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "agent/executable/executable_file.h"
#include "agent/executable/memory_copy.h"
#include "common/clock.h"

/* Longest tick of the kernel's coarse clock (CONFIG_HZ=100). */
#define MAX_TICK_NS (10 * NSEC_PER_MSEC)

struct found_file {
	int fd;
	struct stat status;
	bool is_certain;
};

struct file_key file_key_of(const struct stat *status)
{
	return (struct file_key){
		.device = status->st_dev,
		.inode = status->st_ino,
		.mtime_s = status->st_mtim.tv_sec,
		.mtime_ns = status->st_mtim.tv_nsec,
		.size = status->st_size,
	};
}

uint64_t file_changed_ns(const struct stat *status)
{
	return (uint64_t)status->st_ctim.tv_sec * NSEC_PER_SEC + (uint64_t)status->st_ctim.tv_nsec;
}

size_t mapped_path_length(const char *path, bool *ret_deleted)
{
	static const char suffix[] = " (deleted)";
	size_t length = strlen(path);

	*ret_deleted =
		length > strlen(suffix) && strcmp(path + length - strlen(suffix), suffix) == 0;
	return *ret_deleted ? length - strlen(suffix) : length;
}

bool mapped_file_has_path(const struct mapped_file *file)
{
	return file->path && file->path[0] == '/' && file->path[1] != '/' && file->path[1] != '\0';
}

bool reported_file_is_set(const struct reported_file *reported)
{
	return reported->mapped_ns && reported->inode;
}

bool reported_file_is_unique(const struct reported_file *reported)
{
	return reported_file_is_set(reported) && (reported->generation || major(reported->device));
}

static bool inode_matches(const struct reported_file *reported, const struct stat *status)
{
	return reported->inode == 0 || reported->inode == status->st_ino;
}

/* Also compares the generations, if both are known. */
static bool is_reported_inode(const struct reported_file *reported, const struct found_file *found)
{
	uint64_t generation = file_generation(found->fd);

	return inode_matches(reported, &found->status) &&
	       (!reported_file_is_set(reported) || generation == 0 ||
		reported->generation == generation);
}

/*
 * Whether the inode was last changed before the file was mapped. @slack_ns: how much the time of
 * the change may be too early, because the kernel takes it from a coarse clock.
 */
static bool is_unchanged_since(const struct reported_file *reported, const struct stat *status,
			       uint64_t slack_ns)
{
	/*
	 * The wall clock is read first. If this thread is preempted between the two readings, the
	 * mapping seems older than it is, and at worst an unchanged file is rejected.
	 */
	uint64_t now_wall_ns = clock_wall_ns(&system_clock);
	uint64_t now_ns = clock_monotonic_ns(&system_clock);
	uint64_t changed_ns = file_changed_ns(status);
	uint64_t ago_ns = now_ns > reported->mapped_ns ? now_ns - reported->mapped_ns : 0;

	return changed_ns + slack_ns < now_wall_ns - MIN(ago_ns, now_wall_ns);
}

/* Opens the file that is mapped at @file->start now, if it agrees with @file->reported. */
static bool find_mapped(const struct mapped_file *file, struct found_file *ret_found)
{
	struct found_file found = { .is_certain = true };

	found.fd = open_mapped_file(file->pid, file->start, file->end, &found.status);
	if (found.fd < 0)
		return false;
	if (!is_reported_inode(&file->reported, &found)) {
		(void)close(found.fd);
		return false;
	}
	*ret_found = found;
	return true;
}

/*
 * Whether a file that was found by its path agrees with @reported. @is_own_root: the path was
 * resolved in the root of the process.
 */
static bool file_matches(const struct reported_file *reported, const struct found_file *found,
			 bool is_own_root)
{
	uint64_t generation = file_generation(found->fd);

	if (!is_reported_inode(reported, found))
		return false;
	/*
	 * The inode number may belong to another device, or to a later file. Only a generation
	 * excludes that.
	 */
	if (generation == 0 && !is_own_root && found->status.st_dev != reported->device)
		return false;
	return is_unchanged_since(reported, &found->status, generation == 0 ? MAX_TICK_NS : 0);
}

/*
 * Opens the path when the process has ended: in the root of its parent, which is usually the same,
 * or else in the agent's root.
 */
static int open_elsewhere(const struct mapped_file *file, struct stat *ret_status)
{
	int fd = file->parent_pid ? open_in_root_of(file->parent_pid, file->path, ret_status)
				  : -ESRCH;

	return fd >= 0 ? fd : open_on_host(file->path, ret_status);
}

/*
 * Opens the file by its path. If the kernel reported the mapping, the file must agree with the
 * report.
 */
static bool find_named(const struct mapped_file *file, struct found_file *ret_found)
{
	struct found_file found = { .is_certain = reported_file_is_set(&file->reported) };
	bool is_own_root = true;
	bool deleted;

	(void)mapped_path_length(file->path, &deleted);
	if (deleted)
		return false;
	found.fd = open_in_root_of(file->pid, file->path, &found.status);
	/*
	 * Without a report, the file with this path in another root may belong to another
	 * container.
	 */
	if (found.fd < 0 && found.is_certain) {
		is_own_root = false;
		found.fd = open_elsewhere(file, &found.status);
	}
	if (found.fd < 0)
		return false;
	if (found.is_certain && !file_matches(&file->reported, &found, is_own_root)) {
		(void)close(found.fd);
		return false;
	}
	*ret_found = found;
	return true;
}

/*
 * Finds the file that the process copied to memory: its program (even if it was deleted), or the
 * file with this path. Accepts either only if the memory has the same bytes.
 */
static bool find_copied(const struct mapped_file *file, struct found_file *ret_found)
{
	struct found_file found = { .is_certain = true };

	found.fd = open_program_of(file->pid, &found.status);
	if (found.fd >= 0 && !is_reported_inode(&file->reported, &found)) {
		(void)close(found.fd);
		found.fd = -1;
	}
	if (found.fd < 0 && !find_named(file, &found))
		return false;
	if (!memory_is_copy(file->pid, file->start, file->end, found.fd, file->file_offset)) {
		(void)close(found.fd);
		return false;
	}
	*ret_found = found;
	return true;
}

/*
 * Looks at the path in the agent's root without opening it. Returns whether the file agrees with
 * the kernel's report.
 */
static bool is_on_host(const struct mapped_file *file, struct stat *ret_status)
{
	uint64_t slack_ns = file->reported.generation ? 0 : MAX_TICK_NS;

	return reported_file_is_set(&file->reported) &&
	       fstatat(AT_FDCWD, file->path, ret_status, AT_NO_AUTOMOUNT) == 0 &&
	       inode_matches(&file->reported, ret_status) &&
	       ret_status->st_dev == file->reported.device &&
	       is_unchanged_since(&file->reported, ret_status, slack_ns);
}

int file_finder_look(const struct mapped_file *file, struct file_facts *ret_facts)
{
	struct stat status;
	bool is_it;

	if (file->is_copy)
		return 0;
	if (stat_mapped_file(file->pid, file->start, file->end, &status) == 0)
		is_it = inode_matches(&file->reported, &status);
	else
		is_it = is_on_host(file, &status);
	if (!is_it)
		return 0;
	*ret_facts = (struct file_facts){ .key = file_key_of(&status), .is_certain = true };
	return 1;
}

int file_finder_open(const struct mapped_file *file, struct file_facts *ret_facts)
{
	struct found_file found;

	if (file->is_copy ? !find_copied(file, &found)
			  : !find_mapped(file, &found) && !find_named(file, &found))
		return -ENOENT;
	*ret_facts = (struct file_facts){
		.key = file_key_of(&found.status),
		.generation = file_generation(found.fd),
		.is_certain = found.is_certain,
		.is_trusted = file_is_trusted(found.fd, &found.status),
		.is_watchable = file_is_watchable(found.fd),
	};
	return found.fd;
}

int file_finder_open_source(const struct executable_source *source, unsigned int way)
{
	struct stat status;

	if (source->role == EXECUTABLE_VDSO)
		return way == 0 ? open_vdso(0, 0, source->end) : -ENOENT;
	if (source->role != EXECUTABLE_USER || !source->path)
		return -ENOENT;
	switch (way) {
	case 0:
		return open_mapped_file(source->pid, source->start, source->end, &status);
	case 1:
		return open_in_root_of(source->pid, source->path, &status);
	default:
		return open_on_host(source->path, &status);
	}
}
