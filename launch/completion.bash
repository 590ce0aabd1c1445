# Completion of `python -m plasticity_lab.main ...` in bash. Other uses of python complete the names of files.
_plasticity_lab() {
    local line="${COMP_LINE:0:COMP_POINT}" word found
    [[ "$line" =~ ^[^\ ]+\ +-m\ +plasticity_lab\.main\ +(.*)$ ]] || return
    line="${BASH_REMATCH[1]//[\'\"]/}"
    word="${line##* }"
    found=$(COMP_LINE="plasticity_lab $line" "${COMP_WORDS[0]}" -m plasticity_lab.main -sc query=bash 2>/dev/null)
    COMPREPLY=($(compgen -W "$found" -- "$word"))
    # Where = is among the signs that part words, bash replaces only what stands behind the last one.
    [[ "$word" == *=* && "$COMP_WORDBREAKS" == *=* ]] && COMPREPLY=("${COMPREPLY[@]#"${word%=*}="}")
}
complete -o nospace -o default -F _plasticity_lab python python3
