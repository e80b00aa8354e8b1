/* SPDX-License-Identifier: Apache-2.0 */

/* Libraries that differ in nothing but this number, and in whether they say who they are. */
int mapped_library_number(void);

int mapped_library_number(void)
{
	return NUMBER;
}
