/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a variable of the thread as CRuby does, for test_thread_variable.c, in a library or a
 * program.
 */

struct thread {
	long number, value;
};

struct context {
	long words[6];
	struct thread *thread;
};

/* @VARIABLE: "static", or empty for a variable that is exported. */
static __thread long other_variable;
VARIABLE __thread struct context *ruby_current_ec;

long rb_thread_current(void);
void *address_of_variable(void);
long *address_of_other(void);
void set_variable(struct context *context);

long rb_thread_current(void)
{
	return ruby_current_ec->thread->value;
}

void *address_of_variable(void)
{
	return &ruby_current_ec;
}

long *address_of_other(void)
{
	return &other_variable;
}

void set_variable(struct context *context)
{
	ruby_current_ec = context;
}

#if defined(PROGRAM)
int main(void)
{
	static struct thread thread;
	static struct context context = { .thread = &thread };

	set_variable(&context);
	return (int)rb_thread_current();
}
#endif
