/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs files of make_executables: maps COUNT of them, and calls their chains in turn, for a short
 * CPU time each.
 *
 *   use_executables FOLDER FIRST COUNT [OPTION=NUMBER...]
 *
 *   files=COUNT   number of files in FOLDER; after the last one it continues with the first one
 *   copies=1      how often each file is mapped
 *   period=250    milliseconds between two wakeups; 0: it never sleeps
 *   busy=1000     microseconds of CPU time after a wakeup while FOLDER/busy exists
 *   slice=100     approximate microseconds of CPU time in one chain
 *   threads=1     number of threads that do this
 *
 * Built without frame pointers. Prints "ready" once everything is mapped, and runs until it is
 * killed. The user part of its stack is: LEAF, ..., HEAD (of a chain), work(), run(), then
 * functions of the C library or main().
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "made_executable.h"
#include "named_number.h"
#include "spin.h"

/* Approximate number of turns of a leaf's loop in a microsecond. */
#define TURNS_PER_US 3000

struct options {
	uint64_t files, copies, period, busy, slice, threads;
};

struct user {
	const struct options *options;
	const char *folder;
	char gate[4096];
	made_head *heads; /* [n_heads] */
	size_t n_heads;
};

VISIBLE void work(struct user *user, size_t *turn, uint64_t until_ns);
VISIBLE void *run(void *user);

static void die(const char *attempt, const char *object)
{
	fprintf(stderr, "use_executables: cannot %s '%s': %s\n", attempt, object, strerror(errno));
	exit(1);
}

/*
 * Maps all load segments according to the program headers, in one reserved range. Returns the
 * range.
 */
static uint8_t *map_segments(int fd, const Elf64_Phdr *segments, size_t n_segments,
			     const char *path)
{
	uint64_t page = 4096, end = 0;
	uint8_t *range;

	for (size_t i = 0; i < n_segments; i++)
		if (segments[i].p_type == PT_LOAD)
			end = segments[i].p_vaddr + segments[i].p_memsz;
	range = mmap(NULL, end, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (range == MAP_FAILED)
		die("find room for", path);
	for (size_t i = 0; i < n_segments; i++) {
		const Elf64_Phdr *segment = &segments[i];
		uint64_t skew = segment->p_vaddr % page;
		int protection = PROT_READ | (segment->p_flags & PF_X ? PROT_EXEC : 0);

		if (segment->p_type == PT_LOAD &&
		    mmap(range + segment->p_vaddr - skew, segment->p_filesz + skew, protection,
			 MAP_PRIVATE | MAP_FIXED, fd,
			 (off_t)(segment->p_offset - skew)) == MAP_FAILED)
			die("map", path);
	}
	return range;
}

static void map_file(struct user *user, uint64_t number)
{
	struct {
		Elf64_Ehdr elf;
		Elf64_Phdr segments[8];
	} head = { 0 };
	const struct made_header *made = NULL;
	char path[4096];
	uint8_t *range;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%llu.so", user->folder, (unsigned long long)number);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || pread(fd, &head, sizeof(head), 0) != sizeof(head))
		die("read", path);
	errno = ENOEXEC;
	if (head.elf.e_phnum > 8 || head.elf.e_phoff != sizeof(head.elf) ||
	    head.elf.e_machine != EM_X86_64)
		die("use", path);
	range = map_segments(fd, head.segments, head.elf.e_phnum, path);
	for (size_t i = 0; i < head.elf.e_phnum; i++)
		if (head.segments[i].p_type == PT_LOAD && head.segments[i].p_flags & PF_X)
			made = (const void *)(range + head.segments[i].p_vaddr);
	if (!made || made->magic != MADE_MAGIC || made->n_chains > MADE_MAX_CHAINS)
		die("use", path);
	for (uint32_t i = 0; i < made->n_chains; i++)
		user->heads[user->n_heads++] = (made_head)((uintptr_t)made + made->head_offset[i]);
	(void)close(fd);
}

void work(struct user *user, size_t *turn, uint64_t until_ns)
{
	do {
		user->heads[(*turn)++ % user->n_heads](user->options->slice * TURNS_PER_US);
	} while (clock_read_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns);
}

void *run(void *argument)
{
	struct user *user = argument;
	/* Processes that start together do not work at the same time, nor in the same chain. */
	uint64_t seed = (uint64_t)getpid() * 6364136223846793005u + (uint64_t)(uintptr_t)&user;
	size_t turn = (size_t)(seed >> 33);

	if (user->options->period > 0)
		(void)usleep((useconds_t)((seed >> 40) % (user->options->period * 1000)));
	for (;;) {
		if (access(user->gate, F_OK) == 0)
			work(user, &turn,
			     clock_read_ns(CLOCK_THREAD_CPUTIME_ID) + user->options->busy * 1000);
		if (user->options->period > 0)
			(void)usleep((useconds_t)(user->options->period * 1000));
	}
	return NULL;
}

static int parse_option(const char *argument, struct options *options)
{
	const struct named_number names[] = {
		{ "files", &options->files },   { "copies", &options->copies },
		{ "period", &options->period }, { "busy", &options->busy },
		{ "slice", &options->slice },   { "threads", &options->threads },
	};

	return read_argument(argument, names, sizeof(names) / sizeof(names[0]));
}

static void start_threads(struct user *user)
{
	pthread_attr_t attributes;

	if (pthread_attr_init(&attributes) != 0 ||
	    pthread_attr_setstacksize(&attributes, 65536) != 0)
		die("set the stack size of", "threads");
	for (uint64_t i = 1; i < user->options->threads; i++) {
		pthread_t thread;

		errno = pthread_create(&thread, &attributes, run, user);
		if (errno != 0)
			die("start", "a thread");
	}
}

int main(int argc, char **argv)
{
	struct options options = {
		.copies = 1, .period = 250, .busy = 1000, .slice = 100, .threads = 1
	};
	struct user user = { .options = &options, .folder = argc > 1 ? argv[1] : "" };
	uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0,
		 count = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	int r = argc > 3 && count > 0 ? 0 : -EINVAL;

	for (int i = 4; i < argc && r == 0; i++)
		r = parse_option(argv[i], &options);
	if (r < 0 || options.slice == 0 || options.copies == 0) {
		fprintf(stderr, "usage: use_executables FOLDER FIRST COUNT [files= copies= period= "
				"busy= slice= threads=]\n");
		return 2;
	}
	(void)snprintf(user.gate, sizeof(user.gate), "%s/busy", user.folder);
	user.heads = calloc(count * options.copies * MADE_MAX_CHAINS, sizeof(made_head));
	if (!user.heads)
		die("allocate memory for", "files");
	for (uint64_t i = 0; i < count * options.copies; i++)
		map_file(&user, options.files > 0 ? (first + i % count) % options.files
						  : first + i % count);
	start_threads(&user);
	puts("ready");
	(void)fflush(stdout);
	(void)run(&user);
	return 0;
}
