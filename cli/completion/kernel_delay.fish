# SPDX-License-Identifier: Apache-2.0
# Completion of kernel_delay's command line in fish. The program itself says what can
# stand there, see completion.h; fish quotes it.

function __kernel_delay_words
    set -l words (commandline -opc)
    set -l word (commandline -ct | string replace -ra "[\\\\'\"]" '')
    set -l program $words[1]
    command -q $program; or set program kernel_delay
    for line in ($program --complete $words[2..] "$word" 2>/dev/null)
        set -l text (string sub -s 2 -- $line)
        if string match -q 'f*' -- $line
            set -l before (string split \t -- $text)[1]
            set -l value (string sub -s (math 1 + (string length -- "$before")) -- "$word")
            for file in (__fish_complete_path "$value")
                echo "$before$file"
            end
        else if not string match -q '*'\t'*'\t'*' -- $text # of which fish would take a part
            # What more has to follow gets no space if it ends with one of "/=@:.,-".
            if string match -q 'p*' -- $line
                set text (string replace -r '\((?=\t)' '(*).' -- $text)
                set text (string replace -r '(?<![/=@:.,-])(?=\t)' '>=' -- $text)
            end
            echo $text
        end
    end
end

complete -c kernel_delay -f -a '(__kernel_delay_words)'
