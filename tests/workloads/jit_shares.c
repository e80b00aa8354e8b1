/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that generates code and describes it as language runtimes do. 60, 30 and 10 % of its
 * CPU time are in three generated functions that run the same loop. A fourth generated function
 * calls them; it is called by run_generated(). All have frame pointers and no call frame
 * information.
 *
 *   jit_shares MODE FOLDER MILLISECONDS      of CPU time
 *
 *   map         writes FOLDER/perf-PID.map. Its first entry covers the functions with 60 and 30 %
 *               with another name, as if older code had been there. The name of the function with
 *               10 % is written after 20 ms, before it runs. The last line has no end.
 *   dump        writes FOLDER/jit-PID.dump (jitdump) and maps it; the function with 60 % has source
 *               lines, and the one with 10 % was moved to its place
 *   none        writes nothing
 *   growing     as map, with 20 MiB of other names at first, and 1 MiB more in each second; all
 *               lines have an end
 *
 * Prints "ready" at the start.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spin.h"

#define CODE_BYTES 4096
#define CODE_SLOT  256

typedef void (*loop)(uint64_t steps);
typedef void (*caller)(uint64_t steps, loop callee);

enum { HOT, WARM, COLD, OUTER, N_FUNCTIONS };

static const uint64_t shares[] = { 60, 30, 10 };

/*
 * The functions take turns many times between two ticks of a profiler, so that each tick hits them
 * by their shares.
 */
#define STEPS_PER_SHARE 500
#define TURNS           50

#if defined(__x86_64__)
#define ELF_MACHINE 62
/* push %rbp; mov %rsp, %rbp; 1: dec %rdi; jne 1b; pop %rbp; ret */
static const uint8_t loop_code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0xff,
				     0xcf, 0x75, 0xfb, 0x5d, 0xc3 };
/* push %rbp; mov %rsp, %rbp; call *%rsi; pop %rbp; ret */
static const uint8_t caller_code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3 };
#else
#define ELF_MACHINE 183
/*
 * stp x29, x30, [sp, #-16]!; mov x29, sp; 1: subs x0, x0, #1; b.ne 1b; ldp x29, x30, [sp], #16;
 * ret
 */
static const uint32_t loop_code[] = { 0xa9bf7bfd, 0x910003fd, 0xf1000400,
				      0x54ffffe1, 0xa8c17bfd, 0xd65f03c0 };
/* stp x29, x30, [sp, #-16]!; mov x29, sp; blr x1; ldp x29, x30, [sp], #16; ret */
static const uint32_t caller_code[] = { 0xa9bf7bfd, 0x910003fd, 0xd63f0020, 0xa8c17bfd,
					0xd65f03c0 };
#endif

/* ---- the code ------------------------------------------------------------------------------ */

static uint8_t *generate(void)
{
	uint8_t *code =
		mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		exit(1);
	for (int i = 0; i < N_FUNCTIONS; i++)
		memcpy(code + i * CODE_SLOT, i == OUTER ? (const void *)caller_code : loop_code,
		       i == OUTER ? sizeof(caller_code) : sizeof(loop_code));
	__builtin___clear_cache((char *)code, (char *)code + CODE_BYTES);
	if (mprotect(code, CODE_BYTES, PROT_READ | PROT_EXEC) < 0)
		exit(1);
	return code;
}

/* The address of a function, as a number. */
static unsigned long at(const uint8_t *code, int function)
{
	return (unsigned long)(code + function * CODE_SLOT);
}

VISIBLE void run_generated(const uint8_t *code, int n_functions);

/* Runs the first @n_functions functions. */
void run_generated(const uint8_t *code, int n_functions)
{
	caller outer = (caller)at(code, OUTER);

	for (int turn = 0; turn < TURNS; turn++)
		for (int i = 0; i < n_functions; i++)
			outer(shares[i] * STEPS_PER_SHARE, (loop)at(code, i));
	/* The call above must not become a jump. */
	__asm__ volatile("" : : : "memory");
}

/* ---- perf map ------------------------------------------------------------------------------ */

static FILE *begin_map(const char *folder, const uint8_t *code)
{
	char path[4096];
	FILE *map;

	(void)snprintf(path, sizeof(path), "%s/perf-%d.map", folder, getpid());
	map = fopen(path, "we");
	if (!map)
		exit(1);
	fprintf(map, "%lx %x older_code\n", at(code, HOT), 2 * CODE_SLOT);
	fprintf(map, "%lx %x LazyCompile:*hot /app/shop.js:12:3\n", at(code, HOT), CODE_SLOT);
	fprintf(map, "0x%lx 0x%x double com.example.Shop.warm(int, java.lang.String)\n",
		at(code, WARM), CODE_SLOT);
	fprintf(map, "not a line of a map\n");
	fprintf(map, "%lx %x generated_caller\n", at(code, OUTER), CODE_SLOT);
	fflush(map);
	return map;
}

static void end_map(FILE *map, const uint8_t *code, bool grows)
{
	fprintf(map, "%lx %x py::cold:/app/shop.py\n", at(code, COLD), CODE_SLOT);
	if (!grows)
		fprintf(map, "%lx %x torn", at(code, HOT), CODE_SLOT);
	fflush(map);
}

