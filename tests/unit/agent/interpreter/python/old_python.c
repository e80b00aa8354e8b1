/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library with the symbols of CPython 3.MINOR, for test_find_python.c. Its loop is one of those
 * in linked.c.
 */
#include "linked.c"

char _PyRuntime[2048];

#if MINOR == 8
NOINLINE long _PyEval_EvalFrameDefault(struct frame *frame, int is_thrown);

NOINLINE long _PyEval_EvalFrameDefault(struct frame *frame, int is_thrown)
{
	struct thread *thread = current_thread;

	LOOP(thread, frame, _PyEval_EvalFrameDefault(&inner, trace), );
}
#else
NOINLINE long _PyEval_EvalFrameDefault(struct thread *thread, struct frame *frame, int is_thrown);

NOINLINE long _PyEval_EvalFrameDefault(struct thread *thread, struct frame *frame, int is_thrown)
{
	LOOP(thread, frame, _PyEval_EvalFrameDefault(thread, &inner, trace), );
}
#endif

#define EXPORT(name)                                                                               \
	void name(void);                                                                           \
	void name(void)                                                                            \
	{                                                                                          \
	}

#if MINOR >= 8
EXPORT(PyCode_NewWithPosOnlyArgs)
#endif
#if MINOR >= 9
EXPORT(PyObject_CallNoArgs)
#endif
#if MINOR >= 10
EXPORT(Py_NewRef)
#endif
