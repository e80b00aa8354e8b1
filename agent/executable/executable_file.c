/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is first opened with O_PATH, which calls no driver. If it is a regular file, it is then
 * opened for reading through /proc/self/fd.
 */
#include "agent/executable/executable_file.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "agent/executable/executable_content.h"
#include "common/file.h"
#include "common/scoped.h"
/* "/proc/self/map_files/ffffffffffffffff-ffffffffffffffff" */
#define PROC_PATH_SIZE 96

/* The vDSO has two pages on x86-64 and one to four on arm64. */
#define MAX_VDSO_BYTES ((uint64_t)(64 * KIB))

static int open_for_reading(int path_fd, struct stat *ret_status)
{
	char path[PROC_PATH_SIZE];
	struct stat status;
	int fd;

	if (fstat(path_fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -ENOEXEC;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	*ret_status = status;
	return fd;
}

static void format_mapped_path(uint32_t pid, uint64_t start, uint64_t end,
			       char ret_path[PROC_PATH_SIZE])
{
	(void)snprintf(ret_path, PROC_PATH_SIZE, "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64,
		       pid, start, end);
}

int stat_mapped_file(uint32_t pid, uint64_t start, uint64_t end, struct stat *ret_status)
{
	char path[PROC_PATH_SIZE];

	format_mapped_path(pid, start, end, path);
	return stat(path, ret_status) < 0 ? -errno : 0;
}

/* The kernel writes an int, although the ioctl number encodes a long (ext4, xfs, btrfs). */
uint64_t file_generation(int fd)
{
	uint64_t generation = 0;

	if (ioctl(fd, FS_IOC_GETVERSION, &generation) < 0)
		return 0;
	return generation & UINT32_MAX;
}

int open_mapped_file(uint32_t pid, uint64_t start, uint64_t end, struct stat *ret_status)
{
	char path[PROC_PATH_SIZE];
	scoped_fd int path_fd = -1;

	format_mapped_path(pid, start, end, path);
	path_fd = open(path, O_PATH | O_CLOEXEC);
	if (path_fd < 0)
		return -errno;
	return open_for_reading(path_fd, ret_status);
}

int open_program_of(uint32_t pid, struct stat *ret_status)
{
	char path[PROC_PATH_SIZE];
	scoped_fd int path_fd = -1;

	(void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/exe", pid);
	path_fd = open(path, O_PATH | O_CLOEXEC);
	return path_fd < 0 ? -errno : open_for_reading(path_fd, ret_status);
}

static int open_path_inside(int root_fd, const char *path, uint64_t more_flags)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | more_flags,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

static int open_in_root(uint32_t pid, const char *path, uint64_t more_flags,
			struct stat *ret_status)
{
	char root[PROC_PATH_SIZE];
	scoped_fd int root_fd = -1;
	scoped_fd int path_fd = -1;

	(void)snprintf(root, sizeof(root), "/proc/%" PRIu32 "/root", pid);
	root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -errno;
	path_fd = open_path_inside(root_fd, path, more_flags);
	if (path_fd < 0)
		return path_fd;
	return open_for_reading(path_fd, ret_status);
}

int open_in_root_of(uint32_t pid, const char *path, struct stat *ret_status)
{
	return open_in_root(pid, path, 0, ret_status);
}

int open_plain_in_root_of(uint32_t pid, const char *path, struct stat *ret_status)
{
	return open_in_root(pid, path, O_NOFOLLOW, ret_status);
}

int open_on_host(const char *path, struct stat *ret_status)
{
	scoped_fd int path_fd = open(path, O_PATH | O_CLOEXEC);

	if (path_fd < 0)
		return -errno;
	return open_for_reading(path_fd, ret_status);
}

bool load_segment_is_valid(const struct load_segment *segment)
{
	return segment->file_size <= UINT64_MAX - segment->vaddr &&
	       segment->file_size <= UINT64_MAX - segment->file_offset;
}

/* If there are more segments than fit, only executable ones are kept. */
static int copy_segments(const struct elf_file *elf, struct file_identity *identity)
{
	size_t count = MIN(elf->n_load_segments, (size_t)MAX_LOAD_SEGMENTS);
	bool only_code = elf->n_load_segments > MAX_LOAD_SEGMENTS;

	if (count == 0)
		return 0;
	identity->segments = calloc(count, sizeof(*identity->segments));
	if (!identity->segments)
		return -ENOMEM;
	for (size_t i = 0; i < elf->n_load_segments && identity->n_segments < count; i++) {
		const struct load_segment *segment = &elf->load_segments[i];

		if (load_segment_is_valid(segment) && (!only_code || (segment->flags & PF_X)))
			identity->segments[identity->n_segments++] = *segment;
	}
	return 0;
}

int file_identity_read(int fd, struct file_identity *ret_identity)
{
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	struct file_identity identity = {};
	int r;

	r = elf_file_open_any_class(fd, &elf);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = build_id_from_elf(elf, &identity.id);
	if (r <= 0)
		return r == -ENOMEM ? r : 0;
	r = executable_content_hash(elf, &identity.id, &identity.content);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = copy_segments(elf, &identity);
	if (r < 0)
		return r;
	*ret_identity = identity;
	return 1;
}

int file_text_identity_read(int fd, struct executable_id *ret_id)
{
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	int r;

	r = elf_file_open(fd, &elf);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = build_id_from_text(elf, ret_id);
	return r == 1 || r == -ENOMEM ? r : 0;
}

bool file_is_trusted(int fd, const struct stat *status)
{
	struct statfs file_system;

	if (status->st_uid != 0 || status->st_mode & (S_IWGRP | S_IWOTH))
		return false;
	return fstatfs(fd, &file_system) == 0 && file_system.f_type != FUSE_SUPER_MAGIC;
}

bool file_is_watchable(int fd)
{
	static const uint32_t local[] = {
		EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
		TMPFS_MAGIC,      RAMFS_MAGIC,     SQUASHFS_MAGIC,    EROFS_SUPER_MAGIC_V1,
	};
	struct statfs file_system;

	if (fstatfs(fd, &file_system) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(local); i++) {
		if ((uint32_t)file_system.f_type == local[i])
			return true;
	}
	return false;
}

void file_identity_release(struct file_identity *identity)
{
	free(identity->segments);
	*identity = (struct file_identity){};
}

/* Reads as much as possible from @start on: @size may reach beyond the end of the mapping. */
static int read_memory(uint32_t pid, uint64_t start, uint64_t size, struct bytes *out)
{
	char path[PROC_PATH_SIZE];
	scoped_fd int fd = -1;
	ssize_t n;

	if (pid == 0)
		(void)snprintf(path, sizeof(path), "/proc/self/mem");
	else
		(void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (bytes_reserve(out, size) < 0)
		return -ENOMEM;
	n = pread(fd, out->data, size, (off_t)start);
	if (n <= 0)
		return n < 0 ? -errno : -ENODATA;
	out->size = (size_t)n;
	return 0;
}

static int file_in_memory(const struct bytes *content)
{
	scoped_fd int fd = memfd_create("hearth-vdso", MFD_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	r = write_all(fd, content->data, content->size);
	return r < 0 ? r : take_fd(fd);
}

int open_vdso(uint32_t pid, uint64_t start, uint64_t end)
{
	scoped(bytes_release) struct bytes image = BYTES_INIT(MAX_VDSO_BYTES);
	uint64_t size = end > start ? MIN(end - start, MAX_VDSO_BYTES) : 0;
	int r;

	if (pid == 0)
		start = getauxval(AT_SYSINFO_EHDR);
	if (start == 0 || size == 0)
		return -ENOENT;
	r = read_memory(pid, start, size, &image);
	return r < 0 ? r : file_in_memory(&image);
}
