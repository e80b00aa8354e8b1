# SPDX-License-Identifier: Apache-2.0
#
# The commands of README.md, for the tests that run them as they are printed.

# write_readme_blocks README FOLDER: each block of indented lines becomes the file FOLDER/WORD-N: the first word of its
# section's heading, and its number within the section.
write_readme_blocks() {
	mkdir -p "$2"
	awk -v folder="$2" '
		/^## / { section = $2; sub(/,$/, "", section); block = 0; inside = 0 }
		/^    / { if (!inside) block++; inside = 1; print substr($0, 5) >(folder "/" section "-" block); next }
		/./ { inside = 0 }' "$1"
}
