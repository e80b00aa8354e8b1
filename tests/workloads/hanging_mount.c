/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hanging_mount FOLDER FILE: mounts a FUSE file system on FOLDER that contains FILE under the name
 * "program". It answers requests until SIGUSR1. From then on it reads requests and never answers
 * them, so that a process that makes one waits in the kernel and cannot be ended by a signal.
 * Prints "mounted" and "hangs".
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define NODE_PROGRAM 2
#define NAME         "program"

static volatile sig_atomic_t hangs;
static char buffer[1 << 20];
static int device, content;
static off_t content_size;

static void on_signal(int number)
{
	(void)number;
	hangs = 1;
}

static void answer(const struct fuse_in_header *in, int error, const void *data, size_t size)
{
	struct fuse_out_header out = { .len = (uint32_t)(sizeof(out) + size),
				       .error = error,
				       .unique = in->unique };
	static char message[(1 << 20) + sizeof(out)];

	memcpy(message, &out, sizeof(out));
	if (size > 0)
		memcpy(message + sizeof(out), data, size);
	if (write(device, message, out.len) < 0 && errno != ENOENT)
		perror("write");
}

static struct fuse_attr attributes_of(uint64_t node)
{
	struct fuse_attr attributes = { .ino = node, .nlink = 1, .blksize = 4096 };

	attributes.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0755;
	attributes.size = node == FUSE_ROOT_ID ? 0 : (uint64_t)content_size;
	attributes.blocks = (attributes.size + 511) / 512;
	return attributes;
}

static void answer_read(const struct fuse_in_header *in, const struct fuse_read_in *request)
{
	static char data[1 << 20];
	ssize_t n =
		pread(content, data, request->size < sizeof(data) ? request->size : sizeof(data),
		      (off_t)request->offset);

	answer(in, n < 0 ? -EIO : 0, data, n < 0 ? 0 : (size_t)n);
}

static void answer_init(const struct fuse_in_header *in, const struct fuse_init_in *request)
{
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = request->max_readahead,
		.max_write = 4096,
		.time_gran = 1,
	};

	answer(in, 0, &out, sizeof(out));
	printf("mounted\n");
	(void)fflush(stdout);
}

static void serve(const struct fuse_in_header *in, const void *request)
{
	/*
	 * All validity times are 0: the kernel caches nothing, and sends a request for each access.
	 */
	struct fuse_entry_out entry = { .nodeid = NODE_PROGRAM,
					.attr = attributes_of(NODE_PROGRAM) };
	struct fuse_attr_out attributes = { .attr = attributes_of(in->nodeid) };
	struct fuse_open_out opened = { .open_flags = FOPEN_KEEP_CACHE };

	switch (in->opcode) {
	case FUSE_INIT:
		answer_init(in, request);
		break;
	case FUSE_LOOKUP:
		answer(in, strcmp(request, NAME) == 0 ? 0 : -ENOENT, &entry,
		       strcmp(request, NAME) == 0 ? sizeof(entry) : 0);
		break;
	case FUSE_GETATTR:
		answer(in, 0, &attributes, sizeof(attributes));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		answer(in, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		answer_read(in, request);
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_ACCESS:
		answer(in, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(in, -ENOSYS, NULL, 0);
	}
}

static int mount_on(const char *folder)
{
	char options[128];

	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (device < 0)
		return -1;
	(void)snprintf(options, sizeof(options),
		       "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", device);
	return mount("hanging", folder, "fuse", MS_NOSUID | MS_NODEV, options);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	int said = 0;
	struct stat status;

	if (argc != 3)
		return 2;
	content = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (content < 0 || fstat(content, &status) < 0 || mount_on(argv[1]) < 0) {
		perror("hanging_mount");
		return 1;
	}
	content_size = status.st_size;
	(void)sigaction(SIGUSR1, &action, NULL);
	for (;;) {
		ssize_t n = read(device, buffer, sizeof(buffer));

		if (hangs && !said) {
			printf("hangs\n");
			(void)fflush(stdout);
			said = 1;
		}
		if (n < 0 && (errno == EINTR || errno == ENOENT))
			continue;
		if (n < (ssize_t)sizeof(struct fuse_in_header))
			return 0;
		if (!hangs)
			serve((const struct fuse_in_header *)buffer,
			      buffer + sizeof(struct fuse_in_header));
	}
}
