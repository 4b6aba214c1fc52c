#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Puts the page together, as a string of C, into the file named by the first argument. Its policy
# allows the one style and the one script that are in it, by their hashes: nothing else runs, and
# nothing is loaded. Scripts are joined in the order of their names' numbers.
set -eu
export LC_ALL=C

[ $# -eq 1 ] || { echo "usage: $0 OUTPUT" >&2; exit 64; }
output=$1
page=$(dirname "$0")/page
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The hash as a policy has it: in base64.
hash_of() {
	for byte in $(sha256sum <"$1" | cut -c 1-64 | sed 's/../0x& /g'); do
		# shellcheck disable=SC2059 # the format is the byte
		printf "\\$(printf %03o "$byte")"
	done | base64
}

# Between the tags of its element, and so in its hash, there is a line feed before it.
for part in css js; do
	{ echo; cat "$page"/*."$part"; } >"$work/$part"
	if grep -iq -e '</script' -e '</style' -e '<!--' "$work/$part"; then
		echo "$0: $page/*.$part would end their element" >&2
		exit 1
	fi
done
sed -e "s|@STYLE_HASH@|$(hash_of "$work/css")|" -e "s|@SCRIPT_HASH@|$(hash_of "$work/js")|" \
	-e "s|@STYLE@|<style>|" -e "s|@SCRIPT@|<script type=\"module\">|" "$page/page.html" |
	awk -v css="$work/css" -v js="$work/js" '
		function add(file, line) { while ((getline line <file) > 0) { print line } }
		/^<style>$/ { printf "%s", $0; add(css); print "</style>"; next }
		/^<script type="module">$/ { printf "%s", $0; add(js); print "</script>"; next }
		{ print }' >"$work/page"
mkdir -p "$(dirname "$output")"
sed -e 's/[\\"?]/\\&/g' -e 's/.*/"&\\n"/' "$work/page" >"$output"
