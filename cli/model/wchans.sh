#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes the rows of wchans.in, as initializers of struct wchan, one a line, to the file named by
# the first argument: sorted by function, then caller, with that of any caller first.
set -eu
export LC_ALL=C

[ $# -eq 1 ] || { echo "usage: $0 OUTPUT" >&2; exit 64; }
input=$(dirname "$0")/wchans.in
output=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk '
	/^#/ || !NF { next }
	NF < 3 || $1 !~ /^[A-Za-z0-9_]+(<[A-Za-z0-9_]+)?$/ || $2 !~ /^[a-z]+$/ || /["\\?]/ {
		printf "%s:%d: no row: %s\n", FILENAME, FNR, $0 >"/dev/stderr"
		exit 1
	}
	{
		split($1 "<", name, "<")
		cause = toupper($2)
		sub(/^[^ \t]+[ \t]+[^ \t]+[ \t]+/, "")
		printf "%s\t%s\tWCHAN_%s\t%s\n", name[1], name[2], cause, $0
	}' "$input" >"$work/rows"
tab=$(printf '\t')
mkdir -p "$(dirname "$output")"
sort -t "$tab" -k 1,1 -k 2,2 "$work/rows" |
	awk -F '\t' '{
		printf "{ \"%s\", %s, %s, \"%s\" },\n", $1, $2 == "" ? "NULL" : "\"" $2 "\"", $3, $4
	}' >"$work/table"
cp "$work/table" "$output"
