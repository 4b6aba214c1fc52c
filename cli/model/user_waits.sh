#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes the rows of user_waits.in, as initializers of struct user_wait, one a line, to the file named
# by the first argument: sorted by function, then kind, with that of any kind first.
set -eu
export LC_ALL=C

[ $# -eq 1 ] || { echo "usage: $0 OUTPUT" >&2; exit 64; }
input=$(dirname "$0")/user_waits.in
output=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk '
	/^#/ || !NF { next }
	NF < 4 || $1 !~ /^[A-Za-z0-9_:.]+(\/(futex|poll|time))?$/ || $2 !~ /^[a-z]+[?]?$/ ||
	$3 !~ /^[a-z]+$/ || /["\\]/ {
		printf "%s:%d: no row: %s\n", FILENAME, FNR, $0 >"/dev/stderr"
		exit 1
	}
	{
		split($1 "/", name, "/")
		general = sub(/[?]/, "", $2) ? "true" : "false"
		cause = toupper($2)
		family = toupper($3)
		kind = name[2] == "" ? "THROUGH" : toupper(name[2])
		sub(/^[^ \t]+[ \t]+[^ \t]+[ \t]+[^ \t]+[ \t]+/, "")
		printf "%s\t%s\tWCHAN_%s\tWCHAN_%s\t%s\tUSER_%s\t%s\n", name[1], name[2], kind, cause,
			general, family, $0
	}' "$input" >"$work/rows"
tab=$(printf '\t')
mkdir -p "$(dirname "$output")"
sort -t "$tab" -k 1,1 -k 2,2 "$work/rows" | awk -F '\t' '{
	printf "{ \"%s\", %s, %s, %s, %s, \"%s\" },\n", $1, $3, $4, $5, $6, $7
}' >"$work/table"
cp "$work/table" "$output"
