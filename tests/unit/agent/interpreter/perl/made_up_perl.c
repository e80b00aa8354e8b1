/* SPDX-License-Identifier: Apache-2.0 */
/* A library with the symbols of Perl: VERSION, with threads or without (GLOBAL). */
#include <stddef.h>

typedef int (*function)(void);

struct interpreter {
	char others[256];
	function runops;
};

#define PP_ENTERTRY 347

extern const char PL_version;
const char PL_version = VERSION;

#if defined(GLOBAL)
void *PL_curcop, *PL_curstackinfo, *PL_op;
function PL_runops;
#define LOOP(interpreter) ((void)(interpreter), PL_runops)
#else
int PL_thr_key;
struct interpreter *PL_curinterp;
#define LOOP(interpreter) ((interpreter)->runops)
#endif

int Perl_runops_standard(struct interpreter *interpreter);
int perl_run(struct interpreter *interpreter);
int last(int value);

int Perl_runops_standard(struct interpreter *interpreter)
{
	return interpreter->others[0] * 5 + 1;
}

/* Called by perl_run(), and not exported. */
static __attribute__((noipa)) int run_body(struct interpreter *interpreter, int level)
{
	return LOOP(interpreter)() + level;
}

int perl_run(struct interpreter *interpreter)
{
	return run_body(interpreter, interpreter->others[1]) * 3;
}

static __attribute__((noipa)) int docatch(struct interpreter *interpreter)
{
	return LOOP(interpreter)() * 7 + 1;
}

static int pp_entertry(struct interpreter *interpreter)
{
	if (interpreter->others[2])
		return docatch(interpreter);
	return 1;
}

int (*PL_ppaddr[400])(struct interpreter *) = { [PP_ENTERTRY] = pp_entertry };

/* The end of the last function of a file is not known. */
int last(int value)
{
	return value * 3;
}
