/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions like the loop of CPython 3.8 to 3.10, for test_unlinked_code.c: they link a frame at
 * their beginning and unlink it at their end. The byte code has operations that call the function
 * again, store to another structure at the same offset, and fail.
 */
#include <stdlib.h>
#include <unistd.h>

struct frame {
	long head[3];
	struct frame *back; /* offset 24, as in CPython */
	const char *code;
	long result;
	char executing;
};

struct thread {
	long head[3];
	struct frame *frame; /* offset 24, as in CPython */
	int depth;
	long error;
};

struct list {
	long head[3];
	long first; /* the same offset */
};

#define COLD     __attribute__((noinline, cold))
#define NOINLINE __attribute__((noinline))

struct thread the_thread;
struct thread *volatile current_thread = &the_thread;
volatile int trace;
struct list a_list;

COLD _Noreturn void fatal(const char *text);
COLD int depth_is_exceeded(struct thread *thread, const char *text);
NOINLINE long check_result(struct thread *thread, long result, const char *name);
NOINLINE void trace_frame(struct thread *thread, struct frame *frame);
NOINLINE long fail_with(struct thread *thread, long error);
long loop_3_8(struct frame *frame, int is_thrown);
long loop_3_9(struct thread *thread, struct frame *frame, int is_thrown);
long returns_while_linked(struct thread *thread, struct frame *frame, int is_thrown);
long never_links(struct thread *thread, struct frame *frame, int is_thrown);

COLD _Noreturn void fatal(const char *text)
{
	_exit(text[0]);
}

COLD int depth_is_exceeded(struct thread *thread, const char *text)
{
	thread->error = text[0];
	if (thread->depth <= 6)
		return 0;
	thread->depth--;
	return 1;
}

NOINLINE long check_result(struct thread *thread, long result, const char *name)
{
	__asm__ volatile("" : "+r"(result));
	return thread->error > 1000 ? name[0] : result;
}

NOINLINE void trace_frame(struct thread *thread, struct frame *frame)
{
	frame->head[0] += thread->depth;
}

NOINLINE long fail_with(struct thread *thread, long error)
{
	thread->error += error;
	return thread->error & 1;
}

/* The body of the loop. @call: the function itself; @early: a statement of an operation. */
#define LOOP(thread, frame, call, early)                                                           \
	static const void *const operations[] = { &&add, &&nest, &&store, &&fail, &&end };         \
	struct frame inner = { .back = (frame) };                                                  \
	const char *next;                                                                          \
	long result = 0;                                                                           \
	if (!(thread))                                                                             \
		fatal("no thread");                                                                \
	if (++(thread)->depth > 4 && depth_is_exceeded((thread), "too deep"))                      \
		return 0;                                                                          \
	LINK((thread)->frame = (frame));                                                           \
	if (trace)                                                                                 \
		trace_frame((thread), (frame));                                                    \
	if (is_thrown)                                                                             \
		goto fail;                                                                         \
	(frame)->executing = 1;                                                                    \
	next = (frame)->code;                                                                      \
	goto *operations[(int)*next++];                                                            \
	add:                                                                                       \
	result += *next++;                                                                         \
	goto *operations[(int)*next++];                                                            \
	nest:                                                                                      \
	inner.code = next + 1;                                                                     \
	next += *next;                                                                             \
	result += call;                                                                            \
	goto *operations[(int)*next++];                                                            \
	store:                                                                                     \
	a_list.first = result;                                                                     \
	(&a_list + (is_thrown & 1))->first = result + 1;                                           \
	early;                                                                                     \
	goto *operations[(int)*next++];                                                            \
	fail:                                                                                      \
	if (fail_with((thread), result)) {                                                         \
		result = -1;                                                                       \
		goto done;                                                                         \
	}                                                                                          \
	if (is_thrown)                                                                             \
		goto done;                                                                         \
	goto *operations[(int)*next++];                                                            \
	end:                                                                                       \
	(frame)->result = result;                                                                  \
	done:                                                                                      \
	if (trace)                                                                                 \
		trace_frame((thread), (frame));                                                    \
	(thread)->depth--;                                                                         \
	(frame)->executing = 0;                                                                    \
	LINK((thread)->frame = (frame)->back);                                                     \
	return check_result((thread), result, __func__)

#define LINK(statement) statement

NOINLINE long loop_3_8(struct frame *frame, int is_thrown)
{
	struct thread *thread = current_thread;

	LOOP(thread, frame, loop_3_8(&inner, trace), );
}

NOINLINE long loop_3_9(struct thread *thread, struct frame *frame, int is_thrown)
{
	LOOP(thread, frame, loop_3_9(thread, &inner, trace), );
}

NOINLINE long returns_while_linked(struct thread *thread, struct frame *frame, int is_thrown)
{
	LOOP(thread, frame, returns_while_linked(thread, &inner, trace),
	     if (result > 100) return result);
}

#undef LINK
#define LINK(statement) (void)0

NOINLINE long never_links(struct thread *thread, struct frame *frame, int is_thrown)
{
	LOOP(thread, frame, never_links(thread, &inner, trace), );
}

#undef LINK
#define LINK(statement) statement

/* Runs the byte code with the test as tracer, which takes over at the breakpoint. */
int main(void)
{
	/* add 5, store, nest { store, add 3, fail, end }, nest seven times { end }, fail, end */
	static const char code[] = { 0, 5,  2, 1, 6, 2, 0, 3, 3, 4, 1, 23, 1, 20, 1, 17, 1, 14,
				     1, 11, 1, 8, 1, 5, 1, 2, 4, 4, 4, 4,  4, 4,  4, 4,  3, 4 };
	struct frame frame = { .code = code };
	long sum = 0;

	__asm__ volatile("int3");
	for (trace = 0; trace < 2; trace++) {
		sum += loop_3_8(&frame, 0);
		sum += loop_3_9(&the_thread, &frame, 0);
		sum += loop_3_9(&the_thread, &frame, 1);
	}
	__asm__ volatile("" : : "r"(sum));
	_exit(0);
}
