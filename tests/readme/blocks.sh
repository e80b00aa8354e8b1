# SPDX-License-Identifier: Apache-2.0
#
# Extracts the commands of README.md, for the tests that run them word for word.

# write_readme_blocks README FOLDER: writes each block of indented lines to the file FOLDER/WORD-N. WORD is the first word
# of the section's heading, N the number of the block within the section.
write_readme_blocks() {
	mkdir -p "$2"
	awk -v folder="$2" '
		/^## / { section = $2; sub(/,$/, "", section); block = 0; inside = 0 }
		/^    / { if (!inside) block++; inside = 1; print substr($0, 5) >(folder "/" section "-" block); next }
		/./ { inside = 0 }' "$1"
}
