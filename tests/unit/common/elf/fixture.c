/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A program without a C library, small enough to be truncated at every length. Tests read it and
 * never run it.
 */

static int answer = 42;
int counter;

int fixture_function(int value)
{
	return value * answer + counter;
}

void _start(void)
{
	for (;;)
		counter = fixture_function(counter);
}

#ifdef WITH_GO_NOTE
/* As Go's linker writes it: name size 4, description size 8, type 4. */
__asm__(".section .note.go.buildid, \"a\", @note\n"
	".balign 4\n"
	".long 4, 8, 4\n"
	".ascii \"Go\\0\\0\"\n"
	".ascii \"abc/defg\"\n"
	".previous\n");
#endif
