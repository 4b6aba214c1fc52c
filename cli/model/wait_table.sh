#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes the rows of wchans.in or user_waits.in, as initializers of struct wchan or user_wait, one a
# line: sorted by function, then by caller, or key of the kind.
set -eu
export LC_ALL=C

[ $# -eq 2 ] || { echo "usage: $0 INPUT OUTPUT" >&2; exit 64; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk '
	BEGIN { user = ARGV[1] ~ /user_waits/ }
	/^#/ || !NF { next }
	NF < 3 + user || $1 !~ /^[A-Za-z0-9_:.]+([<\/][A-Za-z0-9_]+)?$/ || /["\\]/ ||
	$2 !~ (user ? "^[a-z]+[?]?$" : "^[a-z]+$") || (user && $3 !~ /^[a-z]+$/) {
		printf "%s:%d: no row: %s\n", FILENAME, FNR, $0 >"/dev/stderr"
		exit 1
	}
	{
		split($1, name, "[</]")
		cause = "WCHAN_" toupper($2)
		if (!user) {
			key = name[2]
			of = key == "" ? "NULL" : "\"" key "\""
		} else {
			key = name[2] == "" ? "through" : name[2]
			of = "WCHAN_" toupper(key)
			general = sub(/[?]/, "", cause) ? "true" : "false"
			cause = cause ", " general ", USER_" toupper($3)
		}
		for (i = 0; i < 2 + user; i++)
			sub(/^[^ \t]+[ \t]+/, "")
		printf "%s\t%s\t{ \"%s\", %s, %s, \"%s\" },\n", name[1], key, name[1], of, cause, $0
	}' "$1" >"$work/rows"
mkdir -p "$(dirname "$2")"
sort -t "$(printf '\t')" -k 1,1 -k 2,2 "$work/rows" | cut -f 3 >"$work/table"
cp "$work/table" "$2"
