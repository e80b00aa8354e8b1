/* SPDX-License-Identifier: Apache-2.0 */

/* Built several times: the libraries differ in this number and in whether they have a build-ID. */
int mapped_library_number(void);

int mapped_library_number(void)
{
	return NUMBER;
}
