#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Takes samples of a process over and over and keeps the rounds in which a condition was true.
# See monitoring.rst.
set -u

usage() {
	cat >&2 <<-'END'
	usage: repeated-captures.sh [OPTION]... -c EXPR [-c EXPR]... -- OPTION_OF_KERNEL_DELAY...
	  -c EXPR   keep a round if --fail-if EXPR is true for any of its samples
	  -d DIR    where rounds are kept (default: captures)
	  -k N      keep the newest N rounds (default: 20)
	  -l SIZE   how many bytes a round may take, also with K, M, G (default: 10M)
	  -n N      number of samples in a round (default: 60)
	  -r N      end after N rounds; 0: run until stopped (default: 0)
	It ends with status 69 when the target has ended, unless --wait has kernel_delay wait for another.
	example: repeated-captures.sh -c 'ready.max>1ms' -- -C redis-server --sample-time 1
	The variable KERNEL_DELAY names the program (default: kernel_delay).
	END
	exit 64
}

say() { echo "repeated-captures.sh: $1" >&2; }

is_number() { [[ $1 =~ ^[0-9]{1,6}$ ]] || { say "not a number: $1"; exit 64; }; }

conditions=() folder=captures keep=20 limit=10M samples=60 rounds=0
while getopts c:d:k:l:n:r: option; do
	case $option in
	c) conditions+=(--fail-if "$OPTARG") ;;
	d) folder=$OPTARG ;;
	k) is_number "$OPTARG" && keep=$OPTARG ;;
	l) limit=$OPTARG ;;
	n) is_number "$OPTARG" && samples=$OPTARG ;;
	r) is_number "$OPTARG" && rounds=$OPTARG ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))
if [ ${#conditions[@]} -eq 0 ] || [ "$samples" -eq 0 ] || [ "$keep" -eq 0 ]; then
	usage
fi

umask 077
mkdir -p -- "$folder" || exit 74
work='' pid='' stopped=''
trap 'stopped=yes; [ -z "$pid" ] || kill "$pid" 2>/dev/null' INT TERM HUP
trap '[ -z "$work" ] || rm -rf -- "$work"' EXIT

# In the background, so that a signal for this script reaches it at once.
capture() {
	"${KERNEL_DELAY:-kernel_delay}" "$@" --quiet --sample-count "$samples" \
		"${conditions[@]}" -o "json:$work/%t-%n.json,limit=$limit" \
		2>"$work/reason.txt" &
	pid=$!
	wait "$pid"
	status=$?
	while [ "$status" -gt 128 ]; do # by a signal for the program, or for this wait
		wait "$pid" 2>/dev/null
		again=$?
		[ "$again" -ne 127 ] || break # nothing is left to wait for
		status=$again
	done
	pid=''
}

# Names are times, so the oldest rounds come first.
prune() {
	local kept=("$folder"/round-*)
	while [ ${#kept[@]} -gt "$keep" ]; do
		rm -r -- "${kept[0]}"
		kept=("${kept[@]:1}")
	done
}

for ((round = 1; ; round++)); do
	work=$(mktemp -d -- "$folder/.round.XXXXXX") || exit 74
	capture "$@"
	case $status in
	4)
		name=$folder/round-$(date -u +%Y%m%dT%H%M%S.%N)Z
		mv -T -- "$work" "$name" || exit 74
		work=''
		echo "$name: $(head -n 1 "$name/reason.txt")"
		prune
		;;
	0) rm -r -- "$work" ;;
	*) # also that there is no target any more (69): --wait waits for the next one
		cat "$work/reason.txt" >&2
		exit "$status"
		;;
	esac
	[ -z "$stopped" ] && [ "$round" -ne "$rounds" ] || exit 0
done
