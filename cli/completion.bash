# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Completion of kernel_delay's command line in bash: options, processes, triggers.
#
# Names of processes and functions may be anything. They are never given to
# `compgen -W` or `eval`, which would run what is in $(...), and are quoted before
# they get into the command line.

# Offers the words on stdin that begin with $value. In the command line there are
# already $before and then $value, of which readline replaces only what follows the
# last of the characters that break words; in quotes no character does.
_kernel_delay_offer() {
	local word char breaks='' kept=''

	for char in : = @; do
		[[ $COMP_WORDBREAKS == *"$char"* ]] && breaks+=$char
	done
	word=$before$value
	[[ -z $quoted && -n $breaks && $word == *["$breaks"]* ]] &&
		kept=${word%"${word##*["$breaks"]}"}
	while IFS= read -r word; do
		[[ $word == "$value"* ]] || continue
		[[ $word == *[:/] ]] && compopt -o nospace
		word=$before$word
		word=${word#"$kept"}
		if [[ -z $quoted && $word == *[^[:alnum:]_.,:=@/+-]* ]]; then
			printf -v word %q "$word"
			word=${word//\\,/,} # is no wildcard, and often there in lists
		fi
		COMPREPLY+=("$word")
	done
}

_kernel_delay_options() {
	local line

	while IFS= read -r line; do
		[[ $line =~ ^\ {2,6}(-[[:alnum:]],\ )?(--[a-z][a-z-]+) ]] || continue
		printf '%s\n' "${BASH_REMATCH[2]}"
	done < <("$program" --help 2>/dev/null)
}

# PIDs, or names; processes of the kernel have no command line.
_kernel_delay_processes() {
	local folder text

	for folder in /proc/[0-9]*; do
		text=''
		{ IFS= read -r -d '' -n 1 text < "$folder/cmdline"; } 2>/dev/null
		[[ -n $text ]] || continue
		if [[ $1 == pid ]]; then
			printf '%s\n' "${folder#/proc/}"
		elif { IFS= read -r text < "$folder/comm"; } 2>/dev/null; then
			printf '%s\n' "$text"
		fi
	done | sort -u
}

# What can follow $value, up to the next colon. The arguments say in which process.
_kernel_delay_triggers() {
	local -a kinds=(u: t: k: kr: up: ur:)

	if [[ $value != *:* ]]; then
		[[ -n $value ]] && kinds+=(usdt: trace: kprobe: kretprobe: uprobe: uretprobe:)
		printf '%s\n' "${kinds[@]}"
		return
	fi
	# With a wildcard it is complete already.
	[[ $value == *[*?[]* ]] && return
	# For what the kernel has any process will do.
	[[ ${value%%:*} == @(t|trace|k|kprobe|kr|kretprobe) ]] && set -- -p $$
	timeout 3 "$program" "--list-probes=$value*" "$@" 2>/dev/null |
		KERNEL_DELAY_VALUE=$value awk -F '  ' '
			BEGIN { value = ENVIRON["KERNEL_DELAY_VALUE"]; most = length(value) }
			substr($0, 1, most) == value {
				colon = index(substr($1, most + 1), ":")
				word = colon ? substr($1, 1, most + colon) : $1
				if (!seen[word]++)
					print word
			}'
}

# System calls, of which those with a tracepoint are known, after what $value has up
# to its last comma. Some tracepoints have the names of functions.
_kernel_delay_calls() {
	local name before=''

	[[ $value == \!* ]] && before='!'
	[[ $value == *,* ]] && before=${value%,*},
	timeout 3 "$program" -p $$ '--list-probes=t:syscalls:sys_enter_*' 2>/dev/null |
		while read -r name _; do
			[[ $name == t:syscalls:sys_enter_* ]] || continue
			name=${name#t:syscalls:sys_enter_}
			case $name in
			newstat | newlstat | newfstat | newuname) name=${name#new} ;;
			sendfile64) name=sendfile ;;
			umount) name=umount2 ;;
			esac
			printf '%s\n' "$before$name"
		done
}

# Files and directories that begin with $value.
_kernel_delay_files() {
	local file

	compgen -f -- "$value" | while IFS= read -r file; do
		[[ -d $file ]] && file+=/
		printf '%s\n' "$file"
	done
}

# What conditions can be about, up to the comparison.
_kernel_delay_metrics() {
	local name

	for name in run ready stopped hardirq softirq syscall; do
		printf '%s\n' "$name".{count,total,max,pct}
	done
	for name in user kernel ready_woken ready_preempted blocked blocked_uninterruptible; do
		printf '%s\n' "$name".{total,pct}
	done
	printf '%s\n' {long_poll,waits}.{count,total,max} voluntary involuntary migrations \
		threads lost upcalls upcall_errors
}

_kernel_delay() {
	local program=${COMP_WORDS[0]} before='' value='' quoted='' option='' i
	local -a words process=()

	COMPREPLY=()
	type -P "$program" >/dev/null || program=kernel_delay
	# COMP_WORDS would be cut at colons.
	read -ra words <<< "${COMP_LINE:0:COMP_POINT}"
	if [[ ${COMP_LINE:0:COMP_POINT} != *[[:blank:]] ]]; then
		value=${words[-1]}
		unset 'words[-1]'
	fi
	((${#words[@]})) || return 0
	option=${words[-1]}
	if [[ $value == --*=* ]]; then
		option=${value%%=*}
		before=$option=
		value=${value#*=}
	elif [[ $option == --list-probes || $value == -* ]]; then
		option='' # its value is optional, and never a word of its own
	fi
	if [[ $value == [\'\"]* ]]; then
		quoted=yes
		value=${value:1}
		before='' # readline replaces what is in the quotes
	else
		value=${value//\\/}
	fi
	for ((i = 1; i < ${#words[@]}; i++)); do
		case ${words[i]} in
		-p | --pid | --comm) process=("${words[i]}" "${words[i + 1]-}") ;;
		-p[0-9]* | --pid=* | --comm=*) process=("${words[i]}") ;;
		esac
	done
	case $option in
	-p | --pid) _kernel_delay_offer < <(_kernel_delay_processes pid) ;;
	--comm) _kernel_delay_offer < <(_kernel_delay_processes comm) ;;
	--start-trigger | --stop-trigger | --list-probes)
		_kernel_delay_offer < <(_kernel_delay_triggers "${process[@]}")
		;;
	-e | --syscall-filter) _kernel_delay_offer < <(_kernel_delay_calls) ;;
	-o | --output)
		if [[ $value == *:* ]]; then
			before+=${value%%:*}:
			value=${value#*:}
			_kernel_delay_offer < <(_kernel_delay_files)
		else
			_kernel_delay_offer < <(printf '%s:\n' text json openmetrics prometheus folded)
			_kernel_delay_offer < <(_kernel_delay_files)
		fi
		;;
	--fail-if)
		compopt -o nospace
		_kernel_delay_offer < <(_kernel_delay_metrics)
		;;
	--btf | --replay) compopt -o default ;;
	*) [[ $value == -* ]] && _kernel_delay_offer < <(_kernel_delay_options) ;;
	esac
	return 0
}

complete -F _kernel_delay kernel_delay
