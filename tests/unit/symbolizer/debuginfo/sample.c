/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A program to upload. Its second function gives the line table something to tell apart.
 */

static int twice(int value)
{
	return 2 * value;
}

int main(int argc, char **argv)
{
	(void)argv;
	return twice(argc) - 2;
}
