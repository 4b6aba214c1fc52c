# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Completion of kernel_delay's command line in bash. The program itself says what can
# stand there, see completion.h.
#
# Names of processes and functions may be anything. They are never given to
# `compgen -W` or `eval`, which would run what is in $(...), and are quoted before
# they get into the command line.

# Files for what follows $1 in $word, those that end with $2 if there are any.
_kernel_delay_files() {
	local file value=${word#"$1"}
	local -a files

	mapfile -t files < <(compgen -f -X "!*$2" -- "$value")
	((${#files[@]})) || mapfile -t files < <(compgen -f -- "$value")
	mapfile -t -O "${#files[@]}" files < <(compgen -d -- "$value")
	for file in "${files[@]}"; do
		[[ -d $file ]] && file+=/
		_kernel_delay_offer "$1$file"
	done
}

# Readline replaces what follows $kept, and does not quote.
_kernel_delay_offer() {
	local text=${1#"$kept"}

	[[ $text == */ ]] && compopt -o nospace
	if [[ -z $quoted && $text == *[^[:alnum:]_.,:=@/+~-]* ]]; then
		printf -v text %q "$text"
		text=${text//\\,/,} # is no wildcard, and often there in lists
	fi
	COMPREPLY+=("$text")
}

_kernel_delay() {
	local program=${COMP_WORDS[0]} line=${COMP_LINE:0:COMP_POINT} word text
	local char breaks='' kept='' quoted=''
	local -a words

	COMPREPLY=()
	type -P "$program" >/dev/null || program=kernel_delay
	read -ra words <<< "$line" # COMP_WORDS would be cut at colons
	[[ $line == *[[:blank:]] ]] && words+=('')
	word=${words[-1]}
	if [[ $word == *[\'\"]* ]]; then
		quoted=yes
		kept=${word%%[\'\"]*}
	else
		for char in : = @; do
			[[ $COMP_WORDBREAKS == *"$char"* ]] && breaks+=$char
		done
		[[ -n $breaks && $word == *["$breaks"]* ]] && kept=${word%"${word##*["$breaks"]}"}
		kept=${kept%@} # to readline, @ is of the word that follows (rl_special_prefixes)
	fi
	words=("${words[@]//[\\\'\"]/}")
	word=${words[-1]}
	while IFS= read -r line; do
		text=${line%$'\t'*}
		case $text in
		f*) _kernel_delay_files "${text:1}" "${line##*$'\t'}" ;;
		p*) compopt -o nospace ;;&
		*) _kernel_delay_offer "${text:1}" ;;
		esac
	done < <("$program" --complete "${words[@]:1}" 2>/dev/null)
	return 0
}

complete -F _kernel_delay kernel_delay