/* Adds @mib MiB of names of code elsewhere. */
static void grow_map(FILE *map, unsigned int mib)
{
	static unsigned long next = 0x100000000;
	long until = ftell(map) + (long)mib * 1048576;

	while (ftell(map) < until) {
		fprintf(map, "%lx 1c0 LazyCompile:~function_%lu /app/lib/module_%lu.js:%lu:7\n",
			next, next / 512, next / 65536, next % 1999);
		/* Code of 32 MiB is generated again and again. */
		next = 0x100000000 + (next + 512) % 0x2000000;
	}
	fflush(map);
}

/* ---- jitdump ------------------------------------------------------------------------------- */

static uint64_t now_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

static uint64_t used_ns(void)
{
	return clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

struct dump_prefix {
	uint32_t id, size;
	uint64_t time_ns;
};

static void write_load(FILE *dump, uint64_t start, const char *name)
{
	const struct {
		struct dump_prefix prefix;
		uint32_t pid, tid;
		uint64_t vma, start, size, index;
	} load = {
		.prefix = { 0, (uint32_t)(sizeof(load) + strlen(name) + 1 + CODE_SLOT), now_ns() },
		.pid = (uint32_t)getpid(),
		.tid = (uint32_t)getpid(),
		.vma = start,
		.start = start,
		.size = CODE_SLOT,
		.index = start,
	};
	static const uint8_t bytes[CODE_SLOT];

	fwrite(&load, sizeof(load), 1, dump);
	fwrite(name, strlen(name) + 1, 1, dump);
	fwrite(bytes, sizeof(bytes), 1, dump);
}

static void write_move(FILE *dump, uint64_t from, uint64_t to)
{
	const struct {
		struct dump_prefix prefix;
		uint32_t pid, tid;
		uint64_t vma, from, to, size, index;
	} move = {
		.prefix = { 1, sizeof(move), now_ns() },
		.pid = (uint32_t)getpid(),
		.tid = (uint32_t)getpid(),
		.from = from,
		.to = to,
		.size = CODE_SLOT,
		.index = from,
	};

	fwrite(&move, sizeof(move), 1, dump);
}

static void write_line(FILE *dump, uint64_t start, uint32_t line, const char *file)
{
	const struct {
		struct dump_prefix prefix;
		uint64_t start, count;
		uint64_t line_start;
		uint32_t line, discriminator;
	} lines = {
		.prefix = { 2, (uint32_t)(sizeof(lines) + strlen(file) + 1), now_ns() },
		.start = start,
		.count = 1,
		.line_start = start,
		.line = line,
	};

	fwrite(&lines, sizeof(lines), 1, dump);
	fwrite(file, strlen(file) + 1, 1, dump);
}

static void write_dump(const char *folder, const uint8_t *code)
{
	const uint32_t header[] = { 0x4a695444,         1, 40, ELF_MACHINE, 0,
				    (uint32_t)getpid(), 0, 0,  0,           0 };
	char path[4096];
	FILE *dump;

	(void)snprintf(path, sizeof(path), "%s/jit-%d.dump", folder, getpid());
	dump = fopen(path, "w+e");
	if (!dump)
		exit(1);
	fwrite(header, sizeof(header), 1, dump);
	fflush(dump);
	/* Only so that others find the file. */
	if (mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_EXEC, MAP_PRIVATE,
		 fileno(dump), 0) == MAP_FAILED)
		exit(1);
	write_load(dump, at(code, HOT), "older_code");
	write_line(dump, at(code, HOT), 12, "/app/shop.c");
	write_load(dump, at(code, HOT), "hot");
	write_load(dump, at(code, WARM), "warm");
	write_load(dump, 0x100000, "cold");
	write_move(dump, 0x100000, at(code, COLD));
	write_load(dump, at(code, OUTER), "generated_caller");
	fflush(dump);
}

/* -------------------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "none";
	const char *folder = argc > 2 ? argv[2] : "/tmp";
	uint64_t milliseconds = argc > 3 ? strtoull(argv[3], NULL, 10) : 10000;
	bool grows = strcmp(mode, "growing") == 0;
	bool writes_map = grows || strcmp(mode, "map") == 0;
	const uint8_t *code = generate();
	uint64_t grown_ns = now_ns();
	FILE *map = NULL;
	bool is_ended = false;

	if (writes_map)
		map = begin_map(folder, code);
	if (grows)
		grow_map(map, 20);
	if (strcmp(mode, "dump") == 0)
		write_dump(folder, code);
	puts("ready");
	fflush(stdout);
	while (used_ns() < milliseconds * 1000000) {
		/* A function runs after its name is written. */
		run_generated(code, writes_map && !is_ended ? COLD : OUTER);
		if (writes_map && !is_ended && used_ns() > 20000000) {
			end_map(map, code, grows);
			is_ended = true;
		}
		if (grows && is_ended && now_ns() > grown_ns + 1000000000) {
			grow_map(map, 1);
			grown_ns = now_ns();
		}
	}
	return 0;
}
